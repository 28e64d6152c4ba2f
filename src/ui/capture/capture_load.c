/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_load.c - loads what aond recorded of some processes, for some time, as a trace.
 *
 * The trace is read from the store once: events from before and during the capture are cut only at
 * its two ends. A capture of steps is cut at steps, the same ones for all ranks of a job; any other
 * is cut at moments, the same ones for all processes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/num.h"
#include "capture/node_capture.h"
#include "model/event.h"
#include "model/trace.h"
#include "model/trace_demangle.h"
#include "read/procs.h"
#include "store/trace.h"

/* --- who --- */

static bool is_wanted(const struct node_capture *c, const struct procs *ps, const struct process *p)
{
	const struct node_want *w = &c->want;

	if (memcmp(p->boot_id, ps->boot_id, sizeof(ps->boot_id)) != 0)
		return false; /* its clock is another */
	if (c->id && geteuid() && p->uid != geteuid())
		return false; /* whom aond would not have captured */
	return (!w->pids || num_listed(w->pids, p->pid)) &&
	       (!w->job || !strcmp(w->job, p->job) || (!*p->job && !strcmp(w->job, p->run))) &&
	       (!w->ranks || (p->origin.rank && num_listed(w->ranks, p->origin.rank - 1)));
}

static struct node_proc *find(struct node_capture *c, uint32_t id)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->proc[i].id == id)
			return &c->proc[i];
	return NULL;
}

/* The job of the one whose alarm it was: its other ranks were kept, too. */
static bool of_its_job(const struct node_capture *c, const struct procs *ps,
		       const struct process *p)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->p[i].id == c->proc[0].id)
			return *p->job && p->uid == ps->p[i].uid && !strcmp(p->job, ps->p[i].job);
	return false;
}

/* Those that aond captured, and those that had ended before, but were there in the time before. */
static int gather(struct node_capture *c, const struct procs *ps, uint64_t from)
{
	struct node_proc *p = calloc(ps->n + 1, sizeof(*p)), *was;
	size_t n = 0;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < ps->n; i++) {
		const struct process *q = &ps->p[i];

		was = find(c, q->id);
		if (!was && (!is_wanted(c, ps, q) || (c->kept && !of_its_job(c, ps, q)) ||
			     q->first_ns >= c->begin_ns ||
			     (!procs_live(ps, q) && q->last_ns < from) || !c->want.before_ms))
			continue;
		p[n] = was ? *was
			   : (struct node_proc){ .pid = q->pid,
						 .id = q->id,
						 .rank = (int32_t)q->origin.rank - 1 };
		snprintf(p[n].job, sizeof(p[n].job), "%s", q->job);
		p[n].from_ns = from;
		p[n].to_ns = c->begin_ns + c->want.ms * 1000000u;
		/* Until the store says otherwise. */
		p[n].held_ns = q->account.overwritten ? UINT64_MAX : 0;
		n++;
	}
	free(c->proc);
	c->proc = p;
	c->n = c->cap = n;
	return 0;
}

/* --- steps --- */

#define STEP_COLS (EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_FLAGS)

struct steps {
	struct node_proc *p;
	uint64_t from_ns, to_ns;     /* whole ones in it count */
	uint64_t first_ns, last_ns;  /* begin of the first of these, end of the last */
	uint64_t first, last;        /* their numbers; last < first: none */
	uint64_t want_last, want_ns; /* that one's end; 0: was not seen */
	uint64_t unsampled;
};

static int on_steps(void *arg, uint32_t process, const struct event_columns *c)
{
	struct steps *s = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		uint64_t number = c->a[i], start = c->start_ns[i], end = start + c->dur_ns[i];

		if (c->flags[i] & EVENT_OPEN || start < s->from_ns || end > s->to_ns)
			continue;
		if (s->want_last && number > s->want_last)
			continue;
		if (number == s->want_last)
			s->want_ns = end > s->want_ns ? end : s->want_ns;
		if (number < s->first) {
			s->first = number;
			s->first_ns = start;
		}
		if (number >= s->last) {
			s->last = number;
			s->last_ns = end;
		}
		s->unsampled += (c->flags[i] & EVENT_UNSAMPLED) != 0;
	}
	return 0;
}

