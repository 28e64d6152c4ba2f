/* SPDX-License-Identifier: Apache-2.0 */
/* account_host.c - walks the ranges and samples of a thread in time; see account_host.h. */
#include "insight/live/account_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/vec.h"
#include "insight/live/live_priv.h"
#include "insight/state.h"

#define MANY_STEPS 10u /* from so many on, the first step is not like the others */
#define OPEN_TIMES 10u /* the mean of the others: longer than steps that checkpoint or evaluate */

/* A range that is open. */
struct open {
	uint64_t end_ns;
	uint32_t name; /* of the innermost that tells no part, if none inside tells one */
	uint8_t part;  /* its own, or of the innermost around that tells */
	bool op;       /* it or one around it is an operator */
};

/* A function of the program that compiled code calls, on a thread of the framework. */
struct back {
	uint64_t start_ns, end_ns;
	uint32_t name, track;
};

#define BACK "jax callback: "

struct host_live {
	struct open *open; /* owned: a stack */
	size_t depth, cap;
	uint64_t now_ns;
	bool begun;
	size_t left, step; /* unsampled steps and steps before these are over */
	uint64_t step_ns[HOST_PARTS + 1], step_op_ns[HOST_PARTS + 1]; /* of the step under way */
	struct insight_span *coll; /* owned: collectives of this stretch, joined */
	size_t colls;
	struct insight_span *bare; /* owned: of this stretch, when it only communicates */
	size_t bares;
	struct back *back; /* owned: callbacks of this stretch, by their start */
	size_t backs;
	struct lookup row;
	struct map range; /* name: place + 1 */
};

/* --- what is charged --- */

static void end_step(struct host_account *a)
{
	struct host_live *x = a->x;
	uint64_t ops = 0;

	for (size_t p = 0; p <= HOST_PARTS; p++)
		ops += x->step_op_ns[p];
	a->windows += ops != 0;
	for (size_t p = 0; ops && p <= HOST_PARTS; p++) {
		a->window_ns[p] += x->step_ns[p];
		a->op_ns[p] += x->step_op_ns[p];
	}
	memset(x->step_ns, 0, sizeof(x->step_ns));
	memset(x->step_op_ns, 0, sizeof(x->step_op_ns));
}

static int charge_range(struct host_account *a, uint32_t name, uint64_t ns)
{
	uint64_t at = map_get(&a->x->range, name);

	if (!at) {
		if (vec_more(&a->range, a->ranges, sizeof(*a->range)) < 0 ||
		    map_put(&a->x->range, name, a->ranges + 1) < 0)
			return -ENOMEM;
		a->range[a->ranges++] = (struct host_range){ name, 0 };
		at = a->ranges;
	}
	a->range[at - 1].ns += ns;
	return 0;
}

/* The part of [from, to) that counts: of the base, and in no unsampled step. */
static uint64_t counted(const struct insight *in, struct host_account *a, uint64_t from,
			uint64_t to)
{
	const struct state_process *p = &in->x->process[a->process];
	const struct insight_span *left = &in->x->left[p->left_first];
	uint64_t ns;

	from = from < a->on.account.start_ns ? a->on.account.start_ns : from;
	to = to > a->on.account.end_ns ? a->on.account.end_ns : to;
	ns = to > from ? to - from : 0;
	while (a->x->left < p->lefts && left[a->x->left].end_ns <= from)
		a->x->left++;
	for (size_t i = a->x->left; ns && i < p->lefts && left[i].start_ns < to; i++) {
		uint64_t s = left[i].start_ns > from ? left[i].start_ns : from;
		uint64_t e = left[i].end_ns < to ? left[i].end_ns : to;

		ns -= e > s ? e - s : 0;
	}
	return ns;
}

static size_t quarter(const struct state_process *p, size_t step)
{
	size_t q = p->steps ? step * HOST_QUARTERS / p->steps : 0;

	return q < HOST_QUARTERS ? q : HOST_QUARTERS - 1;
}

/* 1, if the step is of the base. */
static uint64_t counted_step(const struct host_account *a, const struct insight_step *s)
{
	return s->start_ns >= a->on.account.start_ns &&
	       s->start_ns + s->dur_ns <= a->on.account.end_ns;
}

