/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_learner.c - see shape_learner.h. Calls, operators and kernels of a process come in any
 * order, so kernels wait until the table is full and SETTLE more operators have come, or until a
 * window ends. Then each kernel is matched with its call and with the operator around it. The
 * longest kernel of an operator is known only if all its kernels were taken: operators that began
 * before taking began do not count, nor those that ended after the table was full, nor, while it is
 * not full, those that ended just now. After a full table the next round begins with the next
 * window: that bounds the cost.
 */
#include "daemon/stream/shape_learner.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/stream/roofline_live.h"
#include "model/event.h"
#include "store/store.h"
#include "theory/op_work.h"

#define OPS      16384u /* kept, the newest: kernels may come a second later */
#define CALLS    32768u /* by correlation id */
#define FORMULAS 1024u
#define KERNELS  512u /* that wait */
#define SETTLE   1024u
#define TRIES    3u
#define LATE_NS  1000000000u
#define TEXT_MAX 512u
#define TRACKS   64u /* whose threads are remembered */

struct op {
	uint64_t start_ns, end_ns;
	uint64_t thread;
	uint32_t name, shapes;
	uint32_t kernel, geo; /* the longest that it launched */
	uint64_t longest_ns;  /* 0: none yet */
};

struct call {
	uint64_t start_ns, thread;
	uint32_t corr;
};

struct kernel {
	uint64_t dur_ns;
	uint32_t corr, name, geo, tries;
};

struct formula {
	uint32_t name, shapes;
	bool known;
	struct op_known is;
};

struct learn {
	struct judge *judge; /* borrowed, as is the store */
	struct store *store;
	struct op op[OPS];
	struct call call[CALLS];
	struct kernel kernel[KERNELS];
	struct formula formula[FORMULAS];
	uint64_t ops; /* that have come */
	uint32_t kernels;
	uint64_t newest_ns; /* end of an operator */
	uint64_t call_ns;   /* begin of the newest call */
	uint64_t since_ns;  /* kernels of earlier calls were not all taken */
	uint32_t after;     /* operators since there is no room */
	enum { TAKING, FULL, PAUSED } state;
	struct {
		uint32_t track; /* + 1 */
		uint64_t thread;
	} track[TRACKS];
};

int learn_new(struct learn **out, struct judge *j, struct store *st)
{
	struct learn *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->judge = j;
	l->store = st;
	*out = l;
	return 0;
}

void learn_free(struct learn *l)
{
	free(l);
}

/* --- what it is --- */

/* Of an operator with such shapes; NULL: there is none, or the store is busy. */
static const struct formula *formula_of(struct learn *l, uint32_t name, uint32_t shapes)
{
	struct formula *f = &l->formula[(name * 31 + shapes) % FORMULAS];
	char op[TEXT_MAX], text[TEXT_MAX];

	if (f->name != name || f->shapes != shapes) {
		struct formula is = { .name = name, .shapes = shapes };

		if (store_name_try(l->store, name, op, sizeof(op)) < 0 ||
		    store_name_try(l->store, shapes, text, sizeof(text)) < 0)
			return NULL;
		is.known = !op_known(&is.is, op, text);
		*f = is;
	}
	return f->known ? f : NULL;
}

static void tell(struct learn *l, const struct op *o)
{
	const struct formula *f = formula_of(l, o->name, o->shapes);

	if (f)
		judge_learn(l->judge, o->kernel, o->geo, &f->is);
}

/* --- joining --- */

/* Operators and calls of a thread have tracks of their own. */
static bool thread_of(struct learn *l, uint32_t track, uint64_t *out)
{
	struct track is;

	if (l->track[track % TRACKS].track != track + 1) {
		if (store_track_try(l->store, track, &is) < 0)
			return false;
		l->track[track % TRACKS].track = track + 1;
		l->track[track % TRACKS].thread = is.stream;
	}
	*out = l->track[track % TRACKS].thread;
	return true;
}

static const struct call *call_of(const struct learn *l, uint32_t corr)
{
	const struct call *c = &l->call[corr % CALLS];

	return c->corr == corr ? c : NULL;
}

/* The innermost that encloses the call: the shortest. */
static struct op *op_of(struct learn *l, const struct call *c)
{
	uint64_t n = l->ops < OPS ? l->ops : OPS;
	struct op *best = NULL;

