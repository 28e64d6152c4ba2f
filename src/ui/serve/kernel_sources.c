/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_sources.c - see kernel_sources.h. */
#include "serve/kernel_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/vec.h"
#include "read/gather.h"
#include "store/store.h"

/* --- from events --- */

static void take_roof(struct krow *r, const struct roof_name *n)
{
	enum roof_limit limit = n ? roof_name_limit(n) : ROOF_UNKNOWN;

	if (!limit)
		return;
	r->bound = roof_limit_word[limit];
	r->limit = roof_name_fraction(n);
}

void fill_rest(struct krows *rs, const struct insight *in, enum insight_by by, bool ranks)
{
	const struct insight_table *tab = &in->roll[by];

	for (size_t i = 0; i < tab->rows; i++) {
		const struct insight_row *from = &tab->row[i];
		struct krow *r = krows_of(rs, trace_text(in->t, from->name),
					  ranks ? from->rank : TRACE_NO_RANK);

		if (r && r->calls == from->count) {
			r->p50 = from->p50_ns;
			r->p99 = from->p99_ns;
		}
		if (r && by == ROLL_KERNEL && !r->bound)
			take_roof(r, roofs_name(&in->roofs, from->name));
	}
}

int fill_insight(struct krows *rs, const struct insight *in, enum insight_by by, bool ranks)
{
	const struct trace *t = in->t;
	int err = 0;

	for (size_t i = 0; i < t->events && !err; i++) {
		const struct event *e = &t->event[i];
		enum kclass class;
		uint32_t name;
		struct krow *r;

		if (!event_is_gpu(e) || t->track[e->track].device == TRACK_HOST)
			continue;
		name = insight_name(in, by, (uint32_t)i);
		if (name == UINT32_MAX)
			continue;
		r = krows_of(rs, trace_text(t, name),
			     ranks ? insight_rank(t, t->track[e->track].process) : TRACE_NO_RANK);
		if (!r)
			return -ENOMEM;
		/* The class of an op is the class of its longest kernel. */
		class = insight_class(in, i);
		if (!r->calls || e->dur_ns > r->max || (e->dur_ns == r->max && class < r->class))
			r->class = class;
		err = krow_add(r, e->dur_ns,
			       e->kind == EVENT_COPY || e->kind == EVENT_MEMSET ? e->a : 0);
		krow_trend(rs, r, e->start_ns, e->start_ns + e->dur_ns, e->dur_ns);
	}
	return err;
}

int fill_events(struct krows *rs, const struct analysis *an, const struct run *run,
		enum insight_by by, bool ranks)
{
	int err;

	rs->from_ns = an->from_ns > run->t0 ? an->from_ns : run->t0;
	rs->to_ns = an->to_ns;
	err = fill_insight(rs, an->in, by, ranks);
	fill_rest(rs, an->in, by, ranks);
	return err;
}

/* --- from rollups --- */

/* Adds each cell of the sketch to the matching cell of the histogram. */
static void hist_add(struct krow *r, const struct sketch *s)
{
	for (uint32_t i = 0; i < s->span; i++) {
		uint64_t ns = sketch_value(s->base + i);
		uint32_t bits = ns ? 64u - (uint32_t)__builtin_clzll(ns) : 0;
		uint32_t cell = bits < 6 ? 0 : bits - 6;

		r->hist[cell < ROW_CELLS ? cell : ROW_CELLS - 1] += s->cell[i];
	}
}

/* Sums of one process over time. */
struct trends {
	struct krows *rs;
	const struct gather *g;
	int32_t rank;
};

static int take_rollup(struct krows *rs, const struct gather *g, const struct gather_row *from,
		       const struct names *names, int32_t rank)
{
	const char *name = gather_name(g, from);
	struct krow *r = krows_of(rs, name, rank);

	if (!r)
		return -ENOMEM;
	if (r->class == NO_CLASS)
		r->class = names_work_text(names, from->kind, name);
	if (from->roof.known_ns)
		take_roof(r, &from->roof);
	r->ns += from->total_ns;
	r->calls += from->count;
	r->bytes += from->bytes;
	r->min = from->min_ns < r->min ? from->min_ns : r->min;
	r->max = from->max_ns > r->max ? from->max_ns : r->max;
	hist_add(r, &from->sketch);
	return sketch_merge(&r->sketch, &from->sketch);
}

static int on_trend(void *arg, const struct window *w)
{
	struct trends *t = arg;

	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *u = &w->row[i];
		struct gather_row as = { .name = u->name };
		struct krow *r;

		if (u->kind >= 32 || !(GATHER_GPU & 1u << u->kind))
			continue;
		r = krows_of(t->rs, gather_name(t->g, &as), t->rank);
		if (!r)
			return -ENOMEM;
		krow_trend(t->rs, r, w->start_ns, w->start_ns + WINDOW_NS, u->total_ns);
	}
	return 0;
}

