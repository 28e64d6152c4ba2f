/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roof_json.c - what limits kernels, as JSON: FLOP and bytes of one call, rates over all calls of a
 * row.
 */
#include <stdio.h>

#include "insight/insight.h"
#include "read/json.h"
#include "theory/roofline.h"

/* 0 stands for what is not known. */
static void known(struct json *j, const char *key, double v)
{
	if (v > 0)
		json_real(j, key, v);
	else
		json_null(j, key);
}

static void name_json(struct json *j, const char *key, const struct trace *t, uint32_t name)
{
	json_str(j, key, name ? trace_text(t, name) : NULL);
}

void roof_verdict_json(struct json *j, const struct roof_row *r)
{
	json_str(j, "limit", roof_limit_word[r->is.limit]);
	known(j, "fraction", r->is.fraction);
	json_str(j, "how", work_how_word[r->work.how]);
	json_bool(j, "at_most", r->work.at_most);
	known(j, "of_model", roof_row_model(r));
	known(j, "waves", r->waves);
	known(j, "tail", r->waves > 0 ? r->tail : 0);
	known(j, "occupancy", r->occupancy);
}

static void row_json(struct json *j, const struct insight *in, const struct roof_row *r)
{
	json_open(j, NULL, '{');
	json_rank(j, "rank", r->rank);
	json_members(j, J_U64("device", in->t->device[r->device].device),
		     J_STR("name", trace_text(in->t, r->name)),
		     J_STR("class", class_word[r->class]));
	name_json(j, "op", in->t, r->op);
	name_json(j, "shapes", in->t, r->shapes);
	json_u64(j, "count", r->count);
	json_u64(j, "total_ns", r->total_ns);
	roof_verdict_json(j, r);
	json_members(j, J_STR("occupancy_by", r->occupancy_by),
		     J_STR("type", r->work.how ? gpu_type_word[r->work.type] : NULL),
		     J_BOOL("tensor", r->work.tensor));
	known(j, "flops", r->work.flops);
	known(j, "bytes", r->work.bytes);
	known(j, "l2_bytes", r->work.l2_bytes);
	known(j, "flops_per_s", roof_row_flops(r));
	known(j, "bytes_per_s", roof_row_Bps(r));
	known(j, "compute", r->is.compute);
	known(j, "memory", r->is.memory);
	known(j, "cache", r->is.cache);
	known(j, "roof_ns", r->is.least_ns);
	known(j, "model_ns", r->model_ns);
	json_close(j);
}

static void op_json(struct json *j, const struct insight *in, const struct roof_op *o)
{
	double s = (double)o->total_ns / 1e9 / (double)(o->count ? o->count : 1);

	json_open(j, NULL, '{');
	json_rank(j, "rank", o->rank);
	json_members(j, J_STR("name", trace_text(in->t, o->name)),
		     J_STR("shapes", trace_text(in->t, o->shapes)), J_U64("count", o->count),
		     J_U64("total_ns", o->total_ns), J_U64("flops", o->work.flops),
		     J_U64("bytes", o->work.bytes));
	known(j, "flops_per_s", s > 0 ? (double)o->work.flops / s : 0);
	known(j, "bytes_per_s", s > 0 ? (double)o->work.bytes / s : 0);
	json_close(j);
}

void roof_peaks_json(struct json *j, const struct gpu *g, const bool used[2 * GPU_TYPES])
{
	char name[32];

	json_open(j, "peaks", '[');
	for (enum gpu_type t = 0; g && t < 2 * GPU_TYPES; t++) {
		bool tensor = t < GPU_TYPES;
		double flops = tensor ? g->tensor_flops[t] : g->vector_flops[t - GPU_TYPES];

		if (!(flops > 0) || (used && !used[t]))
			continue;
		snprintf(name, sizeof(name), "%s%s", gpu_type_word[t % GPU_TYPES],
			 tensor ? " tensor" : "");
		json_object(j, NULL, J_STR("name", name), J_REAL("flops", flops));
	}
	json_close(j);
	json_open(j, "bw", '[');
	for (size_t i = 0; g && i < 2; i++) {
		double rate = i ? g->l2_Bps : g->memory_Bps;

		if (!(rate > 0))
			continue;
		json_object(j, NULL, J_STR("name", i ? "L2" : "memory"), J_REAL("Bps", rate));
	}
	json_close(j);
}

void insight_roofs_json(struct json *j, const struct insight *in)
{
	const struct roofs *rs = &in->roofs;

	json_open(j, "roofline", '{');
	json_open(j, "devices", '[');
	for (size_t i = 0; i < in->devices && rs->gpu; i++) {
		const struct trace_device *d = &in->t->device[in->device[i].device];
		const struct gpu *g = rs->gpu[in->device[i].device];

		json_open(j, NULL, '{');
		json_rank(j, "rank", in->device[i].rank);
		json_u64(j, "device", d->device);
		name_json(j, "name", in->t, d->name);
		json_str(j, "known_as", g ? g->key : NULL);
		roof_peaks_json(j, g, NULL);
		json_close(j);
	}
	json_close(j);
	json_open(j, "kernels", '[');
	for (size_t i = 0; i < rs->rows; i++)
		row_json(j, in, &rs->row[i]);
	json_close(j);
	json_open(j, "ops", '[');
	for (size_t i = 0; i < rs->ops; i++)
		op_json(j, in, &rs->op[i]);
	json_close(j);
	insight_traffic_json(j, in);
	json_close(j);
}
