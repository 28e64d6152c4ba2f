/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.c - a trace as PyTorch's profiler writes it: Chrome JSON with Kineto's categories and
 * arguments, one rank a file. HTA, TensorBoard's plugin and aon's own import read it.
 *
 * Microseconds with three decimals, so that no nanosecond is lost. What Kineto has no category
 * for: a collective of NCCL's plugin is an annotation (its kernel is a kernel), a graph that was
 * recorded as a whole is a kernel.
 */
#include <ctype.h>
#include <stdio.h>

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

static void key_u64(struct sink *s, const char *key, uint64_t v)
{
	sink_str(s, key); /* with its quotes, colon, and what stands before */
	sink_u64(s, v);
}

static void put_id(struct walk *w, uint64_t id)
{
	if (id & ID_OF_NAME)
		sink_json(w->s, walk_name(w, (uint32_t)id));
	else
		sink_u64(w->s, id);
}

static void put_place(struct walk *w, const struct trace_track *l)
{
	const struct trace *t = w->t;

	sink_str(w->s, ",\"pid\":");
	if (l->device == TRACK_HOST)
		put_id(w, t->process[l->process].pid);
	else
		sink_u64(w->s, t->device[l->device].device);
	sink_str(w->s, ",\"tid\":");
	if (l->stream == TRACE_NO_STREAM)
		sink_str(w->s, "-1");
	else
		put_id(w, l->stream);
}

static void begin_row(struct walk *w)
{
	sink_str(w->s, w->n->events || w->seen ? ",\n{" : "\n{");
	w->seen++;
}

static void put_three(struct sink *s, const char *key, const uint32_t v[3])
{
	char text[64];

	snprintf(text, sizeof(text), "[%u,%u,%u]", v[0], v[1], v[2]);
	sink_str(s, key);
	sink_str(s, text);
}

static void put_comm(struct walk *w, const struct event *e)
{
	uint32_t id = w->t->event_comm ? w->t->event_comm[e - w->t->event] : 0;
	const struct trace_comm *c = id ? &w->t->comm[id - 1] : NULL;
	unsigned each = c ? dtype_bytes(walk_name(w, c->dtype), strlen(walk_name(w, c->dtype))) : 0;
	struct sink *s = w->s;

	if (!c)
		return;
	sink_str(s, ",\"Collective name\":");
	sink_json(s, walk_name(w, c->name));
	sink_str(s, ",\"Process Group Name\":");
	sink_json(s, walk_name(w, c->group));
	sink_str(s, ",\"dtype\":");
	sink_json(s, walk_name(w, c->dtype));
	key_u64(s, ",\"Group size\":", c->size);
	key_u64(s, ",\"Seq\":", c->sequence);
	if (each) {
		key_u64(s, ",\"In msg nelems\":", c->bytes_in / each);
		key_u64(s, ",\"Out msg nelems\":", c->bytes_out / each);
	}
}

static void put_work(struct walk *w, const struct event *e)
{
	const struct geo *g =
		e->kind == EVENT_KERNEL && e->a && e->a < w->t->geos ? &w->t->geo[e->a] : NULL;
	struct sink *s = w->s;

	if (g && (g->grid[0] || g->block[0])) {
		put_three(s, ",\"grid\":", g->grid);
		put_three(s, ",\"block\":", g->block);
	}
	if (g) {
		key_u64(s, ",\"registers per thread\":", g->regs);
		key_u64(s, ",\"shared memory\":", g->smem_static + g->smem_dynamic);
	}
	if (e->kind == EVENT_COPY || e->kind == EVENT_MEMSET)
		key_u64(s, ",\"bytes\":", e->a);
	if (e->kind != EVENT_SYNC && trace_node(e))
		key_u64(s, ",\"graph node id\":", trace_node(e));
	if (e->kind == EVENT_SYNC && e->a)
		key_u64(s, ",\"wait_on_stream\":", e->a - 1);
	if (e->kind == EVENT_SYNC && (uint32_t)e->b)
		key_u64(s, ",\"wait_on_cuda_event_record_corr_id\":", (uint32_t)e->b);
}

