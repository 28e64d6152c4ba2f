/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - allocated memory over time, from counters, and the low point of each part. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"
#include "insight/stretch.h"

/* What it has reserved or once had says nothing of what is kept. */
static bool is_allocated(const struct insight *in, uint32_t name)
{
	return strncmp(trace_text(in->t, name), "[memory] ", 9) != 0 ||
	       !strcmp(trace_text(in->t, name), TRACE_ALLOCATED) ||
	       !strcmp(trace_text(in->t, name), TRACE_RESIDENT);
}

static bool is_memory(const struct insight *in, const struct event *e)
{
	return e->kind == EVENT_COUNTER && !(e->flags & EVENT_FLOAT) && (int64_t)e->a >= 0 &&
	       names_range(in->names, e->name) == RANGE_MEMORY && is_allocated(in, e->name);
}

static struct insight_memory *find_row(struct insight *in, const struct event *e)
{
	uint32_t file = in->t->process[in->t->track[e->track].process].file;

	for (size_t i = 0; i < in->memories; i++)
		if (in->memory[i].file == file && in->memory[i].name == e->name)
			return &in->memory[i];
	return NULL;
}

static struct insight_memory *row_of(struct insight *in, const struct event *e)
{
	uint32_t file = in->t->process[in->t->track[e->track].process].file;
	struct insight_memory *m = find_row(in, e);

	if (m)
		return m;
	if (vec_more(&in->memory, in->memories, sizeof(*m)) < 0)
		return NULL;
	m = &in->memory[in->memories++];
	*m = (struct insight_memory){ .file = file, .name = e->name, .first_ns = UINT64_MAX };
	for (size_t i = 0; i < MEMORY_PARTS; i++)
		m->low[i] = UINT64_MAX;
	return m;
}

static void see(struct insight_memory *m, const struct event *e)
{
	m->samples++;
	if (e->start_ns < m->first_ns) {
		m->first_ns = e->start_ns;
		m->first = e->a;
	}
	if (e->start_ns >= m->last_ns) {
		m->last_ns = e->start_ns;
		m->last = e->a;
	}
	if (e->a > m->peak)
		m->peak = e->a;
}

int insight_reading(struct insight *in, const struct event *e)
{
	struct insight_memory *m;

	if (!is_memory(in, e))
		return 0;
	m = row_of(in, e);
	if (!m)
		return -ENOMEM;
	see(m, e);
	return 0;
}

int insight_memory_begin(struct insight *in)
{
	int err = 0;

	for (size_t i = 0; i < in->t->events && !err; i++)
		err = insight_reading(in, &in->t->event[i]);
	return err;
}

int insight_memory(struct insight *in)
{
	for (size_t i = 0; in->memories && i < in->t->events; i++) {
		const struct event *e = &in->t->event[i];
		struct insight_memory *m;
		uint64_t part;

		if (!is_memory(in, e))
			continue;
		m = find_row(in, e);
		if (!m || e->start_ns < m->first_ns || e->start_ns > m->last_ns)
			continue; /* has come since it was begun */
		part = (e->start_ns - m->first_ns) /
		       ((m->last_ns - m->first_ns) / MEMORY_PARTS + 1);
		if (e->a < m->low[part])
			m->low[part] = e->a;
	}
	return 0;
}

static int by_file_and_name(const void *a, const void *b)
{
	const struct insight_memory *x = a, *y = b;

	return cmp_num(x->file, y->file) ?: cmp_num(x->name, y->name);
}

int insight_memory_end(struct insight *in)
{
	if (in->memories)
		qsort(in->memory, in->memories, sizeof(*in->memory), by_file_and_name);
	return 0;
}
