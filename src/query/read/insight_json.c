/* SPDX-License-Identifier: Apache-2.0 */
/* insight_json.c - a trace's breakdown as aon.report/1: nanoseconds, full names, no rows merged. */
#include "insight/insight.h"
#include "read/json.h"

static uint64_t since(uint64_t ns, uint64_t t0)
{
	return ns > t0 ? ns - t0 : 0;
}

void json_rank(struct json *j, const char *key, int32_t rank)
{
	json_maybe(j, key, rank != TRACE_NO_RANK, rank);
}

static void file_json(struct json *j, const struct trace_file *f)
{
	json_open(j, NULL, '{');
	json_members(j, J_STR("path", f->path), J_RANK(f->rank), J_U64("events", f->rows),
		     J_U64("imported", f->imported), J_U64("lost", f->lost), J_U64("left", f->left),
		     J_U64("mended", f->mended), J_U64("tick_ns", f->tick_ns));
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
	json_members(j, J_U64("span_ns", b->span_ns), J_U64("busy_ns", b->busy_ns),
		     J_U64("idle_ns", b->idle_ns), J_U64("compute_ns", b->compute_ns),
		     J_U64("comm_ns", b->comm_ns), J_U64("memory_ns", b->memory_ns),
		     J_U64("comm_overlap_ns", b->overlap_ns),
		     J_U64("exposed_comm_ns", b->exposed_comm_ns),
		     J_U64("exposed_copy_ns", b->exposed_copy_ns), J_U64("kernels", b->kernels),
		     /* A sweep does not look at launches. */
		     J_U64_IF("attributed_kernels", !swept, b->attributed),
		     J_U64("copies", b->copies), J_U64("memsets", b->memsets),
		     J_U64("gaps", b->gaps));
}

static void launch_json(struct json *j, const struct insight_launch *l, uint64_t span_ns)
{
	json_object(j, "launch", J_U64("launched", l->launched), J_U64("calls", l->calls),
		    J_U64("call_ns", l->call_ns),
		    J_U64("delay_p50_ns", sketch_quantile(&l->delay, 0.5)),
		    J_U64("delay_p99_ns", sketch_quantile(&l->delay, 0.99)),
		    J_U64("queued_ns", l->queued_ns),
		    J_REAL("queue_depth_mean", ratio(l->queued_ns, span_ns)),
		    J_U64("queue_depth_max", l->depth_max));
}

static void copies_json(struct json *j, const struct insight_device *d)
{
	static const char *const word[COPY_KINDS] = { "unknown", "htod", "dtoh",
						      "dtod",    "htoh", "ptop" };

	json_open(j, "copy", '[');
	for (size_t k = 0; k < COPY_KINDS; k++) {
		if (!d->copy[k].count)
			continue;
		json_object(j, NULL, J_STR("direction", word[k] ? word[k] : "unknown"),
			    J_U64("count", d->copy[k].count), J_U64("bytes", d->copy[k].bytes),
			    J_U64("total_ns", d->copy[k].ns),
			    J_U64("pageable", d->copy[k].pageable));
	}
	json_close(j);
}

/* Only known if the events were loaded. */
static void causes_json(struct json *j, const struct insight *in, const struct insight_device *d)
{
	const struct insight_host *h = &in->host[in->t->device[d->device].process];

	json_open(j, "idle", '{');
	for (enum idle_cause c = 0; c < IDLE_CAUSES; c++)
		json_u64(j, idle_word[c], d->idle_ns[c]);
	json_close(j);
	json_open(j, "account", '{');
	json_members(j, J_U64("base_ns", d->account.base_ns), J_U64("steps", d->account.steps),
		     J_U64("cut_ns", d->account.cut_ns));
	json_open(j, "ns", '{');
	for (enum account_cause c = 0; c < ACCOUNT_CAUSES; c++)
		json_u64(j, account_table[c].word, d->account.ns[c]);
	json_close(j);
	json_close(j);
	launch_json(j, &d->launch, d->b.span_ns);
	json_object(j, "host", J_U64("syncs", h->syncs), J_U64("sync_ns", h->sync_ns),
		    J_U64("inputs", h->inputs), J_U64("input_ns", h->input_ns),
		    J_U64("allocs", h->allocs), J_U64("alloc_ns", h->alloc_ns));
}