/* What a collective of NCCL's plugin has no key for in Kineto's words. */
static void put_collective(struct sink *s, const struct event *e)
{
	key_u64(s, ",\"bytes\":", e->a);
	key_u64(s, ",\"sequence\":", e->b);
}

static void put_args(struct walk *w, const struct event *e, const struct trace_track *l)
{
	/* HTA takes a row with a stream for GPU work, and annotations of streams have none. */
	bool device =
		l->device != TRACK_HOST && e->kind != EVENT_RANGE && e->kind != EVENT_COLLECTIVE;
	uint32_t external = e->kind == EVENT_COLLECTIVE ? 0 : trace_external(e);
	struct sink *s = w->s;

	key_u64(s, ",\"args\":{\"External id\":", external);
	if (device) {
		key_u64(s, ",\"device\":", w->t->device[l->device].device);
		key_u64(s, ",\"context\":", l->context);
		sink_str(s, ",\"stream\":");
		if (l->stream == TRACE_NO_STREAM)
			sink_str(s, "-1");
		else
			put_id(w, l->stream);
	}
	if (e->kind != EVENT_RANGE && e->kind != EVENT_STEP && e->kind != EVENT_COLLECTIVE &&
	    (e->corr || device))
		key_u64(s, ",\"correlation\":", e->corr);
	if (device && (link_is_work(e) || e->kind == EVENT_SYNC))
		put_work(w, e);
	if (e->kind == EVENT_COLLECTIVE)
		put_collective(s, e);
	put_comm(w, e);
	sink_byte(s, '}');
}

/* --- rows --- */

static void complete(struct walk *w, const struct event *e, const struct trace_track *l)
{
	struct sink *s = w->s;
	char room[64];

	begin_row(w);
	sink_str(s, "\"ph\":\"X\",\"cat\":\"");
	sink_str(s, category(w, e, l->device != TRACK_HOST));
	sink_str(s, "\",\"name\":");
	sink_json(s, walk_event_name(w, e, room, sizeof(room)));
	put_place(w, l);
	sink_str(s, ",\"ts\":");
	sink_us(s, e->start_ns);
	sink_str(s, ",\"dur\":");
	sink_us(s, e->dur_ns);
	put_args(w, e, l);
	sink_byte(s, '}');
}

/* An arrow from the call to its work, where both were seen. */
static void arrow(struct walk *w, const struct event *e, const struct trace_track *l)
{
	bool end = l->device != TRACK_HOST;
	struct link k;

	if ((!link_is_work(e) && e->kind != EVENT_API) ||
	    !link_find(&k, &w->links, l->process, e->corr) || k.flags != (LINK_CALL | LINK_WORK))
		return;
	begin_row(w);
	sink_str(w->s, end ? "\"ph\":\"f\",\"bp\":\"e\"" : "\"ph\":\"s\"");
	key_u64(w->s, ",\"id\":", e->corr);
	put_place(w, l);
	sink_str(w->s, ",\"ts\":");
	sink_us(w->s, e->start_ns);
	sink_str(w->s, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"}");
}

static void begin_moment(struct walk *w, const struct event *e, const struct trace_track *l,
			 const char *ph, const char *name)
{
	begin_row(w);
	sink_str(w->s, ph);
	sink_json(w->s, name);
	put_place(w, l);
	sink_str(w->s, ",\"ts\":");
	sink_us(w->s, e->start_ns);
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
	struct sink *s = w->s;

	begin_row(w);
	sink_str(s, "\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\"");
	/* TensorBoard looks for it on a thread of the host. */
	sink_str(s, ",\"pid\":");
	put_id(w, w->t->process[l->process].pid);
	key_u64(s, ",\"tid\":", host && !(l->stream & ID_OF_NAME) ? l->stream : 0);
	sink_str(s, ",\"ts\":");
	sink_us(s, e->start_ns);
	key_u64(s, ",\"args\":{\"Device Type\":", !host);
	sink_str(s, ",\"Device Id\":");
	if (host)
		sink_str(s, "-1");
	else
		sink_u64(s, w->t->device[l->device].device);
	key_u64(s, ",\"Addr\":", e->b);
	key_u64(s, freed ? ",\"Bytes\":-" : ",\"Bytes\":", e->a);
	if (is_total(w, (size_t)(next - w->t->event)) && next->start_ns == e->start_ns &&
	    next->track == e->track)
		key_u64(s, ",\"Total Allocated\":", next->a);
	sink_str(s, "}}");
}

