/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_sweep.c - the times of a step, from intervals in order of their start.
 *
 * All of them are unions, or differences of two. Idle time in which the host waited is (busy or
 * waiting) - busy; exposed communication is (communication or kernels) - kernels.
 */
#include "agg/stepper_priv.h"
#include "base/unions.h"

#define U(NAME)  (1u << UNION_##NAME)
#define FORWARDS 8u

static const uint16_t unions_of[STEP_PARTS] = {
	[PART_COMPUTE] = U(COMPUTE) | U(KERNEL) | U(BUSY) | U(BUSY_OR_WAITS),
	[PART_COMM] = U(COMM) | U(KERNEL) | U(BUSY) | U(BUSY_OR_WAITS),
	[PART_COPY] = U(COPY) | U(BUSY) | U(BUSY_OR_WAITS),
	[PART_INPUT] = U(INPUT) | U(BUSY_OR_WAITS),
	[PART_LAUNCH] = U(LAUNCH),
	[PART_SYNC] = U(SYNC) | U(BUSY_OR_WAITS),
	[PART_ALLOC] = U(ALLOC),
	[PART_GC] = U(GC),
	[PART_CKPT] = U(CKPT) | U(BUSY_OR_WAITS),
};

struct sweep {
	uint64_t from, to;
	uint64_t end[STEP_UNIONS], sum[STEP_UNIONS];
	uint64_t stall;
	uint64_t issue, issues;
	struct {
		uint64_t from, to;
	} forward[FORWARDS]; /* the last ones, by their number modulo */
	uint32_t forwards;
	uint64_t last_ns; /* of the last kernel */
	uint64_t pass;
};

static void add_interval(struct sweep *w, uint32_t of, uint64_t start, uint64_t end)
{
	start = start > w->from ? start : w->from;
	end = end < w->to ? end : w->to;
	if (of & U(BUSY) && start > w->end[UNION_BUSY] && start - w->end[UNION_BUSY] > w->stall)
		w->stall = start - w->end[UNION_BUSY];
	unions_add(w->end, w->sum, of, start, end);
}

static void add_class(struct step_rec *r, uint32_t class, uint64_t ns)
{
	struct step_kernels *k = &r->class[class < STEP_CLASSES ? class : STEP_CLASS_OTHER];

	k->count++;
	k->sum += (float)ns;
}

static void add_u32(uint32_t *to, uint64_t v)
{
	*to = v < UINT32_MAX - *to ? *to + (uint32_t)v : UINT32_MAX;
}

static void add_count(struct step_rec *r, enum step_count of, uint64_t v)
{
	uint32_t batches = r->micro_batches;

	switch (of) {
	case STEP_COUNT_TOKENS:
		add_u32(&r->tokens, v);
		break;
	case STEP_COUNT_SEQUENCES:
		add_u32(&r->sequences, v);
		break;
	case STEP_COUNT_EXPERT_TOKENS:
		add_u32(&r->expert_tokens, v);
		break;
	case STEP_COUNT_MICRO_BATCHES:
		add_u32(&batches, v);
		r->micro_batches = (uint16_t)(batches < UINT16_MAX ? batches : UINT16_MAX);
		break;
	case STEP_COUNT_SUM_LEN2:
		r->sum_len2 += (float)v;
		break;
	case STEP_COUNT_CONTEXT:
		r->context += (float)v;
		break;
	case STEP_COUNT_NONE:
		break;
	}
}

/* A kernel whose launch was seen: its key stands behind the kernel's own. */
static void add_issue(struct sweep *w, uint64_t start, uint64_t length)
{
	uint64_t launched = start - length;

	w->issue += length;
	w->issues++;
	for (uint32_t i = 0; i < FORWARDS && i < w->forwards; i++)
		if (launched >= w->forward[i].from && launched < w->forward[i].to) {
			w->pass += w->last_ns;
			return;
		}
}

/* What counts where it begins, and once. */
static void add_start(struct sweep *w, struct step_rec *r, enum stepper_part part, uint32_t class,
		      uint64_t start, uint64_t length)
{
	switch (part) {
	case PART_COMPUTE:
		add_class(r, class, length);
		w->last_ns = length;
		break;
	case PART_COMM:
		w->last_ns = 0;
		break;
	case PART_COPY:
		if (class)
			add_class(r, STEP_CLASS_COPY, length);
		break;
	case PART_ISSUE:
		add_issue(w, start, length);
		break;
	case PART_COUNT:
		add_count(r, (enum step_count) class, length);
		break;
	case PART_COMPILE:
		r->flags |= STEP_F_COMPILE;
		break;
	default:
		break;
	}
}