static int fill_process(struct krows *rs, struct ask *q, const struct process *p,
			const struct names *names, bool ranks)
{
	int32_t rank = ranks ? (int32_t)p->origin.rank - 1 : TRACE_NO_RANK;
	const struct gather_row **row;
	struct gather g;
	uint64_t sum;
	size_t n;
	int err = gather_init(&g, q->run.src->st, BY_NAME);

	if (err < 0)
		return err;
	err = gather_process(&g, p, 0, false);
	row = err ? NULL : gather_sorted(&g, GATHER_GPU, &n, &sum);
	for (size_t i = 0; row && i < n && !err; i++)
		err = take_rollup(rs, &g, row[i], names, rank);
	free(row);
	err = err ? err
		  : store_each_window(q->run.src->st,
				      &(struct store_filter){ .process = &p->id, .processes = 1 },
				      on_trend, &(struct trends){ rs, &g, rank });
	gather_fini(&g);
	return err;
}

int fill_rollups(struct krows *rs, struct ask *q, bool ranks)
{
	static const struct trace no_trace;
	struct names *names = NULL;
	const char *list;
	int err = ask_ranks(q, &list);

	err = err ? err : names_new(&names, &no_trace);
	rs->from_ns = q->run.t0;
	rs->to_ns = q->run.t1 + 1;
	for (size_t i = 0; i < q->run.processes && !err; i++)
		if (url_listed(list, (int64_t)q->run.process[i].origin.rank - 1))
			err = fill_process(rs, q, &q->run.process[i], names, ranks);
	names_free(names);
	return err;
}

/* --- from columns --- */

#define GPU_KINDS (GATHER_GPU | 1u << EVENT_GRAPH)

struct columns {
	struct krows *rs;
	struct ask *q;
	struct names *names;
	uint64_t from_ns, to_ns;
	bool ranged;
	int32_t rank;
	uint32_t *row; /* owned: index into rs->row, plus 1, by name in the store; for this rank */
	size_t rows;
};

static struct krow *column_row(struct columns *c, uint32_t id, uint32_t kind)
{
	const char *name;
	struct krow *r;

	if (vec_room0(&c->row, &c->rows, (size_t)id + 1, sizeof(*c->row)) < 0)
		return NULL;
	if (c->row[id])
		return &c->rs->row[c->row[id] - 1];
	name = store_name_text(c->q->run.src->st, id);
	demangle_learn(&name, 1);
	name = demangle(name);
	r = krows_of(c->rs, name, c->rank);
	if (!r)
		return NULL;
	if (r->class == NO_CLASS)
		r->class = names_work_text(c->names, kind, name);
	c->row[id] = (uint32_t)(r - c->rs->row) + 1;
	return r;
}

static int on_columns(void *arg, uint32_t process, const struct event_columns *e)
{
	struct columns *c = arg;
	int err = 0;

	(void)process;
	for (size_t i = 0; i < e->n && !err; i++) {
		uint32_t kind = e->kind[i];
		struct krow *r;

		if (c->ranged && e->start_ns[i] < c->from_ns)
			continue;
		r = column_row(c, e->name[i], kind);
		if (!r)
			return -ENOMEM;
		err = krow_add(r, e->dur_ns[i],
			       kind == EVENT_COPY || kind == EVENT_MEMSET ? e->a[i] : 0);
		krow_trend(c->rs, r, e->start_ns[i], e->start_ns[i] + e->dur_ns[i], e->dur_ns[i]);
	}
	return err;
}

/* An event counts as a whole if it began in the range. */
int fill_columns(struct krows *rs, struct ask *q, bool ranks)
{
	static const struct trace no_trace;
	struct columns c = { .rs = rs, .q = q };
	uint32_t cols = EVENT_COL_NAME | EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A;
	uint64_t t0, t1;
	const char *list;
	int err = ask_range(q, &t0, &t1);

	err = err ? err : ask_ranks(q, &list);
	err = err ? err : names_new(&c.names, &no_trace);
	if (err < 0)
		return err;
	c.ranged = t0 || t1 != UINT64_MAX;
	c.from_ns = q->run.t0 + t0;
	c.to_ns = t1 == UINT64_MAX ? UINT64_MAX : q->run.t0 + t1;
	rs->from_ns = c.from_ns;
	rs->to_ns = c.to_ns < q->run.t1 ? c.to_ns : q->run.t1 + 1;
	for (size_t i = 0; i < q->run.processes && !err; i++) {
		const struct process *p = &q->run.process[i];
		struct store_filter f = { .process = &p->id, .processes = 1, .kinds = GPU_KINDS };

		if (!url_listed(list, (int64_t)p->origin.rank - 1))
			continue;
		f.from_ns = c.ranged ? c.from_ns : 0;
		f.to_ns = c.ranged && t1 != UINT64_MAX ? c.to_ns : 0;
		c.rank = ranks ? (int32_t)p->origin.rank - 1 : TRACE_NO_RANK;
		if (c.rows)
			memset(c.row, 0, c.rows * sizeof(*c.row));
		err = store_each_events(q->run.src->st, &f, cols, on_columns, &c);
	}
	free(c.row);
	names_free(c.names);
	return err;
}
