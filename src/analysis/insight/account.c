/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - see account.h. A union of intervals grows by a piece at its end, and of that piece the
 * part counts that lies in the base: so unions need no more memory than their ends. */
#include "insight/account.h"

#include <string.h>

#include "base/order.h"

const struct account_row account_table[ACCOUNT_CAUSES] = {
#define ACCOUNT(ID, word, people, means) [ACCOUNT_##ID] = { word, people, means },
#include "insight/account.tbl.h"
};

enum { OF_COMPUTE, OF_KERNELS, OF_ALL, UNIONS };

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void account_spans(struct account_span *span, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		span[i].before_ns = sum;
		sum += span[i].end_ns - span[i].start_ns;
	}
}

void account_begin(struct account_sum *x, const struct account_span *span, size_t n)
{
	memset(x, 0, sizeof(*x));
	x->span = span;
	x->spans = n;
	x->first_ns = UINT64_MAX;
	if (n)
		x->from_ns = x->busy_ns = span[0].start_ns;
}

void account_observed(struct account_sum *x, uint64_t first_ns, uint64_t last_ns)
{
	x->seen = true;
	x->first_ns = least(x->first_ns, first_ns);
	x->last_ns = most(x->last_ns, last_ns);
}

static uint64_t last_step_end(const struct account_sum *x)
{
	return x->span[x->spans - 1].end_ns;
}

uint64_t account_before(struct account_sum *x, uint64_t ns)
{
	const struct account_span *s = &x->span[x->at];

	if (!x->spans)
		return ns;
	ns = most(ns, x->from_ns);
	if (ns >= last_step_end(x)) /* what steps launched may take longer than they did */
		return x->span[x->spans - 1].before_ns + ns - x->span[x->spans - 1].start_ns;
	if (ns < s->start_ns || (x->at + 1 < x->spans && ns >= s[1].start_ns)) {
		size_t next = first_where(i, 0, x->spans, x->span[i].start_ns > ns);

		x->at = next ? next - 1 : 0;
		s = &x->span[x->at];
	}
	return s->before_ns + least(ns, s->end_ns) - least(ns, s->start_ns);
}

bool account_within(struct account_sum *x, uint64_t ns)
{
	return account_before(x, ns + 1) > account_before(x, ns);
}

static uint64_t inside(struct account_sum *x, uint64_t from, uint64_t to)
{
	return to > from ? account_before(x, to) - account_before(x, from) : 0;
}

void account_put(struct account_sum *x, enum account_cause cause, uint64_t from_ns, uint64_t to_ns)
{
	x->ns[cause] += inside(x, from_ns, to_ns);
}

void account_cut(struct account_sum *x, uint64_t from_ns, uint64_t to_ns)
{
	x->cut_ns += inside(x, from_ns, to_ns);
}

/* Work of a step; what was launched by no call that was seen is of the step that it starts in. */
static bool is_of_steps(const struct account_sum *x, uint64_t start, uint64_t called)
{
	uint64_t ns = called == UINT64_MAX ? start : called;

	return ns >= x->span[0].start_ns && ns < last_step_end(x);
}

static void unite(struct account_sum *x, enum account_cause kind, uint64_t start, uint64_t end)
{
	int u = kind == ACCOUNT_COMPUTE ? OF_COMPUTE : kind == ACCOUNT_COPY ? OF_ALL : OF_KERNELS;

	for (; u < UNIONS; u++) {
		uint64_t from = most(start, x->until[u]);

		if (end <= from)
			continue;
		x->sum[u] += inside(x, from, end);
		x->until[u] = end;
	}
}

struct account_gap account_work(struct account_sum *x, enum account_cause kind, uint64_t start_ns,
				uint64_t end_ns, uint64_t called_ns)
{
	bool of_steps = !x->spans || is_of_steps(x, start_ns, called_ns);
	struct account_gap gap = { start_ns, start_ns, false };

	if (!x->spans)
		account_observed(x, start_ns, end_ns);
	if (x->over)
		return gap;
	if (!x->begun && !of_steps && start_ns < last_step_end(x)) {
		/* Launched before the first step: the steps' own work begins after it. */
		x->from_ns = x->busy_ns = least(most(x->busy_ns, end_ns), last_step_end(x));
		return gap;
	}
	if (!x->begun && !x->spans)
		x->from_ns = x->busy_ns = x->first_ns;
	gap.from_ns = least(x->busy_ns, start_ns);
	gap.head = !x->begun;
	x->begun = true;
	if (x->spans && !of_steps && start_ns >= last_step_end(x)) {
		x->over = true;
		gap.to_ns = most(gap.from_ns, last_step_end(x));
		x->tail_ns = inside(x, gap.from_ns, gap.to_ns);
		x->busy_ns = most(x->busy_ns, last_step_end(x));
		return gap;
	}
	if (gap.head)
		x->head_ns = inside(x, gap.from_ns, gap.to_ns);
	x->works++;
	x->launched += called_ns != UINT64_MAX;
	unite(x, kind, start_ns, end_ns);
	x->busy_ns = most(x->busy_ns, end_ns);
	return gap;
}

struct account_gap account_tail(const struct account_sum *x)
{
	uint64_t from = x->busy_ns, to = x->spans ? last_step_end(x) : x->last_ns;

	if (!x->spans && !x->begun)
		from = x->first_ns;
	if (x->over || to <= from || (!x->spans && !x->seen))
		return (struct account_gap){ from, from, false };
	return (struct account_gap){ from, to, false };
}

void account_close(struct account_sum *x, struct time_account *out)
{
	uint64_t sum = 0, from = x->spans || x->begun ? x->from_ns : x->first_ns, to = x->busy_ns;

	if (x->spans)
		to = most(to, last_step_end(x));
	else
		to = x->seen ? most(x->last_ns, from) : from;
	*out = (struct time_account){ .start_ns = from,
				      .end_ns = to,
				      .steps = x->spans,
				      .cut_ns = x->cut_ns,
				      .head_ns = x->head_ns,
				      .tail_ns = x->tail_ns,
				      .works = x->works,
				      .launched = x->launched };
	out->base_ns = inside(x, from, to) - x->cut_ns;
	memcpy(out->ns, x->ns, sizeof(out->ns));
	out->ns[ACCOUNT_COMPUTE] += x->sum[OF_COMPUTE];
	out->ns[ACCOUNT_COMM] += x->sum[OF_KERNELS] - x->sum[OF_COMPUTE];
	out->ns[ACCOUNT_COPY] += x->sum[OF_ALL] - x->sum[OF_KERNELS];
	for (size_t c = 0; c < ACCOUNT_CAUSES; c++)
		sum += out->ns[c];
	out->rest_ns = out->base_ns - sum;
	out->ns[ACCOUNT_UNKNOWN] += out->rest_ns;
}

void account_move(struct time_account *a, enum account_cause from, enum account_cause to,
		  uint64_t ns)
{
	ns = least(ns, a->ns[from]);
	a->ns[from] -= ns;
	a->ns[to] += ns;
}
