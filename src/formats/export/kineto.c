/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.c - a trace as PyTorch's profiler writes it: Chrome JSON with Kineto's categories and
 * arguments, one rank a file. HTA, TensorBoard's plugin and aon's own import read it.
 *
 * Microseconds have three decimals, so that no nanosecond is lost. For what Kineto has no category:
 * a collective of NCCL's plugin is written as an annotation (its kernel is a kernel), and a graph
 * that was recorded as a whole as a kernel.
 */
#include <ctype.h>
#include <string.h>

#include "base/num.h"
#include "export/walk.h"
#include "model/dtype.h"

#define ID_OF_NAME (1ull << 63) /* of a pid or tid: no number, but a name (import) */

static const char *const range_cat[] = {
	[0] = "user_annotation",
	[TRACE_OP] = "cpu_op",
	[TRACE_USER] = "user_annotation",
	[TRACE_PYTHON] = "python_function",
	[TRACE_GPU_USER] = "gpu_user_annotation",
	[TRACE_OTHER_HOST] = "other",
	[TRACE_MODULE] = "user_annotation",
	[TRACE_DEVICE_OP] = "cpu_op",
};

/* "cuLaunchKernel" is the driver's, "cudaLaunchKernel" the runtime's. */
static const char *call_cat(const char *name)
{
	return name[0] == 'c' && name[1] == 'u' && isupper((unsigned char)name[2]) ? "cuda_driver"
										   : "cuda_runtime";
}

static const char *category(const struct walk *w, const struct event *e, bool device)
{
	switch (e->kind) {
	case EVENT_KERNEL:
	case EVENT_GRAPH:
		return "kernel";
	case EVENT_COPY:
		return "gpu_memcpy";
	case EVENT_MEMSET:
		return "gpu_memset";
	case EVENT_SYNC:
		return device ? "cuda_sync" : "cuda_runtime";
	case EVENT_API:
		return call_cat(walk_name(w, e->name));
	case EVENT_RANGE:
		if (device)
			return "gpu_user_annotation";
		return range_cat[e->a < sizeof(range_cat) / sizeof(*range_cat) ? e->a : 0];
	case EVENT_COLLECTIVE:
		return device ? "gpu_user_annotation" : "user_annotation";
	case EVENT_STEP:
		return "user_annotation";
	default:
		return NULL;
	}
}

/* --- pieces of a row --- */

static void put_us(struct json *j, const char *key, uint64_t ns)
{
	char text[NUM_LEN + 4], *at = num_text(text, ns / 1000);

	for (unsigned i = 0, rest = (unsigned)(ns % 1000); i < 3; i++, rest /= 10)
		text[NUM_LEN + 2 - i] = (char)('0' + rest % 10);
	text[NUM_LEN - 1] = '.';
	text[NUM_LEN + 3] = '\0';
	json_token(j, key, at);
}

static void put_id(struct walk *w, const char *key, uint64_t id)
{
	if (id == TRACE_NO_STREAM)
		json_i64(&w->j, key, -1);
	else if (id & ID_OF_NAME)
		json_str(&w->j, key, walk_name(w, (uint32_t)id));
	else
		json_u64(&w->j, key, id);
}

static void put_place(struct walk *w, const struct trace_track *l)
{
	const struct trace *t = w->t;

	put_id(w, "pid",
	       l->device == TRACK_HOST ? t->process[l->process].pid : t->device[l->device].device);
	put_id(w, "tid", l->stream);
}

static void begin_row(struct walk *w, const char *ph)
{
	json_line(&w->j);
	json_open(&w->j, NULL, '{');
	json_str(&w->j, "ph", ph);
}

static void put_three(struct json *j, const char *key, const uint32_t v[3])
{
	json_open(j, key, '[');
	for (int i = 0; i < 3; i++)
		json_u64(j, NULL, v[i]);
	json_close(j);
}