	for (uint64_t i = 0; i < n; i++) {
		struct op *o = &l->op[(l->ops - 1 - i) % OPS];

		if (o->thread == c->thread && o->start_ns <= c->start_ns &&
		    c->start_ns < o->end_ns &&
		    (!best || o->end_ns - o->start_ns < best->end_ns - best->start_ns))
			best = o;
	}
	return best;
}

/* When the last kernel that there was room for was launched. */
static uint64_t last_call(const struct learn *l)
{
	const struct call *c = l->kernels ? call_of(l, l->kernel[l->kernels - 1].corr) : NULL;

	return c ? c->start_ns : 0;
}

static void join(struct learn *l)
{
	uint64_t until = l->state == FULL ? last_call(l) : UINT64_MAX;
	uint32_t left = 0;

	for (uint32_t i = 0; i < l->kernels; i++) {
		struct kernel *k = &l->kernel[i];
		const struct call *c = call_of(l, k->corr);
		struct op *o = c && c->start_ns >= l->since_ns ? op_of(l, c) : NULL;

		if (!o) {
			if (++k->tries < TRIES && l->state == TAKING)
				l->kernel[left++] = *k;
			continue;
		}
		if (o->start_ns < l->since_ns || o->end_ns > until)
			continue;
		if (o->longest_ns && k->dur_ns > o->longest_ns)
			judge_helps(l->judge, o->kernel, o->geo);
		else if (o->longest_ns)
			judge_helps(l->judge, k->name, k->geo);
		if (k->dur_ns <= o->longest_ns)
			continue;
		o->longest_ns = k->dur_ns;
		o->kernel = k->name;
		o->geo = k->geo;
	}
	l->kernels = left;
}

static void settle(struct learn *l, bool all)
{
	join(l);
	for (uint32_t i = 0; i < OPS; i++) {
		struct op *o = &l->op[i];

		if (!o->longest_ns || (!all && o->end_ns + LATE_NS > l->newest_ns))
			continue;
		tell(l, o);
		*o = (struct op){ 0 };
	}
	l->state = l->state == FULL ? PAUSED : l->state;
}

void learn_settle(struct learn *l, bool all)
{
	if (l->state == PAUSED) {
		l->state = TAKING;
		l->since_ns = l->call_ns;
	} else if (all || l->state == TAKING || l->after) {
		settle(l, all || l->state == FULL);
	}
}

static void add_op(struct learn *l, const struct event *e, uint64_t thread)
{
	struct op *o = &l->op[l->ops % OPS];

	*o = (struct op){ .start_ns = e->start_ns,
			  .end_ns = e->start_ns + e->dur_ns,
			  .thread = thread,
			  .name = e->name,
			  .shapes = (uint32_t)(e->a >> 1) };
	if (o->end_ns > l->newest_ns)
		l->newest_ns = o->end_ns;
	l->ops++;
	if (l->state == FULL && ++l->after == SETTLE)
		settle(l, true);
}

static void add_call(struct learn *l, const struct event *e, uint64_t thread)
{
	l->call[e->corr % CALLS] = (struct call){ e->start_ns, thread, e->corr };
	if (e->start_ns > l->call_ns)
		l->call_ns = e->start_ns;
}

static void add_kernel(struct learn *l, const struct event *e)
{
	l->kernel[l->kernels++] = (struct kernel){
		.dur_ns = e->dur_ns, .corr = e->corr, .name = e->name, .geo = (uint32_t)e->a
	};
	if (l->kernels < KERNELS)
		return;
	l->state = FULL;
	l->after = 0;
}

void learn_events(struct learn *l, const struct event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event *e = &ev[i];
		bool op = e->kind == EVENT_OP && e->a >> 1 && !(e->flags & EVENT_OPEN);
		bool call = e->kind == EVENT_API && e->corr;
		uint64_t thread;

		if ((op || call) && !thread_of(l, e->track, &thread))
			continue;
		if (op && formula_of(l, e->name, (uint32_t)(e->a >> 1)))
			add_op(l, e, thread);
		else if (call)
			add_call(l, e, thread);
		else if (e->kind == EVENT_KERNEL && e->corr && l->state == TAKING)
			add_kernel(l, e);
	}
}
