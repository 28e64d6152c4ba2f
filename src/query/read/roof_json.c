/* SPDX-License-Identifier: Apache-2.0 */
/* roof_json.c - what limits kernels, as JSON: FLOP and bytes of a call, rates of all its calls. */
#include <stdio.h>

#include "insight/insight.h"
#include "read/json.h"
#include "theory/roofline.h"

static const char *name_of(const struct trace *t, uint32_t name)
{
	return name ? trace_text(t, name) : NULL;
}

void roof_verdict_json(struct json *j, const struct roof_row *r)
{
	json_members(j, J_STR("limit", roof_limit_word[r->is.limit]),
		     J_KNOWN("fraction", r->is.fraction), J_STR("how", work_how_word[r->work.how]),
		     J_BOOL("at_most", r->work.at_most), J_KNOWN("of_model", roof_row_model(r)),
		     J_KNOWN("waves", r->waves), J_KNOWN("tail", r->waves > 0 ? r->tail : 0),
		     J_KNOWN("occupancy", r->occupancy));
}

static void row_json(struct json *j, const struct insight *in, const struct roof_row *r)
{
	json_open(j, NULL, '{');
	json_members(j, J_RANK(r->rank), J_U64("device", in->t->device[r->device].device),
		     J_STR("name", trace_text(in->t, r->name)),
		     J_STR("class", class_word[r->class]), J_STR("op", name_of(in->t, r->op)),
		     J_STR("shapes", name_of(in->t, r->shapes)), J_U64("count", r->count),
		     J_U64("total_ns", r->total_ns));
	roof_verdict_json(j, r);
	json_members(j, J_STR("occupancy_by", r->occupancy_by),
		     J_STR("type", r->work.how ? gpu_type_word[r->work.type] : NULL),
		     J_BOOL("tensor", r->work.tensor), J_KNOWN("flops", r->work.flops),
		     J_KNOWN("bytes", r->work.bytes), J_KNOWN("l2_bytes", r->work.l2_bytes),
		     J_KNOWN("flops_per_s", roof_row_flops(r)),
		     J_KNOWN("bytes_per_s", roof_row_Bps(r)), J_KNOWN("compute", r->is.compute),
		     J_KNOWN("memory", r->is.memory), J_KNOWN("cache", r->is.cache),
		     J_KNOWN("roof_ns", r->is.least_ns), J_KNOWN("model_ns", r->model_ns));
	json_close(j);
}

static void op_json(struct json *j, const struct insight *in, const struct roof_op *o)
{
	double s = (double)o->total_ns / 1e9 / (double)(o->count ? o->count : 1);

	json_object(j, NULL, J_RANK(o->rank), J_STR("name", trace_text(in->t, o->name)),
		    J_STR("shapes", trace_text(in->t, o->shapes)), J_U64("count", o->count),
		    J_U64("total_ns", o->total_ns), J_U64("flops", o->work.flops),
		    J_U64("bytes", o->work.bytes),
		    J_KNOWN("flops_per_s", s > 0 ? (double)o->work.flops / s : 0),
		    J_KNOWN("bytes_per_s", s > 0 ? (double)o->work.bytes / s : 0));
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
		json_members(j, J_RANK(in->device[i].rank), J_U64("device", d->device),
			     J_STR("name", name_of(in->t, d->name)),
			     J_STR("known_as", g ? g->key : NULL));
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