static void put_comm(struct walk *w, const struct event *e)
{
	uint32_t id = w->t->event_comm ? w->t->event_comm[e - w->t->event] : 0;
	const struct trace_comm *c = id ? &w->t->comm[id - 1] : NULL;
	unsigned each = c ? dtype_bytes(walk_name(w, c->dtype), strlen(walk_name(w, c->dtype))) : 0;
	struct json *j = &w->j;

	if (!c)
		return;
	json_str(j, "Collective name", walk_name(w, c->name));
	json_str(j, "Process Group Name", walk_name(w, c->group));
	json_str(j, "dtype", walk_name(w, c->dtype));
	json_u64(j, "Group size", c->size);
	json_u64(j, "Seq", c->sequence);
	if (each) {
		json_u64(j, "In msg nelems", c->bytes_in / each);
		json_u64(j, "Out msg nelems", c->bytes_out / each);
	}
}

static void put_work(struct walk *w, const struct event *e)
{
	const struct geo *g =
		e->kind == EVENT_KERNEL && e->a && e->a < w->t->geos ? &w->t->geo[e->a] : NULL;
	struct json *j = &w->j;

	if (g && (g->grid[0] || g->block[0])) {
		put_three(j, "grid", g->grid);
		put_three(j, "block", g->block);
	}
	if (g) {
		json_u64(j, "registers per thread", g->regs);
		json_u64(j, "shared memory", g->smem_static + g->smem_dynamic);
	}
	if (e->kind == EVENT_COPY || e->kind == EVENT_MEMSET)
		json_u64(j, "bytes", e->a);
	if (e->kind != EVENT_SYNC && trace_node(e))
		json_u64(j, "graph node id", trace_node(e));
	if (e->kind == EVENT_SYNC && e->a)
		json_u64(j, "wait_on_stream", e->a - 1);
	if (e->kind == EVENT_SYNC && (uint32_t)e->b)
		json_u64(j, "wait_on_cuda_event_record_corr_id", (uint32_t)e->b);
}

static void put_args(struct walk *w, const struct event *e, const struct trace_track *l)
{
	/* HTA takes a row with a stream for GPU work, and annotations of streams have none. */
	bool device =
		l->device != TRACK_HOST && e->kind != EVENT_RANGE && e->kind != EVENT_COLLECTIVE;
	struct json *j = &w->j;

	json_open(j, "args", '{');
	json_u64(j, "External id", e->kind == EVENT_COLLECTIVE ? 0 : trace_external(e));
	if (device) {
		json_u64(j, "device", w->t->device[l->device].device);
		json_u64(j, "context", l->context);
		put_id(w, "stream", l->stream);
	}
	if (e->kind != EVENT_RANGE && e->kind != EVENT_STEP && e->kind != EVENT_COLLECTIVE &&
	    (e->corr || device))
		json_u64(j, "correlation", e->corr);
	if (device && (link_is_work(e) || e->kind == EVENT_SYNC))
		put_work(w, e);
	if (e->kind == EVENT_COLLECTIVE) {
		/* Kineto's words have no key for these of NCCL's plugin. */
		json_u64(j, "bytes", e->a);
		if (!w->t->event_comm || !w->t->event_comm[e - w->t->event])
			json_u64(j, "Seq", e->b);
	}
	if (e->kind == EVENT_RANGE && e->a == TRACE_OP && trace_op_sequence(e)) {
		json_u64(j, "Sequence number", trace_op_sequence(e));
		json_u64(j, "Fwd thread id", trace_op_backward(e));
	}
	put_comm(w, e);
	json_close(j);
}

/* --- rows --- */

/* Readers know a step by its name alone, whatever the program calls it. Of unsampled steps the work
 * is not there: they must not count. */
static const char *row_name(const struct walk *w, const struct event *e, char *room, size_t cap)
{
	struct event step = *e;

	if (e->kind == EVENT_STEP && e->flags & EVENT_UNSAMPLED)
		return "step, unsampled";
	if (e->kind == EVENT_STEP)
		step.name = 0;
	return walk_event_name(w, &step, room, cap);
}

