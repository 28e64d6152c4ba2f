/* SPDX-License-Identifier: Apache-2.0 */
/* insight_json.c - a trace's breakdown as aon.report/1: nanoseconds, whole names, nothing folded. */
#include "insight/insight.h"
#include "read/json.h"

static uint64_t since(uint64_t ns, uint64_t t0)
{
	return ns > t0 ? ns - t0 : 0;
}

void json_rank(struct json *j, const char *key, int32_t rank)
{
	if (rank == TRACE_NO_RANK)
		json_null(j, key);
	else
		json_i64(j, key, rank);
}

static void file_json(struct json *j, const struct trace_file *f)
{
	json_open(j, NULL, '{');
	json_str(j, "path", f->path);
	json_rank(j, "rank", f->rank);
	json_u64(j, "events", f->rows);
	json_u64(j, "imported", f->imported);
	json_u64(j, "lost", f->lost);
	json_u64(j, "left", f->left);
	json_u64(j, "mended", f->mended);
	json_u64(j, "tick_ns", f->tick_ns);
	if (f->world)
		json_u64(j, "world", (uint64_t)f->world);
	if (f->broke_at != UINT64_MAX)
		json_u64(j, "broke_at", f->broke_at);
	if (*f->why)
		json_str(j, "why", f->why);
	json_close(j);
}

static void breakdown_json(struct json *j, const struct breakdown *b, bool swept)
{
	json_u64(j, "span_ns", b->span_ns);
	json_u64(j, "busy_ns", b->busy_ns);
	json_u64(j, "idle_ns", b->idle_ns);
	json_u64(j, "compute_ns", b->compute_ns);
	json_u64(j, "comm_ns", b->comm_ns);
	json_u64(j, "memory_ns", b->memory_ns);
	json_u64(j, "comm_overlap_ns", b->overlap_ns);
	json_u64(j, "exposed_comm_ns", b->exposed_comm_ns);
	json_u64(j, "exposed_copy_ns", b->exposed_copy_ns);
	json_u64(j, "kernels", b->kernels);
	if (swept) /* launches were not looked at */
		json_null(j, "attributed_kernels");
	else
		json_u64(j, "attributed_kernels", b->attributed);
	json_u64(j, "copies", b->copies);
	json_u64(j, "memsets", b->memsets);
	json_u64(j, "gaps", b->gaps);
}

static void launch_json(struct json *j, const struct insight_launch *l, uint64_t span_ns)
{
	json_open(j, "launch", '{');
	json_u64(j, "launched", l->launched);
	json_u64(j, "calls", l->calls);
	json_u64(j, "call_ns", l->call_ns);
	json_u64(j, "delay_p50_ns", sketch_quantile(&l->delay, 0.5));
	json_u64(j, "delay_p99_ns", sketch_quantile(&l->delay, 0.99));
	json_u64(j, "queued_ns", l->queued_ns);
	json_real(j, "queue_depth_mean", ratio(l->queued_ns, span_ns));
	json_u64(j, "queue_depth_max", l->depth_max);
	json_close(j);
}

static void copies_json(struct json *j, const struct insight_device *d)
{
	static const char *const word[COPY_KINDS] = { "unknown", "htod", "dtoh",
						      "dtod",    "htoh", "ptop" };

	json_open(j, "copy", '[');
	for (size_t k = 0; k < COPY_KINDS; k++) {
		if (!d->copy[k].count)
			continue;
		json_open(j, NULL, '{');
		json_str(j, "direction", word[k] ? word[k] : "unknown");
		json_u64(j, "count", d->copy[k].count);
		json_u64(j, "bytes", d->copy[k].bytes);
		json_u64(j, "total_ns", d->copy[k].ns);
		json_u64(j, "pageable", d->copy[k].pageable);
		json_close(j);
	}
	json_close(j);
}