static int charge(const struct insight *in, struct host_account *a, uint64_t to)
{
	const struct host_live *x = a->x;
	const struct open *o = x->depth ? &x->open[x->depth - 1] : NULL;
	const struct state_process *p = &in->x->process[a->process];
	uint8_t part = o ? o->part : HOST_PARTS;
	uint64_t from = x->now_ns, ns;
	int err = 0;

	while (from < to && !err) {
		const struct insight_step *s = &in->step[p->step_first + a->x->step];
		uint64_t end = a->x->step < p->steps ? s->start_ns + s->dur_ns : UINT64_MAX;
		uint64_t until = end < to ? end : to;

		ns = counted(in, a, from, until > from ? until : from);
		a->part_ns[part] += ns;
		if (ns && x->bares)
			a->comm_ns[part] += host_comm_between(x->bare, x->bares, from, until);
		a->quarter_ns[quarter(p, a->x->step)] += ns;
		a->x->step_ns[part] += ns;
		a->x->step_op_ns[part] += o && o->op ? ns : 0;
		if (ns && o && o->name && part == HOST_PARTS)
			err = charge_range(a, o->name, ns);
		if (until >= end) {
			end_step(a);
			a->quarter_steps[quarter(p, a->x->step)] += counted_step(a, s);
			a->x->step++;
		}
		from = until > from ? until : from;
	}
	a->x->now_ns = to > x->now_ns ? to : x->now_ns;
	return err;
}

static int advance(const struct insight *in, struct host_account *a, uint64_t to)
{
	struct host_live *x = a->x;
	int err = 0;

	while (x->depth && x->open[x->depth - 1].end_ns <= to && !err) {
		err = charge(in, a, x->open[x->depth - 1].end_ns);
		x->depth--;
	}
	return err ? err : charge(in, a, to);
}

/* --- ranges --- */

static int push(struct insight *in, struct host_account *a, size_t event)
{
	const struct event *e = &in->t->event[event];
	struct host_live *x = a->x;
	const struct open *up = x->depth ? &x->open[x->depth - 1] : NULL;
	enum host_part part = insight_range_part(in, (uint32_t)event);
	struct open o = { event_end(e), up ? up->name : 0, up ? up->part : HOST_PARTS,
			  (up && up->op) || e->a == TRACE_OP };

	if (up && o.end_ns > up->end_ns) /* from start to end on any thread: nests in nothing */
		return 0;
	if (part != HOST_PARTS) {
		o.part = (uint8_t)part;
		o.name = 0;
	} else if (e->a != TRACE_OP && e->a != TRACE_MODULE) {
		o.name = e->name;
	}
	a->ops[o.part] += e->a == TRACE_OP && !(up && up->op);
	if (vec_room(&x->open, &x->cap, x->depth + 1, sizeof(*x->open)) < 0)
		return -ENOMEM;
	x->open[x->depth++] = o;
	return 0;
}

/* --- samples --- */

static bool in_collective(const struct host_live *x, uint64_t ns)
{
	size_t lo = 0, hi = x->colls;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->coll[mid].end_ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->colls && x->coll[lo].start_ns <= ns;
}

