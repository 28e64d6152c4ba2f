/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - runs the simulator without each cause that it can remove. */
#include "insight/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "sim/path.h"
#include "sim/whatif.h"

const char *const replay_word[FAMILIES] = {
	[FAMILY_INPUT] = "with input that is always there",
	[FAMILY_LAUNCH] = "with a host that takes no time",
	[FAMILY_CPU] = "with a host that takes no time",
	[FAMILY_SYNC] = "with a host that never waits",
	[FAMILY_COMM] = "with communication that takes no time",
	[FAMILY_COPY] = "with copies that take no time",
	[FAMILY_ROOF] = "with kernels at their limits",
	[FAMILY_COMPILING] = "without compilations",
	[FAMILY_CHECKPOINT] = "without checkpoints",
	[FAMILY_GC] = "without garbage collection",
	[FAMILY_ALLOC] = "with allocations that take no time",
	[FAMILY_CAPTURE] = "without capturing",
	[FAMILY_WARM_UP] = "without first use",
};

/* Families whose cause ranges and calls name by themselves. */
static const struct {
	enum family family;
	enum idle_cause cause;
	enum account_cause account;
} marked[] = {
	{ FAMILY_INPUT, IDLE_INPUT, ACCOUNT_INPUT },
	{ FAMILY_COMPILING, IDLE_COMPILE, ACCOUNT_COMPILE },
	{ FAMILY_GC, IDLE_GC, ACCOUNT_GC },
	{ FAMILY_CHECKPOINT, IDLE_CHECKPOINT, ACCOUNT_CHECKPOINT },
	{ FAMILY_ALLOC, IDLE_ALLOC, ACCOUNT_ALLOC },
};

#define MARKED (sizeof(marked) / sizeof(marked[0]))

struct run {
	struct replay *r;
	const struct trace *t;
	const struct insight *in;
	struct names *n;
	const struct sim_graph *g;
	float *scale;   /* by name */
	uint8_t *cause; /* by name: enum idle_cause of its ranges and calls, or IDLE_CAUSES */
};

static void find_causes(struct run *x)
{
	for (uint32_t i = 0; i < x->t->names; i++)
		x->cause[i] = IDLE_CAUSES;
	for (size_t i = 0; i < x->t->events; i++) {
		const struct event *e = &x->t->event[i];

		if (e->kind == EVENT_RANGE && e->a != TRACE_GPU_USER)
			x->cause[e->name] = (uint8_t)idle_mark(e->kind, CALL_OTHER,
							       names_range(x->n, e->name), 0);
		else if (e->kind == EVENT_API)
			x->cause[e->name] = (uint8_t)idle_mark(e->kind, names_call(x->n, e->name),
							       RANGE_OTHER, 0);
	}
}

static int run(struct run *x, enum family k, const struct sim_change *c)
{
	return sim_whatif(x->g, c, &x->r->with_ns[k]);
}

/* Without all that is known by its name: `only` is one of marked[], or MARKED for all of them. */
static int run_marked(struct run *x, size_t only, int64_t *with_ns)
{
	struct sim_change c = { .host_scale = x->scale };
	bool any = false;

	for (uint32_t i = 0; i < x->t->names; i++) {
		bool is = x->cause[i] != IDLE_CAUSES && x->cause[i] != IDLE_PROFILER &&
			  x->cause[i] != IDLE_CAPTURE && x->cause[i] != IDLE_WARM_UP &&
			  (only == MARKED || x->cause[i] == marked[only].cause);

		x->scale[i] = is ? 0.0f : 1.0f;
		any |= is;
	}
	*with_ns = x->r->span_ns;
	return any ? sim_whatif(x->g, &c, with_ns) : 0;
}

/* Without all that has a name. If only one cause has, that was replayed before. */
static int run_named(struct run *x, int64_t *with_ns)
{
	size_t last = MARKED, n = 0;

	for (size_t m = 0; m < MARKED; m++) {
		bool any = false;

		for (uint32_t i = 0; i < x->t->names && !any; i++)
			any = x->cause[i] == marked[m].cause;
		n += any;
		last = any ? m : last;
	}
	if (n != 1 || x->r->with_ns[marked[last].family] == REPLAY_NONE)
		return run_marked(x, MARKED, with_ns);
	*with_ns = x->r->with_ns[marked[last].family];
	return 0;
}

