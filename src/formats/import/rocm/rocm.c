/* SPDX-License-Identifier: Apache-2.0 */
/* rocm.c - rows of rocprofv3 as events; see rocm.h. */
#include "import/rocm/rocm.h"

#include <aon/provider.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define AGENTS_MAX 4096u /* a node has a few dozen */

int rocm_agent_add(struct rocm *r, const struct rocm_agent *a)
{
	if (r->agents >= AGENTS_MAX)
		return 0;
	if (vec_more(&r->agent, r->agents, sizeof(*a)) < 0)
		return -ENOMEM;
	r->agent[r->agents++] = *a;
	return 0;
}

void rocm_fini(struct rocm *r)
{
	free(r->agent);
	r->agent = NULL;
	r->agents = 0;
	map_fini(&r->held);
}

static const struct rocm_agent *find_agent(const struct rocm *r, uint64_t id)
{
	for (size_t i = 0; i < r->agents; i++)
		if (r->agent[i].id == id)
			return &r->agent[i];
	return NULL;
}

static int time_of(struct rocm *r, const struct rocm_row *row, struct event *e)
{
	if (!row->timed || row->start < 0 || row->start > INT64_MAX / 2 || row->end > INT64_MAX / 2)
		return -EBADMSG;
	importing_file(r->im)->mended += row->end < row->start;
	e->start_ns = (uint64_t)row->start;
	e->dur_ns = row->end > row->start ? (uint64_t)(row->end - row->start) : 0;
	e->corr = (uint32_t)row->corr;
	e->name = row->name;
	return 0;
}

/* A stream of HIP has its number; a queue without one is a track of its own. */
static int on_device(struct rocm *r, const struct rocm_row *row, const struct rocm_agent *a,
		     struct event *e)
{
	struct trace_track l = { .process = r->process,
				 .context = !row->stream && row->queue,
				 .stream = row->stream ? row->stream : row->queue };
	struct trace_device *d;
	int err = time_of(r, row, e);

	if (!err && !a)
		err = -EBADMSG;
	err = err ? err : trace_device(r->t, r->process, a->index, &l.device);
	if (err)
		return err;
	d = &r->t->device[l.device];
	d->name = a->name ? a->name : d->name;
	d->sms = a->units ? a->units : d->sms;
	if (e->kind == EVENT_ALLOC) {
		l.context = 0;
		l.stream = TRACE_NO_STREAM;
	}
	return trace_track(r->t, &l, &e->track);
}

static int on_thread(struct rocm *r, const struct rocm_row *row, struct event *e)
{
	struct trace_track l = { .process = r->process,
				 .device = TRACK_HOST,
				 .stream = row->thread };
	int err = time_of(r, row, e);

	return err ? err : trace_track(r->t, &l, &e->track);
}

static int add(struct rocm *r, const struct event *e, int err)
{
	err = err ? err : trace_add(r->t, e, 0);
	return err ? err : 1;
}

static void blocks(struct geo *g)
{
	for (int i = 0; i < 3; i++)
		if (g->block[i])
			g->grid[i] = g->grid[i] / g->block[i] + (g->grid[i] % g->block[i] != 0);
}

int rocm_kernel(struct rocm *r, const struct rocm_row *row)
{
	struct event e = { .kind = EVENT_KERNEL };
	struct geo g = row->geo;
	uint32_t geo = 0;
	int err = on_device(r, row, find_agent(r, row->agent), &e);

	blocks(&g);
	err = err ? err : trace_geo(r->t, &g, &geo);
	e.a = geo;
	return add(r, &e, err);
}

int rocm_copy(struct rocm *r, const struct rocm_row *row)
{
	const struct rocm_agent *to = find_agent(r, row->agent), *from = find_agent(r, row->from);
	struct event e = { .kind = EVENT_COPY, .a = row->bytes };
	unsigned dir = AON_COPY_UNKNOWN;
	int err;

	if (to && from) {
		if (to->gpu && from->gpu)
			dir = to == from ? AON_COPY_DTOD : AON_COPY_PTOP;
		else
			dir = to->gpu ? AON_COPY_HTOD : from->gpu ? AON_COPY_DTOH : AON_COPY_HTOH;
	}
	e.flags = (uint8_t)(dir << EVENT_COPY_SHIFT);
	if (dir == AON_COPY_HTOH)
		err = on_thread(r, row, &e);
	else
		err = on_device(r, row, to && to->gpu ? to : from && from->gpu ? from : NULL, &e);
	return add(r, &e, err);
}

/* roctxRangePop() and its like: the range itself has a row of its own. */
static bool is_end(const char *name)
{
	return !strncmp(name, "roctxRangePop", 13) || !strncmp(name, "roctxRangeStop", 14);
}

int rocm_call(struct rocm *r, const struct rocm_row *row, const char *domain, uint32_t message)
{
	const char *name = trace_text(r->t, row->name);
	struct event e = { .kind = EVENT_API };
	uint64_t step;
	int err = on_thread(r, row, &e);

	if (err)
		return err;
	if (strncmp(domain, "MARKER_", 7)) {
		if (import_is_sync(name, strlen(name)))
			e.kind = EVENT_SYNC;
		return add(r, &e, 0);
	}
	if (is_end(name))
		return 0;
	e.corr = 0;
	e.name = message ? message : row->name;
	if (row->start == row->end || strstr(name, "Mark")) {
		e.kind = EVENT_MARK;
		return add(r, &e, 0);
	}
	e.kind = EVENT_RANGE;
	e.a = message ? TRACE_USER : TRACE_OTHER_HOST;
	if (message && import_step(trace_text(r->t, message), r->t->name[message].len, &step)) {
		e.kind = EVENT_STEP;
		e.a = step;
	}
	return add(r, &e, 0);
}

/* A row that frees names neither device nor size: both are those of what was allocated there. */
int rocm_memory(struct rocm *r, const struct rocm_row *row, bool frees)
{
	const struct rocm_agent *a = find_agent(r, row->agent);
	struct event e = { .kind = EVENT_ALLOC, .a = row->bytes, .b = row->address };
	uint64_t *held = frees ? map_find(&r->held, row->address) : NULL;
	struct rocm_row as = *row;
	int err;

	if (frees && !held)
		return row->timed ? 0 : -EBADMSG; /* allocated before the recording began */
	if (held) {
		a = find_agent(r, r->agent[*held >> 48].id);
		e.a = (*held & ((1ull << 48) - 1)) - 1;
	}
	as.end = as.start;
	err = a && a->gpu ? on_device(r, &as, a, &e) : on_thread(r, &as, &e);
	e.corr = e.name = 0;
	e.flags = (uint8_t)((frees ? 2u : 1u) << EVENT_COPY_SHIFT);
	/* The agent above, bytes + 1 below: no device has 256 TiB. */
	if (!err && !frees && a && row->bytes < (1ull << 48) - 1)
		err = map_put(&r->held, row->address,
			      (uint64_t)(a - r->agent) << 48 | (row->bytes + 1));
	return add(r, &e, err);
}
