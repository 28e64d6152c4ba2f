/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meet.c - collectives across ranks: which calls belong together, what they reveal about the ranks'
 * clocks, and which rank waited for which.
 *
 * A collective that carries its group and number is matched by them, any other by its name and
 * position among those of that name; where ranks ran different numbers of them, nothing is matched.
 * All ranks leave a collective together, so the median difference of the ends is the offset of two
 * clocks. The shortest duration among the ranks is the transfer: ranks that took longer waited
 * first.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "sim/build.h"

static uint64_t base_of(const struct trace *t, size_t event, bool *numbered)
{
	const struct trace_comm *c = NULL;

	if (t->event_comm && t->event_comm[event])
		c = &t->comm[t->event_comm[event] - 1];
	*numbered = c && c->sequence;
	if (c && c->group)
		return (1ull << 63) | ((uint64_t)c->group << 32) | c->name;
	return t->event[event].name;
}

static int by_base(const void *a, const void *b)
{
	const struct sim_part *x = a, *y = b;

	return cmp_num(x->base, y->base) ?: cmp_num(x->file, y->file) ?:
	       cmp_num(x->start, y->start);
}

static int by_meeting(const void *a, const void *b)
{
	const struct sim_part *x = a, *y = b;

	return cmp_num(x->base, y->base) ?: cmp_num(x->ordinal, y->ordinal) ?:
	       cmp_num(x->file, y->file);
}

/* All collectives of all files. */
static int collect(struct sim_build *b)
{
	const struct trace *t = b->g->trace;

	for (size_t l = 0; l < t->tracks; l++) {
		if (t->track[l].device == TRACK_HOST)
			continue;
		for (size_t i = t->track_first[l]; i < t->track_first[l + 1]; i++) {
			const struct event *e = &t->event[i];
			bool numbered;

			if ((e->kind != EVENT_KERNEL && e->kind != EVENT_COLLECTIVE) ||
			    !sim_is_comm(b->g, i))
				continue;
			if (vec_more(&b->meet, b->meets, sizeof(*b->meet)) < 0)
				return -ENOMEM;
			b->meet[b->meets] = (struct sim_part){
				.event = i,
				.base = base_of(t, i, &numbered),
				.start = (int64_t)e->start_ns,
				.end = (int64_t)(e->start_ns + e->dur_ns),
				.file = t->process[t->track[l].process].file,
				.task = SIM_NONE,
			};
			if (numbered)
				b->meet[b->meets].ordinal = t->comm[t->event_comm[i] - 1].sequence;
			b->meets++;
		}
	}
	return 0;
}

/* Gives those without a number their place in the row; drops rows of unequal length. */
static void number_them(struct sim_build *b)
{
	size_t kept = 0, i = 0;

	while (i < b->meets) {
		uint64_t base = b->meet[i].base;
		size_t end = i, files = 0, least = SIZE_MAX, most = 0, run = 0;
		bool numbered = b->meet[i].ordinal != 0;

		for (; end < b->meets && b->meet[end].base == base; end++) {
			bool first = end == i || b->meet[end].file != b->meet[end - 1].file;
			bool last = end + 1 == b->meets || b->meet[end + 1].base != base ||
				    b->meet[end + 1].file != b->meet[end].file;

			run = first ? 1 : run + 1;
			files += first;
			if (!numbered)
				b->meet[end].ordinal = run;
			if (last && run < least)
				least = run;
			if (last && run > most)
				most = run;
		}
		if (files > 1 && (numbered || least == most))
			while (i < end)
				b->meet[kept++] = b->meet[i++];
		i = end;
	}
	b->meets = kept;
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The first part of the same meeting behind `i`. */
static size_t meeting_end(const struct sim_build *b, size_t i)
{
	size_t end = i + 1;

	while (end < b->meets && b->meet[end].base == b->meet[i].base &&
	       b->meet[end].ordinal == b->meet[i].ordinal)
		end++;
	return end;
}

/* Offset of a file's clock to that of the first one it met. */
static int align_file(struct sim_build *b, uint32_t file, int64_t *diff)
{
	size_t n = 0;

	for (size_t i = 0, end; i < b->meets; i = end) {
		end = meeting_end(b, i);
		for (size_t k = i + 1; k < end && b->meet[i].file < file; k++)
			if (b->meet[k].file == file)
				diff[n++] = b->meet[i].end + b->g->offset[b->meet[i].file] -
					    b->meet[k].end;
	}
	qsort(diff, n, sizeof(*diff), by_value);
	b->g->offset[file] = n ? diff[n / 2] : 0;
	return 0;
}

int sim_align(struct sim_build *b)
{
	int64_t *diff;
	int err = collect(b);

	if (err < 0)
		return err;
	if (!b->meets)
		return 0;
	qsort(b->meet, b->meets, sizeof(*b->meet), by_base);
	number_them(b);
	qsort(b->meet, b->meets, sizeof(*b->meet), by_meeting);
	diff = malloc((b->meets + 1) * sizeof(*diff));
	if (!diff)
		return -ENOMEM;
	for (uint32_t f = 1; f < b->g->trace->files; f++)
		align_file(b, f, diff);
	free(diff);
	return 0;
}

/* --- edges --- */

/* One meeting: a task of no length when the last has come; nobody leaves before it. */
static int meet(struct sim_build *b, size_t from, size_t to)
{
	struct sim_graph *g = b->g;
	int64_t last = INT64_MIN, transfer = INT64_MAX;
	struct sim_task task = { .event = SIM_NO_EVENT, .kind = SIM_HOST };
	uint32_t id;
	int err;

	for (size_t i = from; i < to; i++) {
		uint32_t k = b->meet[i].task;
		int64_t dur = g->time[sim_end(k)] - g->time[sim_start(k)];

		if (g->time[sim_start(k)] > last) {
			last = g->time[sim_start(k)];
			task.track = g->task[k].track;
			task.file = g->task[k].file;
		}
		transfer = dur < transfer ? dur : transfer;
	}
	err = sim_task_add(g, &task, last, last, &id);
	for (size_t i = from; i < to && !err; i++) {
		uint32_t k = b->meet[i].task;

		err = sim_edge_add(g, sim_start(k), sim_start(id), 0, SIM_DEPEND);
		if (g->edge[g->task[k].own].lag > transfer)
			g->edge[g->task[k].own].lag = transfer;
		err = err ? err : sim_edge_add(g, sim_end(id), sim_end(k), transfer, SIM_COMM);
	}
	g->meetings++;
	return err;
}

/* The parts whose task is in the window; a meeting with one left is none. */
static void find_tasks(struct sim_build *b)
{
	const struct sim_graph *g = b->g;
	uint32_t *task_of = calloc(g->trace->events + 1, sizeof(*task_of));
	size_t kept = 0;

	for (uint32_t i = 0; task_of && i < g->tasks; i++)
		if (g->task[i].event != SIM_NO_EVENT)
			task_of[g->task[i].event] = i + 1;
	for (size_t i = 0; task_of && i < b->meets; i++)
		if (task_of[b->meet[i].event]) {
			b->meet[kept] = b->meet[i];
			b->meet[kept++].task = task_of[b->meet[i].event] - 1;
		}
	b->meets = kept;
	free(task_of);
}

int sim_build_meet(struct sim_build *b)
{
	int err = 0;

	if (b->meets)
		find_tasks(b);
	for (size_t i = 0, end; i < b->meets && !err; i = end) {
		end = meeting_end(b, i);
		if (end > i + 1)
			err = meet(b, i, end);
	}
	return err;
}