/* What the host does beyond what has a name. */
static int run_host(struct run *x)
{
	struct sim_change c = { .free_launch = true, .free_host = true };
	int64_t without = 0, free_host = 0;
	int err = run_named(x, &without);

	err = err ? err : sim_whatif(x->g, &c, &free_host);
	free_host += x->r->span_ns - without;
	x->r->with_ns[FAMILY_LAUNCH] = x->r->with_ns[FAMILY_CPU] =
		free_host < x->r->span_ns ? free_host : x->r->span_ns;
	return err;
}

static int run_copies(struct run *x)
{
	struct sim_change c = { .work_scale = x->scale };

	for (uint32_t i = 0; i < x->t->names; i++)
		x->scale[i] = 1.0f;
	for (size_t i = 0; i < x->t->events; i++)
		if (x->t->event[i].kind == EVENT_COPY || x->t->event[i].kind == EVENT_MEMSET)
			x->scale[x->t->event[i].name] = 0.0f;
	return run(x, FAMILY_COPY, &c);
}

static int run_comm(struct run *x)
{
	struct sim_change c = { .work_scale = x->scale };

	for (uint32_t i = 0; i < x->t->names; i++)
		x->scale[i] = names_kernel(x->n, i) == CLASS_COMM ? 0.0f : 1.0f;
	for (size_t i = 0; i < x->t->events; i++)
		if (x->t->event[i].kind == EVENT_COLLECTIVE ||
		    (x->t->event_comm && x->t->event_comm[i]))
			x->scale[x->t->event[i].name] = 0.0f;
	return run(x, FAMILY_COMM, &c);
}

/* Kernels that take longer than they should take as long as that. Names of a part of the recording
 * are others than those of the whole. */
static int run_roofs(struct run *x)
{
	struct sim_change c = { .work_scale = x->scale };
	double *all = calloc(x->t->names + 1, 2 * sizeof(*all)), *lost = all + x->t->names;
	bool any = false;
	int err = all ? 0 : -ENOMEM;

	for (size_t i = 0; !err && x->t == x->in->t && i < x->in->roofs.rows; i++) {
		const struct roof_row *r = &x->in->roofs.row[i];

		all[r->name] += (double)r->total_ns;
		lost[r->name] += (double)roof_lost_ns(r);
		any |= roof_lost_ns(r) > 0;
	}
	for (uint32_t i = 0; any && i < x->t->names; i++)
		x->scale[i] = all[i] > 0 ? (float)(1 - lost[i] / all[i]) : 1.0f;
	err = any ? run(x, FAMILY_ROOF, &c) : err;
	free(all);
	return err;
}

/* --- what happens once --- */

struct once {
	struct sim_span *span; /* owned */
	size_t n;
};

static int once_add(struct once *o, uint32_t track, uint64_t start, uint64_t end)
{
	if (vec_more(&o->span, o->n, sizeof(*o->span)) < 0)
		return -ENOMEM;
	o->span[o->n++] = (struct sim_span){ start, end, track };
	return 0;
}

static int once_cmp(const void *a, const void *b)
{
	const struct sim_span *x = a, *y = b;

	return cmp_num(x->track, y->track) ?: cmp_num(x->start_ns, y->start_ns);
}

/* Of two that overlap, the first. */
static void once_sort(struct once *o)
{
	size_t n = 0;

	if (o->n)
		qsort(o->span, o->n, sizeof(*o->span), once_cmp);
	for (size_t i = 0; i < o->n; i++)
		if (!n || o->span[i].track != o->span[n - 1].track ||
		    o->span[i].start_ns >= o->span[n - 1].end_ns)
			o->span[n++] = o->span[i];
	o->n = n;
}

static bool is_first_use(const struct run *x, const struct event *e)
{
	return e->kind == EVENT_API && e->dur_ns >= IDLE_FIRST_USE_NS &&
	       names_call(x->n, e->name) == CALL_LAUNCH;
}