/* What only a loaded recording can tell. */
static void causes_json(struct json *j, const struct insight *in, const struct insight_device *d)
{
	const struct insight_host *h = &in->host[in->t->device[d->device].process];

	json_open(j, "idle", '{');
	for (enum idle_cause c = 0; c < IDLE_CAUSES; c++)
		json_u64(j, idle_word[c], d->idle_ns[c]);
	json_close(j);
	launch_json(j, &d->launch, d->b.span_ns);
	json_open(j, "host", '{');
	json_u64(j, "syncs", h->syncs);
	json_u64(j, "sync_ns", h->sync_ns);
	json_u64(j, "inputs", h->inputs);
	json_u64(j, "input_ns", h->input_ns);
	json_u64(j, "allocs", h->allocs);
	json_u64(j, "alloc_ns", h->alloc_ns);
	json_close(j);
}

static void device_json(struct json *j, const struct insight *in, const struct insight_device *d)
{
	const struct trace_device *td = &in->t->device[d->device];

	json_open(j, NULL, '{');
	json_rank(j, "rank", d->rank);
	json_u64(j, "pid", in->t->process[td->process].pid);
	json_u64(j, "device", td->device);
	json_str(j, "name", td->name ? trace_text(in->t, td->name) : NULL);
	breakdown_json(j, &d->b, in->swept);
	if (!in->swept)
		causes_json(j, in, d);
	json_open(j, "classes", '{');
	for (enum kclass c = 0; c < CLASSES; c++)
		if (d->class[c].count)
			json_u64(j, class_word[c], d->class[c].ns);
	json_close(j);
	if (!in->swept)
		copies_json(j, d);
	json_close(j);
}

void insight_devices_json(struct json *j, const struct insight *in)
{
	json_open(j, "devices", '[');
	for (size_t i = 0; i < in->devices; i++)
		device_json(j, in, &in->device[i]);
	json_close(j);
	json_open(j, "streams", '[');
	for (size_t i = 0; i < in->streams; i++) {
		const struct insight_stream *s = &in->stream[i];
		const struct trace_track *l = &in->t->track[s->track];

		json_open(j, NULL, '{');
		json_rank(j, "rank", insight_rank(in->t, l->process));
		json_u64(j, "device", in->t->device[l->device].device);
		json_u64(j, "stream", l->stream);
		breakdown_json(j, &s->b, in->swept);
		if (!in->swept)
			launch_json(j, &s->launch, s->b.span_ns);
		json_close(j);
	}
	json_close(j);
}

/* What the device's counters said while it ran: percent of what the device can. */
static void measured_json(struct json *j, const struct pm_use *u)
{
	if (!u)
		return;
	json_open(j, "measured", '{');
	json_str(j, "how", work_how_word[WORK_COUNTER]);
	for (int k = 0; k < PM_COUNTERS; k++)
		if (u->mean[k] >= 0)
			json_real(j, pm_word[k], u->mean[k]);
	if (u->ranges)
		json_u64(j, "ranges", u->ranges);
	if (u->dram_bytes > 0)
		json_real(j, "dram_bytes", u->dram_bytes);
	json_real(j, "alone", u->alone);
	json_u64(j, "seen_ns", u->seen_ns);
	json_close(j);
}

void insight_rows_json(struct json *j, const char *key, const struct insight *in,
		       enum insight_by by)
{
	const struct insight_table *tab = &in->roll[by];

	json_open(j, key, '[');
	for (size_t i = 0; i < tab->rows; i++) {
		const struct insight_row *r = &tab->row[i];

		json_open(j, NULL, '{');
		json_rank(j, "rank", r->rank);
		json_str(j, "name", trace_text(in->t, r->name));
		if (by == ROLL_KERNEL)
			json_str(j, "class", class_word[r->class]);
		json_u64(j, "count", r->count);
		json_u64(j, "total_ns", r->total_ns);
		json_u64(j, "min_ns", r->min_ns);
		json_u64(j, "max_ns", r->max_ns);
		json_u64(j, "p50_ns", r->p50_ns);
		json_u64(j, "p99_ns", r->p99_ns);
		if (r->bytes)
			json_u64(j, "bytes", r->bytes);
		if (by == ROLL_KERNEL)
			measured_json(j, pm_of_name(&in->pm, r->name));
		json_close(j);
	}
	json_close(j);
}

