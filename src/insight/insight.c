/* SPDX-License-Identifier: Apache-2.0 */
/* insight.c - everything that reports and findings read, computed once; see insight.h. */
#include "insight/insight.h"

#include <errno.h>
#include <stdlib.h>

#define BREAKDOWN_PASSES 4u

static int analyse(struct insight **out, const struct trace *t, size_t passes)
{
	static int (*const pass[])(struct insight *) = {
		insight_link,   insight_hosts, insight_devices, insight_steps,  insight_ops,
		insight_tables, insight_work,  insight_waits,   insight_memory,
	};
	struct insight *in;
	int err;

	if (!t->lane_first || t->events >= NO_EVENT)
		return -EINVAL;
	in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	in->t = t;
	for (size_t i = 0; i < t->events; i++)
		in->kinds[t->event[i].kind % EVENT_MAX]++;
	err = names_new(&in->names, t);
	for (size_t i = 0; i < sizeof(pass) / sizeof(pass[0]) && i < passes && !err; i++)
		err = pass[i](in);
	if (err < 0) {
		insight_free(in);
		return err;
	}
	*out = in;
	return 0;
}

int insight_new(struct insight **out, const struct trace *t)
{
	return analyse(out, t, SIZE_MAX);
}

int insight_new_breakdown(struct insight **out, const struct trace *t)
{
	return analyse(out, t, BREAKDOWN_PASSES);
}

void insight_free(struct insight *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->devices; i++)
		sketch_fini(&in->device[i].launch.delay);
	for (size_t i = 0; i < in->streams; i++)
		sketch_fini(&in->stream[i].launch.delay);
	for (size_t i = 0; i < SPAN_KINDS; i++) {
		free(in->spans[i].span);
		free(in->spans[i].lane_first);
	}
	for (size_t i = 0; i < ROLLS; i++)
		free(in->roll[i].row);
	for (size_t i = 0; i < HOST_ROLLS; i++)
		free(in->on_host[i].row);
	free(in->own_op);
	free(in->through);
	free(in->work.row);
	names_free(in->names);
	free(in->link);
	free(in->device);
	free(in->stream);
	free(in->step);
	free(in->host);
	free(in->waits.rank);
	free(in->memory);
	free(in);
}
