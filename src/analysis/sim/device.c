/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - streams: work in order, the calls that launched it, the streams it depends on. */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "sim/build.h"

#define LAUNCH_MAX_NS 20000 /* the least time from a launch to a start is no more than this */

static bool is_work(const struct event *e)
{
	return e->kind == EVENT_KERNEL || e->kind == EVENT_COPY || e->kind == EVENT_MEMSET ||
	       e->kind == EVENT_GRAPH || e->kind == EVENT_COLLECTIVE;
}

static uint8_t kind_of(const struct sim_graph *g, size_t event)
{
	if (sim_is_comm(g, event))
		return SIM_COMM;
	return g->trace->event[event].kind == EVENT_COPY ||
			       g->trace->event[event].kind == EVENT_MEMSET
		       ? SIM_COPY
		       : SIM_COMPUTE;
}

static int read_stream(struct sim_build *b, uint32_t track)
{
	const struct trace *t = b->g->trace;
	uint32_t file = t->process[t->track[track].process].file, id;
	int err = 0;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1] && !err; i++) {
		const struct event *e = &t->event[i];
		int64_t start = (int64_t)e->start_ns + b->g->offset[file];
		struct sim_task task = { .event = i, .track = track, .file = file };

		if (!is_work(e) || !sim_in_window(b->g, start))
			continue;
		task.kind = kind_of(b->g, i);
		err = sim_task_add(b->g, &task, start, start + (int64_t)e->dur_ns, &id);
	}
	return err;
}

/* --- tasks by when they end --- */

struct ended {
	uint32_t process, task;
	int64_t end;
};

static int by_end(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	return cmp_num(x->process, y->process) ?: cmp_num(x->end, y->end);
}

static int index_ends(struct sim_build *b, uint32_t first)
{
	const struct sim_graph *g = b->g;
	size_t n = g->tasks - first;
	struct ended *e = malloc((n + 1) * sizeof(*e));

	b->by_end = malloc((n + 1) * sizeof(*b->by_end));
	if (!e || !b->by_end) {
		free(e);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t task = first + (uint32_t)i;

		e[i] = (struct ended){ .process = g->trace->track[g->task[task].track].process,
				       .task = task,
				       .end = g->time[sim_end(task)] };
		b->end_first[e[i].process + 1]++;
	}
	qsort(e, n, sizeof(*e), by_end);
	for (size_t i = 0; i < n; i++)
		b->by_end[i] = e[i].task;
	for (size_t p = 0; p < g->trace->processes; p++)
		b->end_first[p + 1] += b->end_first[p];
	free(e);
	return 0;
}

size_t sim_ends_behind(const struct sim_build *b, uint32_t process, int64_t at)
{
	return first_where(i, b->end_first[process], b->end_first[process + 1],
			   b->g->time[sim_end(b->by_end[i])] > at);
}

/* --- edges --- */

static uint32_t launched_by(const struct sim_build *b, uint32_t task)
{
	const struct sim_task *k = &b->g->task[task];
	const struct trace *t = b->g->trace;

	return sim_launch_get(&b->launch, t->track[k->track].process, t->event[k->event].corr);
}

/* The least time from a launch to its work that this recording shows, by file. */
static int64_t *least_launch(const struct sim_build *b, uint32_t first)
{
	const struct sim_graph *g = b->g;
	int64_t *least = malloc((g->trace->files + 1) * sizeof(*least));

	for (size_t f = 0; least && f <= g->trace->files; f++)
		least[f] = LAUNCH_MAX_NS;
	for (uint32_t i = first; least && i < g->tasks; i++) {
		uint32_t call = launched_by(b, i);
		int64_t lag;

		if (call == SIM_NONE)
			continue;
		lag = g->time[sim_start(i)] - g->time[sim_start(call)];
		if (lag >= 0 && lag < least[g->task[i].file])
			least[g->task[i].file] = lag;
	}
	return least;
}

/* Work that begins when another stream's ends, and later than anything known explains. */
static int depend(struct sim_build *b, uint32_t task, int64_t known)
{
	struct sim_graph *g = b->g;
	int64_t start = g->time[sim_start(task)];
	uint32_t track = g->task[task].track, process = g->trace->track[track].process;
	size_t i;

	if (start - known <= SIM_UNEXPLAINED_NS)
		return 0;
	for (i = sim_ends_behind(b, process, start); i > b->end_first[process]; i--) {
		uint32_t other = b->by_end[i - 1];
		int64_t end = g->time[sim_end(other)];

		if (start - end > (start - known) / 2)
			return 0;
		if (g->task[other].track != track && g->time[sim_start(other)] < end)
			return sim_edge_add(g, sim_end(other), sim_start(task), 0, SIM_DEPEND);
	}
	return 0;
}

static int link_task(struct sim_build *b, uint32_t task, uint32_t before, int64_t least)
{
	struct sim_graph *g = b->g;
	int64_t start = g->time[sim_start(task)], known = INT64_MIN / 2;
	uint32_t call = launched_by(b, task);
	int err = 0;

	if (before != SIM_NONE) {
		/* Work of one stream that overlaps (several graph nodes) still began in order. */
		bool apart = g->time[sim_end(before)] <= start;
		uint32_t from = apart ? sim_end(before) : sim_start(before);

		err = sim_edge_add(g, from, sim_start(task), 0, SIM_ORDER);
		known = g->time[from];
	}
	if (!err && call != SIM_NONE && g->time[sim_start(call)] <= start) {
		err = sim_edge_add(g, sim_start(call), sim_start(task), least, SIM_LAUNCH);
		if (g->time[sim_start(call)] + least > known)
			known = g->time[sim_start(call)] + least;
	}
	return err ? err : depend(b, task, known);
}

int sim_build_device(struct sim_build *b)
{
	const struct trace *t = b->g->trace;
	uint32_t first = (uint32_t)b->g->tasks;
	int64_t *least;
	int err = 0;

	for (uint32_t l = 0; l < t->tracks && !err; l++)
		if (t->track[l].device != TRACK_HOST)
			err = read_stream(b, l);
	err = err ? err : index_ends(b, first);
	if (err < 0)
		return err;
	least = least_launch(b, first);
	if (!least)
		return -ENOMEM;
	for (uint32_t i = first; i < b->g->tasks && !err; i++) {
		bool next = i > first && b->g->task[i - 1].track == b->g->task[i].track;

		err = link_task(b, i, next ? i - 1 : SIM_NONE, least[b->g->task[i].file]);
	}
	free(least);
	return err;
}