void insight_steps_json(struct json *j, const struct insight *in, uint64_t t0, size_t from,
			size_t most)
{
	size_t end = most < in->steps - from ? from + most : in->steps;

	json_open(j, "steps", '[');
	for (size_t i = from; i < end; i++) {
		const struct insight_step *s = &in->step[i];

		json_open(j, NULL, '{');
		json_rank(j, "rank", s->rank);
		json_u64(j, "step", s->number);
		json_u64(j, "start_ns", since(s->start_ns, t0));
		json_u64(j, "dur_ns", s->dur_ns);
		json_u64(j, "input_ns", s->input_ns);
		json_u64(j, "busy_ns", s->b.busy_ns);
		json_u64(j, "idle_ns", s->b.idle_ns);
		json_u64(j, "compute_ns", s->b.compute_ns);
		json_u64(j, "comm_ns", s->b.comm_ns);
		json_u64(j, "memory_ns", s->b.memory_ns);
		json_u64(j, "exposed_comm_ns", s->b.exposed_comm_ns);
		json_close(j);
	}
	json_close(j);
}

void insight_memory_json(struct json *j, const struct insight *in, uint64_t t0)
{
	json_open(j, "memory", '[');
	for (size_t i = 0; i < in->memories; i++) {
		const struct insight_memory *m = &in->memory[i];

		json_open(j, NULL, '{');
		json_rank(j, "rank", in->t->file[m->file].rank);
		json_str(j, "name", trace_text(in->t, m->name));
		json_u64(j, "samples", m->samples);
		json_u64(j, "first_bytes", m->first);
		json_u64(j, "last_bytes", m->last);
		json_u64(j, "peak_bytes", m->peak);
		json_u64(j, "start_ns", since(m->first_ns, t0));
		json_u64(j, "end_ns", since(m->last_ns, t0));
		json_open(j, "low_bytes", '[');
		for (size_t k = 0; k < MEMORY_PARTS; k++)
			if (m->low[k] != UINT64_MAX)
				json_u64(j, NULL, m->low[k]);
		json_close(j);
		json_close(j);
	}
	json_close(j);
}

void insight_account_json(struct json *j, const struct trace *t)
{
	uint64_t rows = 0, imported = 0, left = 0, lost = 0;

	for (size_t i = 0; i < t->files; i++) {
		rows += t->file[i].rows;
		imported += t->file[i].imported;
		left += t->file[i].left;
		lost += t->file[i].lost;
	}
	json_open(j, "accounting", '{');
	json_u64(j, "rows", rows);
	json_u64(j, "imported", imported);
	json_u64(j, "left", left);
	json_u64(j, "lost", lost);
	json_close(j);
}

void insight_json(struct json *j, const struct insight *in)
{
	json_open(j, "files", '[');
	for (size_t i = 0; i < in->t->files; i++)
		file_json(j, &in->t->file[i]);
	json_close(j);
	insight_devices_json(j, in);
	insight_rows_json(j, "kernels", in, ROLL_KERNEL);
	insight_rows_json(j, "ops", in, ROLL_OP);
	insight_rows_json(j, "modules", in, ROLL_MODULE);
	insight_host_json(j, "host_ops", in, HOST_OP);
	insight_host_json(j, "host_modules", in, HOST_MODULE);
	insight_work_json(j, in);
	insight_roofs_json(j, in);
	json_u64(j, "recorded_steps", in->steps);
	json_u64(j, "of_steps", in->steps + in->left_out);
	insight_steps_json(j, in, 0, 0, SIZE_MAX);
	insight_memory_json(j, in, 0);
	insight_account_json(j, in->t);
}