static int steps_of(struct store *st, struct node_proc *p, struct steps *s, uint64_t from,
		    uint64_t to)
{
	struct store_filter f = { .process = &p->id,
				  .processes = 1,
				  .kinds = 1u << EVENT_STEP,
				  .from_ns = from,
				  .to_ns = to };

	*s = (struct steps){
		.p = p, .from_ns = from, .to_ns = to, .first = UINT64_MAX, .want_last = p->last
	};
	return store_each_events(st, &f, STEP_COLS, on_steps, s);
}

static bool same_job(const struct node_proc *a, const struct node_proc *b)
{
	return a == b || (*a->job && !strcmp(a->job, b->job));
}

/* The first step that is whole, in the time before or in the capture, on every rank of the job. */
static uint64_t common_first(const struct node_capture *c, const struct steps *s, size_t of)
{
	uint64_t first = 0;

	for (size_t i = 0; i < c->n; i++)
		if (same_job(&c->proc[i], &c->proc[of]) && s[i].first != UINT64_MAX &&
		    s[i].first > first)
			first = s[i].first;
	return first;
}

struct seek {
	uint64_t number, ns;
};

static int on_seek(void *arg, uint32_t process, const struct event_columns *c)
{
	struct seek *k = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++)
		if (c->a[i] == k->number && c->start_ns[i] < k->ns)
			k->ns = c->start_ns[i];
	return 0;
}

/* Windows whose ends are steps' ends: of what was asked for in steps. */
static int align(struct node_capture *c, struct store *st, struct steps *s)
{
	int err = 0;

	for (size_t i = 0; i < c->n && !err; i++) {
		struct node_proc *p = &c->proc[i];
		struct store_filter f = { .process = &p->id,
					  .processes = 1,
					  .kinds = 1u << EVENT_STEP };
		struct seek k = { c->want.before_ms ? common_first(c, s, i) : p->first,
				  UINT64_MAX };

		if (!p->last)
			continue; /* only its past is there */
		err = store_each_events(st, &f, STEP_COLS, on_seek, &k);
		if (k.ns != UINT64_MAX) {
			p->from_ns = k.ns;
			p->first_step = k.number;
		}
		p->to_ns = s[i].last_ns ? s[i].last_ns : c->begin_ns;
	}
	return err;
}

static int find_steps(struct node_capture *c, struct store *st)
{
	struct steps *s = calloc(c->n + 1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->n && !err; i++) {
		struct node_proc *p = &c->proc[i];

		err = steps_of(st, p, &s[i], p->from_ns, c->want.steps ? UINT64_MAX : p->to_ns);
	}
	if (!err && c->want.steps)
		err = align(c, st, s);
	for (size_t i = 0; i < c->n && !err; i++) {
		struct node_proc *p = &c->proc[i];

		if (c->want.steps)
			err = steps_of(st, p, &s[i], p->from_ns, p->to_ns);
		p->first_step = s[i].first;
		p->last_step = s[i].last;
		p->unsampled = s[i].unsampled;
	}
	free(s);
	return err;
}

/* --- what the recorder no longer holds --- */

/* Of processes of which something was overwritten. */
static int find_held(struct node_capture *c, struct store *st)
{
	uint64_t from;
	int err = 0;

	for (size_t i = 0; i < c->n && !err; i++) {
		struct node_proc *p = &c->proc[i];

		if (!p->held_ns)
			continue;
		err = store_held(st, p->id, &from);
		p->held_ns = err || from <= p->from_ns || c->kept ? 0 : from;
	}
	return err;
}

/* --- the trace --- */

