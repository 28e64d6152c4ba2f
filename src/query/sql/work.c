/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - the table `work`: each piece of GPU work with the operator and module that launched it.
 * It joins as the report does, by launch, thread and sequence number, which in SQL would take
 * several joins.
 */
#include "sql/static_tables.h"

#include "insight/insight.h"

static void name(struct cells *c, const struct insight *in, enum insight_by by, uint32_t event)
{
	uint32_t id = insight_name(in, by, event);

	cell_text(c, id == UINT32_MAX ? NULL : trace_text(in->t, id));
}

static void put(struct cells *c, const struct insight *in, uint32_t i)
{
	const struct event *e = &in->t->event[i];
	const struct trace_track *l = &in->t->track[e->track];
	const struct insight_step *step = insight_step_of(in, i);
	int32_t rank = insight_rank(in->t, l->process);
	uint32_t launch = insight_launch(in, i);

	cell_int(c, (int64_t)e->start_ns);
	cell_int(c, (int64_t)e->dur_ns);
	cell_text(c, event_word(e->kind));
	cell_text(c, trace_text(in->t, e->name));
	cell_maybe(c, rank != TRACE_NO_RANK, rank);
	cell_int(c, (int64_t)in->t->process[l->process].pid);
	cell_int(c, in->t->device[l->device].device);
	cell_int(c, (int64_t)l->stream);
	cell_int(c, e->corr);
	cell_maybe(c, step, step ? (int64_t)step->number : 0);
	name(c, in, ROLL_OP, i);
	name(c, in, ROLL_MODULE, i);
	cell_maybe(c, launch != NO_EVENT,
		   launch != NO_EVENT ? (int64_t)in->t->event[launch].start_ns : 0);
}

int fill_work(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct insight *in = NULL;
	struct trace *t = NULL;
	int err = source_insight(src, &t, &in);

	(void)ask;
	for (size_t i = 0; err >= 0 && i < t->events && !c->err; i++)
		if (event_is_gpu(&t->event[i]) && t->track[t->event[i].track].device != TRACK_HOST)
			put(c, in, (uint32_t)i);
	insight_free(in);
	trace_free(t);
	return err < 0 ? err : c->err;
}