static void device_json(struct json *j, const struct insight *in, const struct insight_device *d)
{
	const struct trace_device *td = &in->t->device[d->device];

	json_open(j, NULL, '{');
	json_members(j, J_RANK(d->rank), J_U64("pid", in->t->process[td->process].pid),
		     J_U64("device", td->device),
		     J_STR("name", td->name ? trace_text(in->t, td->name) : NULL));
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
		json_members(j, J_RANK(insight_rank(in->t, l->process)),
			     J_U64("device", in->t->device[l->device].device),
			     J_U64("stream", l->stream));
		breakdown_json(j, &s->b, in->swept);
		if (!in->swept)
			launch_json(j, &s->launch, s->b.span_ns);
		json_close(j);
	}
	json_close(j);
}

/* Device counters during the kernel, in percent of the device's maximum. */
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

static void rows_json(struct json *j, const char *key, const struct insight *in, enum insight_by by)
{
	const struct insight_table *tab = &in->roll[by];

	json_open(j, key, '[');
	for (size_t i = 0; i < tab->rows; i++) {
		const struct insight_row *r = &tab->row[i];

		json_open(j, NULL, '{');
		json_members(j, J_RANK(r->rank), J_STR("name", trace_text(in->t, r->name)));
		if (by == ROLL_KERNEL)
			json_str(j, "class", class_word[r->class]);
		json_members(j, J_U64("count", r->count), J_U64("total_ns", r->total_ns),
			     J_U64("min_ns", r->min_ns), J_U64("max_ns", r->max_ns),
			     J_U64("p50_ns", r->p50_ns), J_U64("p99_ns", r->p99_ns));
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

		json_object(j, NULL, J_RANK(s->rank), J_U64("step", s->number),
			    J_U64("start_ns", since(s->start_ns, t0)), J_U64("dur_ns", s->dur_ns),
			    J_U64("input_ns", s->input_ns), J_U64("busy_ns", s->b.busy_ns),
			    J_U64("idle_ns", s->b.idle_ns), J_U64("compute_ns", s->b.compute_ns),
			    J_U64("comm_ns", s->b.comm_ns), J_U64("memory_ns", s->b.memory_ns),
			    J_U64("exposed_comm_ns", s->b.exposed_comm_ns));
	}
	json_close(j);
}

void insight_memory_json(struct json *j, const struct insight *in, uint64_t t0)
{
	json_open(j, "memory", '[');
	for (size_t i = 0; i < in->memories; i++) {
		const struct insight_memory *m = &in->memory[i];

		json_open(j, NULL, '{');
		json_members(j, J_RANK(in->t->file[m->file].rank),
			     J_STR("name", trace_text(in->t, m->name)),
			     J_U64("samples", m->samples), J_U64("first_bytes", m->first),
			     J_U64("last_bytes", m->last), J_U64("peak_bytes", m->peak),
			     J_U64("start_ns", since(m->first_ns, t0)),
			     J_U64("end_ns", since(m->last_ns, t0)));
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
	json_object(j, "accounting", J_U64("rows", rows), J_U64("imported", imported),
		    J_U64("left", left), J_U64("lost", lost));
}

void insight_json(struct json *j, const struct insight *in)
{
	json_open(j, "files", '[');
	for (size_t i = 0; i < in->t->files; i++)
		file_json(j, &in->t->file[i]);
	json_close(j);
	insight_devices_json(j, in);
	rows_json(j, "kernels", in, ROLL_KERNEL);
	rows_json(j, "ops", in, ROLL_OP);
	rows_json(j, "modules", in, ROLL_MODULE);
	insight_host_json(j, "host_ops", in, HOST_OP);
	insight_host_json(j, "host_modules", in, HOST_MODULE);
	insight_work_json(j, in);
	insight_roofs_json(j, in);
	json_u64(j, "recorded_steps", in->steps);
	json_u64(j, "of_steps", in->steps + in->unsampled);
	insight_steps_json(j, in, 0, 0, SIZE_MAX);
	insight_memory_json(j, in, 0);
	insight_account_json(j, in->t);
}