static int load(struct node_capture *c, struct store *st, const char *path, struct trace *t)
{
	uint64_t before = c->want.before_ms * 1000000u;
	uint64_t from = c->begin_ns > before ? c->begin_ns - before : 0;
	struct procs_want want = { 0 };
	struct procs ps = { 0 };
	struct store_filter w = { .from_ns = UINT64_MAX };
	uint64_t *span;
	uint32_t *id;
	int err = procs_load(&ps, st, &want);

	err = err ? err : gather(c, &ps, from);
	err = err ? err : find_steps(c, st);
	err = err ? err : find_held(c, st);
	id = calloc(c->n + 1, sizeof(*id));
	span = calloc(2 * c->n + 1, sizeof(*span));
	if (!err && (!id || !span))
		err = -ENOMEM;
	for (size_t i = 0; i < c->n && !err; i++) {
		id[i] = c->proc[i].id;
		span[2 * i] = c->proc[i].from_ns;
		span[2 * i + 1] = c->proc[i].to_ns ? c->proc[i].to_ns : UINT64_MAX;
		w.from_ns = span[2 * i] < w.from_ns ? span[2 * i] : w.from_ns;
		w.to_ns = span[2 * i + 1] > w.to_ns ? span[2 * i + 1] : w.to_ns;
	}
	w.process = id;
	w.processes = c->n;
	w.span = span;
	if (!err && c->n)
		err = store_trace_part(t, st, path, &w, NULL, NULL);
	err = err ? err : trace_seal(t);
	free(id);
	free(span);
	procs_fini(&ps);
	return err;
}

int node_capture_load(struct node_capture *c, struct store *st, const char *path,
		      struct trace **out)
{
	struct trace *t;
	int err = trace_new(&t);

	if (err) {
		snprintf(c->said, sizeof(c->said), "out of memory");
		return err;
	}
	err = load(c, st, path, t);
	if (err)
		snprintf(c->said, sizeof(c->said), "%.500s: %s", path, strerror(-err));
	if (!err && !c->n) {
		err = -ESRCH;
		snprintf(c->said, sizeof(c->said),
			 "%.400s: no such process was recorded in that time. See: aon ps --all",
			 path);
	}
	if (err) {
		trace_free(t);
		return err;
	}
	demangle_trace(t);
	*out = t;
	return 0;
}

int node_capture_store(struct node_capture *c, struct trace **out)
{
	struct store_why why = { "" };
	struct store *st;
	int err = store_open_ro(&st, c->store, &why);

	if (err) {
		snprintf(c->said, sizeof(c->said), "%s", why.text);
		return err;
	}
	err = node_capture_load(c, st, c->store, out);
	store_close(st);
	return err;
}

/* --- what is missing --- */

struct troubles {
	node_trouble_fn *fn;
	void *arg;
};

__attribute__((format(printf, 3, 4))) static void tell(const struct troubles *t, bool lacks,
						       const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	t->fn(t->arg, line, lacks);
}

static void trouble(const struct node_capture *c, const struct node_proc *p,
		    const struct troubles *t)
{
	char a[FMT_LEN];

	if (c->id && !*p->end)
		tell(t, true, "pid %u had ended: its past alone is in the trace", p->pid);
	if (!strcmp(p->end, "left"))
		tell(t, true,
		     "pid %u ended during the capture: what it did until then is in the trace",
		     p->pid);
	if (!strcmp(p->end, "late") && !p->step)
		tell(t, true, "pid %u has no steps: does it train? Capture it with --duration",
		     p->pid);
	else if (!strcmp(p->end, "late"))
		tell(t, true,
		     "pid %u was at step %" PRIu64 " of %" PRIu64 " to %" PRIu64 " after %" PRIu64
		     " s; wait longer: --timeout",
		     p->pid, p->step, p->first, p->last, c->want.timeout_ms / 1000);
	if (p->lost)
		tell(t, false,
		     "pid %u: %" PRIu64 " of %" PRIu64 " records of the capture were lost", p->pid,
		     p->lost, p->emitted);
	if (p->held_ns)
		tell(t, false, "pid %u: the flight recorder no longer holds the first %s", p->pid,
		     fmt_time(a, (p->held_ns < p->to_ns ? p->held_ns : p->to_ns) - p->from_ns));
	if (p->unsampled)
		tell(t, false, "pid %u: of %" PRIu64 " steps aond had left out all but ranges",
		     p->pid, p->unsampled);
}

void node_capture_troubles(const struct node_capture *c, node_trouble_fn *fn, void *arg)
{
	struct troubles t = { fn, arg };

	for (size_t i = 0; i < c->n; i++)
		trouble(c, &c->proc[i], &t);
	if (*c->error)
		tell(&t, true, "the store could not take all records: %s", c->error);
}