/* It is known of each event, not by name: of the whole trace only. */
static int run_once(struct run *x, enum family k, enum idle_cause cause)
{
	const struct insight_spans *mark = &x->in->spans[SPAN_MARK];
	struct once o = { 0 };
	int err = 0;

	if (x->t != x->in->t || !mark->track_first)
		return 0;
	for (uint32_t l = 0; l < x->t->tracks && !err; l++)
		for (size_t i = mark->track_first[l]; i < mark->track_first[l + 1] && !err; i++)
			if (mark->span[i].cause == cause)
				err = once_add(&o, l, mark->span[i].start_ns, mark->span[i].end_ns);
	for (size_t i = 0; cause == IDLE_WARM_UP && i < x->t->events && !err; i++)
		if (is_first_use(x, &x->t->event[i]))
			err = once_add(&o, x->t->event[i].track, x->t->event[i].start_ns,
				       event_end(&x->t->event[i]));
	once_sort(&o);
	if (!err && o.n)
		err = run(x, k, &(struct sim_change){ .gone = o.span, .gones = o.n });
	free(o.span);
	return err;
}

/* What never ran, or never held a device up, has nothing to be removed. */
static bool has(const struct run *x, enum account_cause from, enum account_cause to)
{
	for (size_t i = 0; i < x->in->devices; i++)
		for (enum account_cause c = from; c <= to; c++)
			if (x->in->device[i].account.ns[c])
				return true;
	return false;
}

static int run_all(struct run *x)
{
	struct sim_change sync = { .no_sync = true };
	int err = 0;

	find_causes(x);
	for (size_t i = 0; i < MARKED && !err; i++)
		if (has(x, marked[i].account, marked[i].account))
			err = run_marked(x, i, &x->r->with_ns[marked[i].family]);
	if (!err && has(x, ACCOUNT_CAPTURE, ACCOUNT_CAPTURE))
		err = run_once(x, FAMILY_CAPTURE, IDLE_CAPTURE);
	if (!err && has(x, ACCOUNT_WARM_UP, ACCOUNT_WARM_UP))
		err = run_once(x, FAMILY_WARM_UP, IDLE_WARM_UP);
	err = err ? err : run_host(x);
	err = err ? err : run(x, FAMILY_SYNC, &sync);
	if (!err && has(x, ACCOUNT_COMM_SEND, ACCOUNT_COMM))
		err = run_comm(x);
	if (!err && has(x, ACCOUNT_COPY, ACCOUNT_COPY))
		err = run_copies(x);
	return err ? err : run_roofs(x);
}

static int walk_path(struct replay *r, const struct sim_graph *g)
{
	struct sim_path *p;
	int err = sim_path_new(&p, g, NULL, NULL);

	if (err < 0)
		return err;
	r->span_ns = p->span_ns;
	r->tasks = p->tasks;
	for (size_t k = 0; k < SIM_KINDS; k++)
		r->by_kind[k] = p->by_kind[k];
	sim_path_free(p);
	return 0;
}

int replay_new(struct replay **out, const struct trace *t, const struct insight *in)
{
	bool *is_comm = calloc(t->names + 1, sizeof(*is_comm));
	struct replay *r = calloc(1, sizeof(*r));
	struct run x = { .r = r, .t = t, .in = in };
	struct sim_graph *g = NULL;
	int err = -ENOMEM;

	x.scale = calloc(t->names + 1, sizeof(*x.scale));
	x.cause = calloc(t->names + 1, 1);
	if (!is_comm || !r || !x.scale || !x.cause || names_new(&x.n, t) < 0)
		goto done;
	for (uint32_t i = 0; i < t->names; i++)
		is_comm[i] = names_kernel(x.n, i) == CLASS_COMM;
	for (size_t k = 0; k < FAMILIES; k++)
		r->with_ns[k] = REPLAY_NONE;
	err = sim_graph_new(&g, t, is_comm);
	if (err < 0)
		goto done;
	x.g = g;
	r->steps = g->steps;
	r->meetings = g->meetings;
	err = walk_path(r, g);
	err = err ? err : run_all(&x);
done:
	sim_graph_free(g);
	names_free(x.n);
	free(x.scale);
	free(x.cause);
	free(is_comm);
	if (err < 0) {
		free(r);
		return err;
	}
	*out = r;
	return 0;
}

void replay_free(struct replay *r)
{
	free(r);
}
