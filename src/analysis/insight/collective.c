/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - finds the rank that came last to each collective.
 *
 * Collectives that carry a sequence number are matched by it, within their group. Others are
 * matched by order: the n-th call of a name in a group of one rank is the n-th of every other rank;
 * a name that ranks ran a different number of times is skipped. Kernels without a recorded launch
 * began before the recording: they are skipped if any launch was recorded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"

static int by_rank(const void *a, const void *b)
{
	const struct wait_share *x = a, *y = b;

	return cmp_num(x->rank, y->rank) ?: cmp_num(x->name, y->name) ?:
	       cmp_num(x->group, y->group) ?: cmp_num(x->start_ns, y->start_ns);
}

static int by_collective(const void *a, const void *b)
{
	const struct wait_share *x = a, *y = b;

	return cmp_num(x->name, y->name) ?: cmp_num(x->group, y->group) ?:
	       cmp_num(x->number, y->number) ?: cmp_num(x->rank, y->rank);
}

/* Nobody leaves these before all have come; from those with a root, some may. */
bool waits_for_all(const char *name)
{
	static const char *const all[] = { "all_reduce", "allreduce",      "all_gather",
					   "allgather",  "reduce_scatter", "reducescatter",
					   "all_to_all", "alltoall",       "barrier" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcasestr(name, all[i]))
			return true;
	return false;
}

#define SHARES_MAX 1000000u /* of a recording in stretches: the first of them */

static int add_share(const struct insight *in, struct state_shares *to, const struct wait_share *s)
{
	if (in->parted && to->n == SHARES_MAX) {
		to->cut = true;
		return 0;
	}
	if (vec_more(&to->v, to->n, sizeof(*to->v)) < 0)
		return -ENOMEM;
	to->v[to->n++] = *s;
	return 0;
}

static struct wait_share share_of(const struct insight *in, size_t i)
{
	const struct trace *t = in->t;
	uint32_t comm = t->event_comm ? t->event_comm[i] : 0;

	return (struct wait_share){
		.name = t->event[i].name,
		.group = comm ? t->comm[comm - 1].group : 0,
		.rank = t->process[t->track[t->event[i].track].process].file,
		.start_ns = t->event[i].start_ns,
		.dur_ns = t->event[i].dur_ns,
	};
}

static int collect(struct insight *in, size_t i)
{
	struct wait_share s;

	if (event_class(in->names, in->t, i) != CLASS_COMM)
		return 0;
	s = share_of(in, i);
	s.experts_ns = experts_until(in, in->t->track[in->t->event[i].track].device, s.start_ns);
	s.traffic = traffic_place(in, i);
	if (insight_launch(in, i) == NO_EVENT)
		s.orphan = in->t->track[in->t->event[i].track].device + 1;
	return add_share(in, &in->x->share[SHARES_GPU], &s);
}

/* Where no GPU communicates, hosts may: their collectives say of which group they are the n-th. */
static int collect_host(const struct insight *in, size_t i)
{
	const struct trace *t = in->t;
	uint32_t comm = t->event_comm ? t->event_comm[i] : 0;
	struct wait_share s;

	if (t->event[i].kind != EVENT_COLLECTIVE || !event_counts(&t->event[i]) || !comm ||
	    !t->comm[comm - 1].sequence || !waits_for_all(trace_text(t, t->event[i].name)))
		return 0;
	s = share_of(in, i);
	s.number = t->comm[comm - 1].sequence;
	s.size = t->comm[comm - 1].size;
	return add_share(in, &in->x->share[SHARES_HOST], &s);
}

static bool same_kind(const struct wait_share *a, const struct wait_share *b)
{
	return a->name == b->name && a->group == b->group;
}

/* Those without a number get theirs, from 1 on. */
static void number(struct wait_share *share, size_t n)
{
	uint64_t nth = 0;

	qsort(share, n, sizeof(*share), by_rank);
	for (size_t i = 0; i < n; i++) {
		bool goes_on = i && share[i].rank == share[i - 1].rank &&
			       same_kind(&share[i], &share[i - 1]);

		nth = goes_on ? nth + 1 : 1;
		if (!share[i].number)
			share[i].number = nth;
	}
	qsort(share, n, sizeof(*share), by_collective);
}

/* All ranks with this kind have the same count: the number identifies each. */
static bool same_counts(const struct wait_share *share, size_t n)
{
	size_t ranks = 0;

	while (ranks < n && share[ranks].number == share[0].number)
		ranks++;
	return share[0].size || (ranks > 1 && n == ranks * share[n - 1].number);
}

/* As much as the late rank's experts had more to do. */
static uint64_t due_to_experts(const struct wait_share *s, const struct wait_share *last,
			       uint64_t wait)
{
	uint64_t more = last->experts_ns > s->experts_ns ? last->experts_ns - s->experts_ns : 0;

	return more < wait ? more : wait;
}