static void complete(struct walk *w, const struct event *e, const struct trace_track *l)
{
	char room[64];

	begin_row(w, "X");
	json_str(&w->j, "cat", category(w, e, l->device != TRACK_HOST));
	json_str(&w->j, "name", row_name(w, e, room, sizeof(room)));
	put_place(w, l);
	put_us(&w->j, "ts", e->start_ns);
	put_us(&w->j, "dur", e->dur_ns);
	put_args(w, e, l);
	json_close(&w->j);
}

/* An arrow from the call to its work, where both were seen. */
static void arrow(struct walk *w, const struct event *e, const struct trace_track *l)
{
	bool end = l->device != TRACK_HOST;
	struct link k;

	if ((!link_is_work(e) && e->kind != EVENT_API) ||
	    !link_find(&k, &w->links, l->process, e->corr) || k.flags != (LINK_CALL | LINK_WORK))
		return;
	begin_row(w, end ? "f" : "s");
	if (end)
		json_str(&w->j, "bp", "e");
	json_u64(&w->j, "id", e->corr);
	put_place(w, l);
	put_us(&w->j, "ts", e->start_ns);
	json_str(&w->j, "cat", "ac2g");
	json_str(&w->j, "name", "ac2g");
	json_close(&w->j);
}

static void begin_instant(struct walk *w, const char *cat, const char *name)
{
	begin_row(w, "i");
	json_str(&w->j, "s", "t");
	json_str(&w->j, "cat", cat);
	json_str(&w->j, "name", name);
}

static void mark(struct walk *w, const struct event *e, const struct trace_track *l)
{
	begin_instant(w, "mark", walk_name(w, e->name));
	put_place(w, l);
	put_us(&w->j, "ts", e->start_ns);
	json_close(&w->j);
}

/* The total stands in a counter of its own, right behind; PyTorch has it in the same row. */
static bool is_total(const struct walk *w, size_t i)
{
	return i < w->t->events && w->t->event[i].kind == EVENT_COUNTER &&
	       !strcmp(walk_name(w, w->t->event[i].name), TRACE_ALLOCATED);
}

static void alloc(struct walk *w, const struct event *e, const struct trace_track *l)
{
	const struct event *next = e + 1;
	bool freed = e->flags >> EVENT_COPY_SHIFT == 2, host = l->device == TRACK_HOST;
	struct json *j = &w->j;

	begin_instant(w, "cpu_instant_event", "[memory]");
	/* TensorBoard looks for it on a thread of the host. */
	put_id(w, "pid", w->t->process[l->process].pid);
	json_u64(j, "tid", host && !(l->stream & ID_OF_NAME) ? l->stream : 0);
	put_us(j, "ts", e->start_ns);
	json_open(j, "args", '{');
	json_u64(j, "Device Type", !host);
	json_i64(j, "Device Id", host ? -1 : (int64_t)w->t->device[l->device].device);
	json_u64(j, "Addr", e->b);
	json_i64(j, "Bytes", freed ? -(int64_t)e->a : (int64_t)e->a);
	if (is_total(w, (size_t)(next - w->t->event)) && next->start_ns == e->start_ns &&
	    next->track == e->track)
		json_u64(j, "Total Allocated", next->a);
	json_close(j);
	json_close(j);
}

static void counter(struct walk *w, const struct event *e, const struct trace_track *l)
{
	struct json *j = &w->j;
	char room[SINK_REAL];
	double real;

	begin_row(w, "C");
	json_str(j, "name", walk_name(w, e->name));
	put_place(w, l);
	put_us(j, "ts", e->start_ns);
	json_open(j, "args", '{');
	memcpy(&real, &e->a, sizeof(real));
	if (e->flags & EVENT_FLOAT)
		json_token(j, "value", sink_real(room, real));
	else
		json_i64(j, "value", (int64_t)e->a);
	json_close(j);
	json_close(j);
}