static void tell(const struct sweep *w, struct step_rec *r)
{
	uint64_t step = w->to - w->from, gap = w->to - w->end[UNION_BUSY];
	const uint64_t *u = w->sum;

	r->t.step = (float)step;
	r->t.compute = (float)u[UNION_COMPUTE];
	r->t.comm = (float)u[UNION_COMM];
	r->t.exposed = (float)(u[UNION_KERNEL] - u[UNION_COMPUTE]);
	r->t.copy = (float)u[UNION_COPY];
	r->t.idle = (float)(step - u[UNION_BUSY]);
	r->t.host = (float)(step - u[UNION_BUSY_OR_WAITS]);
	r->t.input = (float)u[UNION_INPUT];
	r->t.launch = (float)u[UNION_LAUNCH];
	r->t.sync = (float)u[UNION_SYNC];
	r->t.alloc = (float)u[UNION_ALLOC];
	r->t.gc = (float)u[UNION_GC];
	r->t.ckpt = (float)u[UNION_CKPT];
	r->t.issue = w->issues ? (float)(w->issue / w->issues) : 0;
	r->t.pass = (float)w->pass;
	r->t.stall = (float)(gap > w->stall ? gap : w->stall);
	if (u[UNION_CKPT])
		r->flags |= STEP_F_CKPT;
}

void step_sweep(const struct stepper *s, uint64_t from, uint64_t to, struct step_rec *r)
{
	struct sweep w = { .from = from, .to = to };

	for (uint32_t u = 0; u < STEP_UNIONS; u++)
		w.end[u] = from;
	for (size_t i = s->first; i < s->keys && s->key[i].value < to; i++) {
		uint64_t start = s->key[i].value, length = s->key[i].with >> WITH_SHIFT;
		enum stepper_part part = s->key[i].with & 15;

		if (part == PART_FORWARD) {
			w.forward[w.forwards % FORWARDS].from = start;
			w.forward[w.forwards++ % FORWARDS].to = start + length;
		}
		if (start >= from)
			add_start(&w, r, part, s->key[i].with >> 4 & 15, start, length);
		if (unions_of[part])
			add_interval(&w, unions_of[part], start, start + length);
	}
	tell(&w, r);
}

/* Where kernels ran until `to`, as spans that do not touch: value is the start, with how long before it. */
void step_spans(struct stepper *s, uint64_t to)
{
	struct sort_key *span = s->key + STEPPER_KEYS;
	uint64_t sum = 0, end = 0;
	size_t n = 0;

	for (size_t i = s->first; i < s->keys && s->key[i].value < to; i++) {
		uint64_t start = s->key[i].value, stop = start + (s->key[i].with >> WITH_SHIFT);

		if ((s->key[i].with & 15) != PART_COMPUTE || stop <= end)
			continue;
		if (start > end || !n)
			span[n++] = (struct sort_key){ start, sum };
		sum += stop - (start > end ? start : end);
		end = stop;
	}
	s->spans = n;
	s->ran = sum;
}

/* How long kernels ran until then. */
static uint64_t ran_until(const struct stepper *s, uint64_t at)
{
	const struct sort_key *span = s->key + STEPPER_KEYS;
	size_t lo = 0, hi = s->spans;
	uint64_t before, length;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (span[mid].value < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	before = span[lo - 1].with;
	length = (lo < s->spans ? span[lo].with : s->ran) - before;
	at -= span[lo - 1].value;
	return before + (at < length ? at : length);
}

uint64_t step_ran(const struct stepper *s, uint64_t from, uint64_t to)
{
	return ran_until(s, to) - ran_until(s, from);
}

void step_forget(struct stepper *s, uint64_t before)
{
	size_t end = s->first, to;

	while (end < s->keys && s->key[end].value < before)
		end++;
	/* What reaches further stays, in its order, before what is to come. */
	to = end;
	for (size_t i = end; i-- > s->first;) {
		uint64_t with = s->key[i].with;

		if (unions_of[with & 15] && s->key[i].value + (with >> WITH_SHIFT) > before)
			s->key[--to] = s->key[i];
	}
	s->first = to;
}