/* One collective: who came last, and how long the others waited. With `late`, for that rank. */
static void add_one(struct waits *w, struct wait_share *share, size_t n, bool late)
{
	const struct wait_share *last = share;
	uint64_t wait, experts;

	if (n < 2 || (share->size && n != share->size))
		return;
	for (size_t i = 1; i < n; i++)
		if (share[i].dur_ns < last->dur_ns)
			last = &share[i];
	if (!late) {
		w->matched++;
		w->rank[last->rank].last++;
	}
	for (size_t i = 0; i < n; i++) {
		wait = share[i].dur_ns - last->dur_ns;
		experts = due_to_experts(&share[i], last, wait);
		if (late) {
			w->rank[share[i].rank].late_ns +=
				last->rank == w->late ? wait - experts : 0;
			continue;
		}
		w->rank[share[i].rank].experts_ns += experts;
		w->experts_ns += experts;
		share[i].seen = (uint32_t)n;
		share[i].waited_ns = wait;
		w->rank[share[i].rank].comm_ns += share[i].dur_ns;
		w->rank[share[i].rank].waited_ns += wait;
		w->rank[last->rank].blamed_ns += wait;
		w->total_ns += wait;
	}
}

static void add_all(struct waits *w, struct wait_share *share, size_t n, bool late)
{
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && same_kind(&share[k], &share[i]); k++)
			;
		if (!same_counts(share + i, k - i))
			continue;
		for (size_t a = i, b; a < k; a = b) {
			for (b = a + 1; b < k && share[b].number == share[a].number; b++)
				;
			add_one(w, share + a, b - a, late);
		}
	}
}

size_t waits_trim(struct wait_share *share, size_t n)
{
	size_t kept = 0;

	number(share, n);
	for (size_t i = 0, k; i < n; i = k) {
		size_t ranks = 0;
		bool even = true;

		for (k = i; k < n && same_kind(&share[k], &share[i]); k++)
			ranks += share[k].number == share[i].number;
		for (size_t a = i, b; a < k; a = b) {
			for (b = a; b < k && share[b].number == share[a].number; b++)
				;
			even = even && b - a == ranks;
			for (size_t x = a; x < b && even; x++)
				share[kept++] = share[x];
		}
	}
	return kept;
}

void waits_match(struct waits *w, struct wait_share *share, size_t n)
{
	if (!n)
		return;
	number(share, n);
	add_all(w, share, n, false);
	for (uint32_t f = 1; f < w->ranks; f++)
		if (w->rank[f].blamed_ns > w->rank[w->late].blamed_ns)
			w->late = f;
	add_all(w, share, n, true);
}

int insight_waits(struct insight *in)
{
	const struct trace *t = in->t;
	int err = 0;

	if (t->files < 2)
		return 0;
	err = experts_find(in);
	for (size_t i = 0; i < t->events && !err; i++) {
		if (!event_is_gpu(&t->event[i]))
			continue;
		err = t->track[t->event[i].track].device == TRACK_HOST ? collect_host(in, i)
								       : collect(in, i);
	}
	return err;
}

/* Where any launch was seen, what has none is of before the recording. */
static size_t drop_orphans(const struct insight *in, struct state_shares *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint32_t device = s->v[i].orphan;

		if (!device || !in->x->device[device - 1].sum.b.attributed)
			s->v[n++] = s->v[i];
	}
	return n;
}

/* Of exposed communication waiting and sending have the shares that they have of all. */
static void tell_apart(struct insight_device *d, const struct rank_wait *w)
{
	double all = (double)d->class[CLASS_COMM].ns, part = (double)d->account.ns[ACCOUNT_COMM];

	if (all < (double)w->comm_ns)
		all = (double)w->comm_ns;
	if (!(all > 0))
		return;
	part /= all;
	account_move(&d->account, ACCOUNT_COMM, ACCOUNT_COMM_WAIT,
		     (uint64_t)(part * (double)w->waited_ns));
	account_move(&d->account, ACCOUNT_COMM, ACCOUNT_COMM_SEND,
		     (uint64_t)(part * (double)(w->comm_ns - w->waited_ns)));
}

/* Work of experts between a collective and the last one of its kind. */
static void experts_since(struct wait_share *share, size_t n)
{
	uint64_t before = 0, done;

	qsort(share, n, sizeof(*share), by_rank);
	for (size_t i = 0; i < n; i++) {
		bool goes_on = i && share[i].rank == share[i - 1].rank &&
			       same_kind(&share[i], &share[i - 1]);

		done = share[i].experts_ns;
		share[i].experts_ns = !goes_on ? done : done > before ? done - before : 0;
		before = done;
	}
}

int insight_waits_end(struct insight *in)
{
	struct state_shares *s = &in->x->share[SHARES_GPU];
	struct waits *w = &in->waits;

	s->n = drop_orphans(in, s);
	s = s->n ? s : &in->x->share[SHARES_HOST];
	if (!s->n)
		return 0;
	experts_since(s->v, s->n);
	if (s->cut)
		s->n = waits_trim(s->v, s->n);
	w->rank = calloc(in->t->files, sizeof(*w->rank));
	if (!w->rank)
		return -ENOMEM;
	w->ranks = in->t->files;
	for (uint32_t f = 0; f < w->ranks; f++) {
		w->rank[f].file = f;
		w->rank[f].rank = in->t->file[f].rank;
	}
	waits_match(w, s->v, s->n);
	for (size_t i = 0; i < in->devices && w->matched; i++)
		tell_apart(&in->device[i], &w->rank[in->t->device[in->device[i].device].file]);
	return 0;
}