static int event(struct walk *w, const struct event *e)
{
	const struct trace_track *l = &w->t->track[e->track];

	if (category(w, e, l->device != TRACK_HOST)) {
		complete(w, e, l);
		arrow(w, e, l);
	} else if (e->kind == EVENT_MARK) {
		mark(w, e, l);
	} else if (e->kind == EVENT_ALLOC) {
		alloc(w, e, l);
	} else if (e->kind == EVENT_COUNTER && !is_total(w, (size_t)(e - w->t->event))) {
		counter(w, e, l);
	} else {
		w->n->left++; /* flows between ids of ranges; totals, which are in their row */
		return w->s->err;
	}
	return walk_step(w, e);
}

/* --- the head and the places --- */

static void devices(struct walk *w)
{
	const struct trace *t = w->t;
	struct json *j = &w->j;

	json_open(j, "deviceProperties", '[');
	for (size_t i = 0; i < t->devices; i++) {
		const struct trace_device *d = &t->device[i];

		if (w->o->file >= 0 && d->file != (uint32_t)w->o->file)
			continue;
		json_open(j, NULL, '{');
		json_u64(j, "id", d->device);
		json_str(j, "name", walk_name(w, d->name));
		json_u64(j, "totalGlobalMem", d->memory_bytes);
		json_u64(j, "numSms", d->sms);
		json_close(j);
	}
	json_close(j);
}

static void head(struct walk *w)
{
	const struct trace_file *f =
		w->t->files ? &w->t->file[w->o->file >= 0 ? w->o->file : 0] : NULL;
	struct json *j = &w->j;
	char rank[16];

	json_open(j, NULL, '{');
	json_u64(j, "schemaVersion", 1);
	devices(w);
	if (f && f->rank >= 0) {
		json_open(j, "distributedInfo", '{');
		json_str(j, "backend", "nccl");
		snprintf(rank, sizeof(rank), " %d", f->rank); /* HTA looks for that blank */
		json_token(j, "rank", rank);
		json_i64(j, "world_size",
			 f->world > f->rank ? (int64_t)f->world : (int64_t)f->rank + 1);
		json_close(j);
	}
	if (f && f->wall_offset_ns > 0)
		json_u64(j, "baseTimeNanoseconds", (uint64_t)f->wall_offset_ns);
	json_str(j, "displayTimeUnit", "ms");
	json_str(j, "traceName", "aon");
	json_open(j, "traceEvents", '[');
}

static void meta(struct walk *w, const char *what, const struct trace_track *l, const char *key,
		 const char *text)
{
	begin_row(w, "M");
	json_str(&w->j, "name", what);
	put_place(w, l);
	json_u64(&w->j, "ts", 0);
	json_open(&w->j, "args", '{');
	json_str(&w->j, key, text);
	json_close(&w->j);
	json_close(&w->j);
}

static void places(struct walk *w)
{
	const struct trace *t = w->t;
	char text[64];

	for (size_t i = 0; i < t->tracks; i++) {
		const struct trace_track *l = &t->track[i];
		const struct trace_process *p = &t->process[l->process];
		bool device = l->device != TRACK_HOST;

		if (!walk_has_track(w, i))
			continue;
		if (p->name)
			meta(w, "process_name", l, "name", walk_name(w, p->name));
		if (device) {
			snprintf(text, sizeof(text), "GPU %u", t->device[l->device].device);
			meta(w, "process_labels", l, "labels", text);
		}
		if (l->name)
			meta(w, "thread_name", l, "name", walk_name(w, l->name));
	}
}

int export_kineto(struct walk *w)
{
	const struct trace *t = w->t;
	int err = 0;

	json_init(&w->j, w->s->f);
	head(w);
	places(w);
	for (size_t i = 0; i < t->tracks && !err; i++)
		for (size_t k = t->track_first[i];
		     walk_has_track(w, i) && k < t->track_first[i + 1] && !err; k++)
			err = event(w, &t->event[k]);
	json_end(&w->j);
	return err ? err : w->s->err;
}