static void counter(struct walk *w, const struct event *e, const struct trace_track *l)
{
	double real;

	begin_moment(w, e, l, "\"ph\":\"C\",\"name\":", walk_name(w, e->name));
	sink_str(w->s, ",\"args\":{\"value\":");
	if (e->flags & EVENT_FLOAT) {
		memcpy(&real, &e->a, sizeof(real));
		sink_real(w->s, real);
	} else {
		if ((int64_t)e->a < 0)
			sink_byte(w->s, '-');
		sink_u64(w->s, (int64_t)e->a < 0 ? 0 - e->a : e->a);
	}
	sink_str(w->s, "}}");
}

static int event(struct walk *w, const struct event *e)
{
	const struct trace_track *l = &w->t->track[e->track];

	if (category(w, e, l->device != TRACK_HOST)) {
		complete(w, e, l);
		arrow(w, e, l);
	} else if (e->kind == EVENT_MARK) {
		begin_moment(w, e, l, "\"ph\":\"i\",\"s\":\"t\",\"cat\":\"mark\",\"name\":",
			     walk_name(w, e->name));
		sink_byte(w->s, '}');
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
	bool first = true;

	sink_str(w->s, "\"deviceProperties\":[");
	for (size_t i = 0; i < t->devices; i++) {
		const struct trace_device *d = &t->device[i];

		if (w->o->file >= 0 && d->file != (uint32_t)w->o->file)
			continue;
		key_u64(w->s, first ? "{\"id\":" : ",{\"id\":", d->device);
		sink_str(w->s, ",\"name\":");
		sink_json(w->s, walk_name(w, d->name));
		key_u64(w->s, ",\"totalGlobalMem\":", d->memory_bytes);
		key_u64(w->s, ",\"numSms\":", d->sms);
		sink_byte(w->s, '}');
		first = false;
	}
	sink_byte(w->s, ']');
}

static void head(struct walk *w)
{
	const struct trace_file *f =
		w->t->files ? &w->t->file[w->o->file >= 0 ? w->o->file : 0] : NULL;
	struct sink *s = w->s;

	sink_str(s, "{\"schemaVersion\":1,");
	devices(w);
	if (f && f->rank >= 0) {
		key_u64(s,
			",\"distributedInfo\":{\"backend\":\"nccl\",\"rank\": ", (uint64_t)f->rank);
		key_u64(s, ",\"world_size\":",
			f->world > f->rank ? (uint64_t)f->world : (uint64_t)f->rank + 1);
		sink_byte(s, '}');
	}
	if (f && f->wall_offset_ns > 0)
		key_u64(s, ",\"baseTimeNanoseconds\":", (uint64_t)f->wall_offset_ns);
	sink_str(s, ",\"displayTimeUnit\":\"ms\",\"traceName\":\"aon\",\"traceEvents\":[");
}

static void meta(struct walk *w, const char *what, const struct trace_track *l, const char *key,
		 const char *text)
{
	begin_row(w);
	sink_str(w->s, "\"ph\":\"M\",\"name\":\"");
	sink_str(w->s, what);
	sink_byte(w->s, '"');
	put_place(w, l);
	sink_str(w->s, ",\"ts\":0,\"args\":{\"");
	sink_str(w->s, key);
	sink_str(w->s, "\":");
	sink_json(w->s, text);
	sink_str(w->s, "}}");
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

	head(w);
	places(w);
	for (size_t i = 0; i < t->tracks && !err; i++)
		for (size_t k = t->track_first[i];
		     walk_has_track(w, i) && k < t->track_first[i + 1] && !err; k++)
			err = event(w, &t->event[k]);
	sink_str(w->s, "\n]}\n");
	return err ? err : w->s->err;
}
