/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsys_row.c - rows of an nsys export as events. One table of tables, for SQLite and Parquet alike:
 * which columns each row function gets, in which order. Versions differ in columns (3.13 has no clusters, some exports
 * no NVTX): what is missing reads as NULL, which counts as 0.
 */
#include <aon/provider.h>
#include <errno.h>
#include <string.h>

#include "import/nsys.h"

#define TID_BITS 24
#define TID_MASK ((1 << TID_BITS) - 1)

enum { NVTX_MARK = 34, NVTX_PUSH_POP = 59, NVTX_START_END = 60 };

static int64_t at(const struct import_cell *row, int col)
{
	return row[col].i;
}

static uint32_t u32(const struct import_cell *row, int col)
{
	int64_t v = at(row, col);

	return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* Columns 0 and 1. An end that is NULL or before the start is none. */
static int time_of(struct nsys *n, const struct import_cell *row, struct event *e)
{
	int64_t start, end = at(row, 1);

	if (row[0].type != CELL_INT || __builtin_add_overflow(at(row, 0), n->bias, &start) ||
	    start < 0 || start > INT64_MAX / 2)
		return -EBADMSG;
	e->start_ns = (uint64_t)start;
	if (row[1].type == CELL_INT && !__builtin_add_overflow(end, n->bias, &end) &&
	    end <= INT64_MAX / 2) {
		if (end < start)
			importing_file(n->im)->mended++;
		e->dur_ns = end > start ? (uint64_t)(end - start) : 0;
	}
	if (start + (int64_t)e->dur_ns > n->last_ns)
		n->last_ns = start + (int64_t)e->dur_ns;
	return 0;
}

/* A context is of one device, whatever a row of synchronisation says: there it may be 0. */
static int64_t device_of(const struct nsys *n, const struct trace_track *l, int64_t or_else)
{
	for (size_t i = n->first_track; i < n->t->tracks; i++) {
		const struct trace_track *k = &n->t->track[i];

		if (k->process == l->process && k->context == l->context && k->device != TRACK_HOST)
			return n->t->device[k->device].device;
	}
	return or_else;
}

/* Columns 2 to 6: device, stream, context, globalPid, correlationId. */
static int on_device(struct nsys *n, const struct import_cell *row, struct event *e)
{
	struct trace_track l = { .context = u32(row, 4) };
	int64_t device = at(row, 2), stream = at(row, 3);
	int err = time_of(n, row, e);

	if (!err && (device < 0 || device >= TRACK_HOST))
		err = -EBADMSG;
	l.stream = stream < 0 || stream == UINT32_MAX ? TRACE_NO_STREAM : (uint64_t)stream;
	err = err ? err : nsys_process(n, at(row, 5) >> TID_BITS, &l.process);
	if (!err && e->kind == EVENT_SYNC)
		device = device_of(n, &l, device);
	err = err ? err : trace_device(n->t, l.process, (uint32_t)device, &l.device);
	err = err ? err : trace_track(n->t, &l, &e->track);
	e->corr = u32(row, 6);
	return err;
}

static int on_thread(struct nsys *n, const struct import_cell *row, int64_t global, struct event *e)
{
	struct trace_track l = { .device = TRACK_HOST, .stream = (uint64_t)(global & TID_MASK) };
	int err = time_of(n, row, e);

	err = err ? err : nsys_process(n, global >> TID_BITS, &l.process);
	return err ? err : trace_track(n->t, &l, &e->track);
}

static int add(struct nsys *n, const struct event *e, int err)
{
	err = err ? err : trace_add(n->t, e, 0);
	return err ? err : 1;
}

static int kernel(struct nsys *n, const struct import_cell *row)
{
	struct event e = { .kind = EVENT_KERNEL };
	struct geo g = { .grid = { u32(row, 10), u32(row, 11), u32(row, 12) },
			 .block = { u32(row, 13), u32(row, 14), u32(row, 15) },
			 .regs = u32(row, 16),
			 .smem_static = u32(row, 17),
			 .smem_dynamic = u32(row, 18) };
	uint32_t geo = 0;
	int err = on_device(n, row, &e);

	for (int col = 7; col < 10 && !err && !e.name; col++)
		err = nsys_string(n, &row[col], &e.name);
	err = err ? err : trace_geo(n->t, &g, &geo);
	e.a = geo;
	e.b = (uint64_t)at(row, 19) & UINT32_MAX;
	return add(n, &e, err);
}

static int graph(struct nsys *n, const struct import_cell *row)
{
	struct event e = { .kind = EVENT_GRAPH };
	int err = on_device(n, row, &e);

	err = err ? err : trace_name(n->t, "CUDA graph", 10, &e.name);
	e.a = u32(row, 7);
	return add(n, &e, err);
}

static int copy(struct nsys *n, const struct import_cell *row)
{
	/* CUpti_ActivityMemcpyKind, then nsys' own for unified memory. */
	static const struct {
		const char *name;
		uint8_t dir;
	} kinds[] = {
		{ "Memcpy", AON_COPY_UNKNOWN },           { "Memcpy HtoD", AON_COPY_HTOD },
		{ "Memcpy DtoH", AON_COPY_DTOH },         { "Memcpy HtoA", AON_COPY_HTOD },
		{ "Memcpy AtoH", AON_COPY_DTOH },         { "Memcpy AtoA", AON_COPY_DTOD },
		{ "Memcpy AtoD", AON_COPY_DTOD },         { "Memcpy DtoA", AON_COPY_DTOD },
		{ "Memcpy DtoD", AON_COPY_DTOD },         { "Memcpy HtoH", AON_COPY_HTOH },
		{ "Memcpy PtoP", AON_COPY_PTOP },         { "Unified memory HtoD", AON_COPY_HTOD },
		{ "Unified memory DtoH", AON_COPY_DTOH }, { "Unified memory DtoD", AON_COPY_DTOD },
	};
	struct event e = { .kind = EVENT_COPY };
	uint32_t kind = u32(row, 8);
	int err = on_device(n, row, &e);

	kind = kind < sizeof(kinds) / sizeof(kinds[0]) ? kind : 0;
	err = err ? err : trace_name(n->t, kinds[kind].name, strlen(kinds[kind].name), &e.name);
	e.a = at(row, 7) > 0 ? (uint64_t)at(row, 7) : 0;
	e.flags = (uint8_t)(kinds[kind].dir << EVENT_COPY_SHIFT);
	e.b = (uint64_t)at(row, 11) & UINT32_MAX;
	/* 0 is pageable memory, and only the host has it. */
	for (int col = 9; col < 11; col++)
		if (row[col].type == CELL_INT && at(row, col) == 0)
			e.b |= TRACE_PAGEABLE;
	return add(n, &e, err);
}

static int set(struct nsys *n, const struct import_cell *row)
{
	struct event e = { .kind = EVENT_MEMSET };
	int err = on_device(n, row, &e);

	err = err ? err : trace_name(n->t, "Memset", 6, &e.name);
	e.a = at(row, 7) > 0 ? (uint64_t)at(row, 7) : 0;
	e.b = (uint64_t)at(row, 8) & UINT32_MAX;
	return add(n, &e, err);
}

static int sync(struct nsys *n, const struct import_cell *row)
{
	static const char *const kinds[] = { "Sync", "Event Sync", "Stream Wait Event",
					     "Stream Sync", "Context Sync" };
	struct event e = { .kind = EVENT_SYNC };
	uint32_t kind = u32(row, 7);
	int err = on_device(n, row, &e);

	kind = kind < sizeof(kinds) / sizeof(kinds[0]) ? kind : 0;
	err = err ? err : trace_name(n->t, kinds[kind], strlen(kinds[kind]), &e.name);
	return add(n, &e, err);
}

static int call(struct nsys *n, const struct import_cell *row)
{
	struct event e = { .kind = EVENT_API, .corr = u32(row, 3) };
	int err = on_thread(n, row, at(row, 2), &e);

	err = err ? err : nsys_string(n, &row[4], &e.name);
	if (!err && import_is_sync(trace_text(n->t, e.name), n->t->name[e.name].len))
		e.kind = EVENT_SYNC;
	return add(n, &e, err);
}

static int os_call(struct nsys *n, const struct import_cell *row)
{
	struct event e = { .kind = EVENT_RANGE, .a = TRACE_OTHER_HOST };
	int err = on_thread(n, row, at(row, 2), &e);

	err = err ? err : nsys_string(n, &row[3], &e.name);
	return add(n, &e, err);
}

/* "aten::mm, seq = 5, op_id = 7, sizes = ..." of PyTorch's emit_nvtx() is an op: its numbers go. */
static int range_name(struct nsys *n, const struct import_cell *row, struct event *e)
{
	const char *s = row[4].s, *end, *other;

	if (!s)
		return nsys_string(n, &row[5], &e->name);
	end = memmem(s, row[4].len, ", op_id = ", 10);
	other = memmem(s, row[4].len, ", seq = ", 8);
	if (other && (!end || other < end))
		end = other;
	if (end)
		e->a = TRACE_OP;
	return trace_name(n->t, s, end ? (size_t)(end - s) : row[4].len, &e->name);
}

static int nvtx(struct nsys *n, const struct import_cell *row)
{
	struct event e = { .kind = EVENT_RANGE, .a = TRACE_USER };
	int64_t type = at(row, 3);
	uint64_t step;
	int err;

	if (type != NVTX_MARK && type != NVTX_PUSH_POP && type != NVTX_START_END)
		return 0; /* names of categories and domains, payload schemas */
	err = on_thread(n, row, at(row, 2), &e);
	err = err ? err : range_name(n, row, &e);
	if (err)
		return err;
	if (type == NVTX_MARK) {
		e.kind = EVENT_MARK;
		e.a = 0;
	} else if (row[1].type != CELL_INT) {
		e.flags = EVENT_OPEN;
		e.dur_ns = n->last_ns > (int64_t)e.start_ns ? (uint64_t)n->last_ns - e.start_ns : 0;
	} else if (import_step(trace_text(n->t, e.name), n->t->name[e.name].len, &step)) {
		e.kind = EVENT_STEP;
		e.a = step;
	}
	return add(n, &e, 0);
}

static int memory(struct nsys *n, const struct import_cell *row)
{
	struct event e = { .kind = EVENT_ALLOC };
	int err = on_device(n, row, &e);

	e.dur_ns = 0;
	e.flags = (uint8_t)((at(row, 9) == 1 ? 2u : 1u) << EVENT_COPY_SHIFT);
	e.a = at(row, 7) > 0 ? (uint64_t)at(row, 7) : 0;
	e.b = (uint64_t)at(row, 8);
	return add(n, &e, err);
}

/* --- what is no event --- */

static int process(struct nsys *n, const struct import_cell *row)
{
	for (size_t i = 0; i < n->processes; i++) {
		struct trace_process *p = &n->t->process[n->process[i].id];

		if (n->process[i].global != at(row, 0) >> TID_BITS)
			continue;
		p->pid = (uint64_t)at(row, 1);
		return row[2].s ? trace_name(n->t, row[2].s, row[2].len, &p->name) : 0;
	}
	return 0; /* of which nothing was recorded */
}

static int thread_name(struct nsys *n, const struct import_cell *row)
{
	int64_t global = at(row, 0);

	for (size_t i = 0; i < n->processes; i++) {
		if (n->process[i].global != global >> TID_BITS)
			continue;
		for (size_t j = n->first_track; j < n->t->tracks; j++) {
			struct trace_track *l = &n->t->track[j];

			if (l->process == n->process[i].id && l->device == TRACK_HOST &&
			    l->stream == (uint64_t)(global & TID_MASK))
				return nsys_string(n, &row[1], &l->name);
		}
	}
	return 0; /* without events */
}

static int device(struct nsys *n, const struct import_cell *row)
{
	for (size_t i = n->first_device; i < n->t->devices; i++) {
		struct trace_device *d = &n->t->device[i];

		if (d->device != at(row, 0))
			continue;
		d->sms = u32(row, 2);
		d->memory_bytes = at(row, 3) > 0 ? (uint64_t)at(row, 3) : 0;
		if (row[1].s && trace_name(n->t, row[1].s, row[1].len, &d->name) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int session(struct nsys *n, const struct import_cell *row)
{
	importing_file(n->im)->wall_offset_ns = at(row, 0) - n->bias;
	return 0;
}

#define ON_DEVICE "start", "end", "deviceId", "streamId", "contextId", "globalPid", "correlationId"

/* clang-format off */
const struct nsys_table nsys_tables[] = {
	{ "CUPTI_ACTIVITY_KIND_RUNTIME", call, 2, true,
	  { "start", "end", "globalTid", "correlationId", "nameId" } },
	{ "CUPTI_ACTIVITY_KIND_KERNEL", kernel, 4, true,
	  { ON_DEVICE, "demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ",
	    "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
	    "dynamicSharedMemory", "graphNodeId" } },
	{ "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph, 4, true, { ON_DEVICE, "graphId" } },
	{ "CUPTI_ACTIVITY_KIND_MEMCPY", copy, 4, true,
	  { ON_DEVICE, "bytes", "copyKind", "srcKind", "dstKind", "graphNodeId" } },
	{ "CUPTI_ACTIVITY_KIND_MEMSET", set, 4, true, { ON_DEVICE, "bytes", "graphNodeId" } },
	{ "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync, 4, true, { ON_DEVICE, "syncType" } },
	{ "OSRT_API", os_call, 2, true, { "start", "end", "globalTid", "nameId" } },
	{ "CUDA_GPU_MEMORY_USAGE_EVENTS", memory, 1, true,
	  { "start", "end", "deviceId", "streamId", "contextId", "globalPid", "correlationId",
	    "bytes", "address", "memoryOperationType" } },
	{ "NVTX_EVENTS", nvtx, 3, true,
	  { "start", "end", "globalTid", "eventType", "text", "textId" } },
	{ "PROCESSES", process, 2, false, { "globalPid", "pid", "name" } },
	{ "ThreadNames", thread_name, 2, false, { "globalTid", "nameId" } },
	{ "TARGET_INFO_GPU", device, 2, false, { "id", "name", "smCount", "totalMemory" } },
	{ "TARGET_INFO_SESSION_START_TIME", session, 1, false, { "utcEpochNs" } },
};
/* clang-format on */
const size_t nsys_table_count = sizeof(nsys_tables) / sizeof(nsys_tables[0]);