/* The callback that runs then on another thread; 0: none. */
static uint32_t called_back(const struct host_account *a, uint64_t ns)
{
	const struct host_live *x = a->x;
	size_t lo = 0, hi = x->backs;

	while (lo < hi) { /* the first that begins later */
		size_t mid = lo + (hi - lo) / 2;

		if (x->back[mid].start_ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && x->back[lo - 1].end_ns > ns && x->back[lo - 1].track != a->track
		       ? x->back[lo - 1].name
		       : 0;
}

static bool same_row(const struct host_sample *a, const struct host_sample *b)
{
	return a->stack == b->stack && a->holder == b->holder && a->range == b->range &&
	       a->called == b->called && a->part == b->part && a->state == b->state &&
	       a->flags == b->flags && a->in_collective == b->in_collective &&
	       a->writes == b->writes;
}

static int add_sample(struct insight *in, struct host_account *a, const struct event *e)
{
	struct host_live *x = a->x;
	const struct open *o = x->depth ? &x->open[x->depth - 1] : NULL;
	struct host_sample key = { .stack = e->a < in->t->stacks ? (uint32_t)e->a : 0,
				   .range = o ? o->name : 0,
				   .part = o ? o->part : HOST_PARTS,
				   .state = (uint8_t)sample_state(e->b),
				   .flags = sample_flags(e->b) & SAMPLE_GC,
				   .in_collective = in_collective(x, e->start_ns),
				   .called = called_back(a, e->start_ns) };
	uint64_t hash, hit;
	uint32_t i;

	if (sample_flags(e->b) & SAMPLE_HOLDER || !counted(in, a, e->start_ns, e->start_ns + 1))
		return 0;
	key.writes = (key.state == SAMPLE_SYSCALL || key.state == SAMPLE_IO ||
		      key.state == SAMPLE_WAIT) &&
		     (sample_detail(e->b) == SYS_write || sample_detail(e->b) == SYS_writev);
	if (key.state == SAMPLE_GIL)
		key.holder = insight_gil_holder(in, e);
	else if (key.state == SAMPLE_RUNNABLE)
		key.holder = sample_detail(e->b);
	hash = hash_mix(hash_mix((uint64_t)key.stack << 32 | key.range,
				 (uint64_t)key.called << 32 | key.holder),
			(uint64_t)key.part << 24 | (uint64_t)key.state << 16 |
				(uint64_t)key.flags << 8 | (uint64_t)key.in_collective << 1 |
				key.writes);
	for (size_t at = 0; lookup_next(&x->row, hash, &at, &i);)
		if (same_row(&a->row[i], &key))
			goto add;
	i = (uint32_t)a->rows;
	if (vec_more(&a->row, a->rows, sizeof(*a->row)) < 0 || lookup_put(&x->row, hash, i) < 0)
		return -ENOMEM;
	a->row[a->rows++] = key;
add:
	a->row[i].count++;
	a->row[i].ns += (double)e->dur_ns;
	a->row[i].ns2 += (double)e->dur_ns * (double)e->dur_ns;
	a->row[i].quarter[quarter(&in->x->process[a->process], x->step)] += (double)e->dur_ns;
	hit = hash_mix(x->step, 0) % (64 * HOST_HITS);
	a->row[i].hit[hit / 64] |= 1ull << hit % 64;
	a->samples++;
	return 0;
}

/* --- a stretch --- */

static int span_cmp(const void *a, const void *b)
{
	const struct insight_span *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* The collectives of each process, joined, so that a moment is in one of them or in none. */
static int take_collectives(struct insight *in)
{
	const struct trace *t = in->t;
	struct host_accounts *hs = &in->hosts;

	for (size_t i = 0; i < hs->n; i++)
		hs->v[i].x->colls = 0;
	for (size_t i = 0; in->kinds[EVENT_COLLECTIVE] && i < t->events; i++) {
		const struct event *e = &t->event[i];
		struct host_live *x = hs->v[t->track[e->track].process].x;

		if (e->kind != EVENT_COLLECTIVE || !e->dur_ns)
			continue;
		if (vec_more(&x->coll, x->colls, sizeof(*x->coll)) < 0)
			return -ENOMEM;
		x->coll[x->colls++] =
			(struct insight_span){ .start_ns = e->start_ns, .end_ns = event_end(e) };
	}
	for (size_t i = 0; i < hs->n; i++) {
		struct host_live *x = hs->v[i].x;
		size_t n = 0;

		if (x->colls)
			qsort(x->coll, x->colls, sizeof(*x->coll), span_cmp);
		for (size_t k = 0; k < x->colls; k++) {
			if (n && x->coll[k].start_ns <= x->coll[n - 1].end_ns) {
				if (x->coll[k].end_ns > x->coll[n - 1].end_ns)
					x->coll[n - 1].end_ns = x->coll[k].end_ns;
			} else {
				x->coll[n++] = x->coll[k];
			}
		}
		x->colls = n;
	}
	return 0;
}

static int back_cmp(const void *a, const void *b)
{
	const struct back *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int take_callbacks(struct insight *in)
{
	const struct trace *t = in->t;
	struct host_accounts *hs = &in->hosts;

	for (size_t i = 0; i < hs->n; i++)
		hs->v[i].x->backs = 0;
	for (size_t i = 0; in->kinds[EVENT_RANGE] && i < t->events; i++) {
		const struct event *e = &t->event[i];
		struct host_live *x = hs->v[t->track[e->track].process].x;

		if (e->kind != EVENT_RANGE ||
		    strncmp(trace_text(t, e->name), BACK, strlen(BACK)) != 0)
			continue;
		if (vec_more(&x->back, x->backs, sizeof(*x->back)) < 0)
			return -ENOMEM;
		x->back[x->backs++] = (struct back){ e->start_ns, event_end(e), e->name, e->track };
	}
	for (size_t i = 0; i < hs->n; i++)
		if (hs->v[i].x->backs)
			qsort(hs->v[i].x->back, hs->v[i].x->backs, sizeof(struct back), back_cmp);
	return 0;
}

static bool tells(const struct event *e)
{
	return e->kind == EVENT_RANGE && e->a != TRACE_GPU_USER && e->a != TRACE_DEVICE_OP &&
	       e->dur_ns;
}

/* Where launches tell what the GPU waits for and nothing was sampled, nobody asks for the thread. */
static bool is_asked(const struct insight *in, const struct host_account *a)
{
	const struct trace *t = in->t;

	for (uint32_t l = 0; !in->parted && !in->kinds[EVENT_SAMPLE] && l < t->tracks; l++)
		if (t->track[l].process == a->process && in->x->track[l].launch.launched)
			return false;
	return true;
}

static int walk(struct insight *in, struct host_account *a)
{
	const struct trace *t = in->t;
	struct host_live *x = a->x;
	uint64_t until = x->now_ns;
	int err = 0;

	x->depth = 0;
	for (size_t i = t->track_first[a->track]; i < t->track_first[a->track + 1] && !err; i++) {
		const struct event *e = &t->event[i];
		uint64_t end = event_end(e) < in->hi_ns ? event_end(e) : in->hi_ns;

		if (e->kind == EVENT_SAMPLE && !event_counts(e))
			continue;
		if (!x->begun) {
			x->begun = true;
			x->now_ns = e->start_ns;
			if (!a->on.account.steps)
				a->on.account.start_ns = e->start_ns;
		}
		until = e->kind != EVENT_SAMPLE && end > until ? end : until;
		until = e->start_ns > until ? e->start_ns : until;
		if (e->start_ns > x->now_ns)
			err = advance(in, a, e->start_ns);
		if (!err && tells(e))
			err = push(in, a, i);
		if (!err && e->kind == EVENT_SAMPLE)
			err = add_sample(in, a, e);
		a->fetches += tells(e) && event_counts(e) &&
			      !strcmp(trace_text(t, e->name), "DataLoader fetch");
	}
	err = err ? err : advance(in, a, until);
	x->depth = 0; /* those that are still open come again with the next stretch */
	return err;
}

/* The thread to speak of: with steps, else the first of the process, else the one of most events. */
static uint32_t choose(const struct insight *in, uint32_t process)
{
	const struct trace *t = in->t;
	uint32_t best = in->x->process[process].track;
	size_t most = 0;

	for (uint32_t l = 0; best == UINT32_MAX && l < t->tracks; l++)
		if (t->track[l].process == process && t->track[l].device == TRACK_HOST &&
		    t->track[l].stream == t->process[process].pid &&
		    t->track_first[l + 1] > t->track_first[l])
			return l;
	for (uint32_t l = 0; in->x->process[process].track == UINT32_MAX && l < t->tracks; l++) {
		size_t n = t->track_first[l + 1] - t->track_first[l];

		if (t->track[l].process == process && t->track[l].device == TRACK_HOST &&
		    n > most) {
			most = n;
			best = l;
		}
	}
	return best;
}

/* Steps that last until the next begins: the last has no next, and ends with what was recorded. */
static bool last_is_open(const struct insight_step *s, size_t n)
{
	uint64_t others = s[n - 1].start_ns - (s[0].start_ns + s[0].dur_ns);

	return n >= MANY_STEPS && s[n - 1].dur_ns / OPEN_TIMES > others / (n - 2);
}

static void set_base(const struct insight *in, struct host_account *a)
{
	const struct state_process *p = &in->x->process[a->process];
	const struct insight_step *s = &in->step[p->step_first];
	bool many = p->steps >= MANY_STEPS;

	a->on.account.steps = p->steps - (many ? 1 : 0);
	if (!p->steps) {
		a->on.account.end_ns = UINT64_MAX;
		return;
	}
	a->on.account.start_ns = many ? s[0].start_ns + s[0].dur_ns : s[0].start_ns;
	a->on.account.end_ns = s[p->steps - 1].start_ns + s[p->steps - 1].dur_ns;
	if (last_is_open(s, p->steps)) {
		a->on.account.end_ns = s[p->steps - 1].start_ns;
		a->on.account.steps--;
	}
}

static void see_holders(struct insight *in)
{
	const struct trace *t = in->t;

	for (size_t i = 0; in->kinds[EVENT_SAMPLE] && i < t->events; i++)
		if (t->event[i].kind == EVENT_SAMPLE && event_counts(&t->event[i]) &&
		    sample_flags(t->event[i].b) & SAMPLE_HOLDER)
			in->hosts.v[t->track[t->event[i].track].process].holders++;
}

/* "DataLoader worker 0 of 4 for pid 17": of a worker, in its own process. */
static void see_workers(struct insight *in)
{
	const struct trace *t = in->t;

	for (size_t i = 0; in->kinds[EVENT_MARK] && i < t->events; i++) {
		unsigned long pid, of, id;

		if (t->event[i].kind != EVENT_MARK ||
		    sscanf(trace_text(t, t->event[i].name),
			   "DataLoader worker %lu of %lu for pid %lu", &id, &of, &pid) != 3)
			continue;
		for (uint32_t p = 0; p < t->processes; p++)
			if (t->process[p].pid == pid && of > in->hosts.v[p].workers)
				in->hosts.v[p].workers = of;
		in->hosts.v[t->track[t->event[i].track].process].works_for = pid;
	}
}

int insight_accounts_begin(struct insight *in)
{
	in->hosts.v = calloc(in->t->processes + 1, sizeof(*in->hosts.v));
	if (!in->hosts.v)
		return -ENOMEM;
	for (in->hosts.n = 0; in->hosts.n < in->t->processes; in->hosts.n++) {
		struct host_account *a = &in->hosts.v[in->hosts.n];

		a->process = (uint32_t)in->hosts.n;
		a->track = UINT32_MAX;
		a->x = calloc(1, sizeof(*a->x));
		if (!a->x)
			return -ENOMEM;
		set_base(in, a);
	}
	return 0;
}

int insight_accounts(struct insight *in)
{
	int err = in->hosts.n ? take_collectives(in) : 0;

	err = err || !in->hosts.n ? err : take_callbacks(in);

	see_workers(in);
	see_holders(in);
	for (size_t i = 0; i < in->hosts.n && !err; i++) {
		struct host_account *a = &in->hosts.v[i];

		if (!is_asked(in, a))
			continue;
		if (a->track == UINT32_MAX)
			a->track = choose(in, a->process);
		if (a->track != UINT32_MAX)
			err = host_comm_take(in, a, &a->x->bare, &a->x->bares);
		if (a->track != UINT32_MAX && !err)
			err = walk(in, a);
	}
	return err;
}

static int range_longer(const void *a, const void *b)
{
	const struct host_range *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : x->name < y->name ? -1 : 1;
}

static void live_free(struct host_live *x)
{
	if (!x)
		return;
	free(x->open);
	free(x->coll);
	free(x->bare);
	free(x->back);
	lookup_fini(&x->row);
	map_fini(&x->range);
	free(x);
}

int insight_accounts_end(struct insight *in)
{
	for (size_t i = 0; i < in->hosts.n; i++) {
		struct host_account *a = &in->hosts.v[i];

		end_step(a);
		if (a->ranges)
			qsort(a->range, a->ranges, sizeof(*a->range), range_longer);
		for (size_t p = 0; p <= HOST_PARTS; p++)
			a->on.account.base_ns += a->part_ns[p];
		if (a->x->now_ns < a->on.account.end_ns)
			a->on.account.end_ns = a->x->now_ns;
		a->on.rank = insight_rank(in->t, a->process);
		a->on.device = UINT32_MAX;
		a->on.host = a;
		a->on.steps = a->on.account.steps;
		a->on.step_ns = a->on.steps ? a->on.account.base_ns : 0;
		a->on.b.span_ns = a->on.account.base_ns;
		host_causes(in, a);
		live_free(a->x);
		a->x = NULL;
	}
	return 0;
}

void host_accounts_fini(struct host_accounts *hs)
{
	for (size_t i = 0; i < hs->n; i++) {
		live_free(hs->v[i].x);
		free(hs->v[i].row);
		free(hs->v[i].range);
	}
	if (hs->v && hs->v[hs->n].x) /* begun, and out of memory */
		live_free(hs->v[hs->n].x);
	free(hs->v);
	*hs = (struct host_accounts){ 0 };
}
