/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_json.c - the host's work as JSON: operators and modules, and the GPU work that they
 * launched.
 */
#include "read/json.h"

void insight_host_json(struct json *j, const char *key, const struct insight *in,
		       enum insight_host_by by)
{
	const struct insight_host_table *tab = &in->on_host[by];

	json_open(j, key, '[');
	for (size_t i = 0; i < tab->rows; i++) {
		const struct insight_host_row *r = &tab->row[i];

		json_open(j, NULL, '{');
		json_rank(j, "rank", r->rank);
		json_members(j, J_STR("name", trace_text(in->t, r->name)), J_U64("count", r->count),
			     J_U64("total_ns", r->total_ns), J_U64("self_ns", r->self_ns));
		if (by == HOST_MODULE)
			json_u64(j, "backward_ns", r->backward_ns);
		if (r->work_ns) {
			json_members(j, J_U64("flops", r->flops), J_U64("bytes", r->bytes),
				     J_U64("work_ns", r->work_ns));
		}
		json_close(j);
	}
	json_close(j);
}

static void name_or_null(struct json *j, const char *key, const struct trace *t, uint32_t name)
{
	json_str(j, key, name == UINT32_MAX ? NULL : trace_text(t, name));
}

void insight_work_json(struct json *j, const struct insight *in)
{
	json_open(j, "work", '[');
	for (size_t i = 0; i < in->work.rows; i++) {
		const struct insight_work_row *r = &in->work.row[i];

		json_open(j, NULL, '{');
		json_rank(j, "rank", r->rank);
		json_str(j, "name", trace_text(in->t, r->name));
		name_or_null(j, "op", in->t, r->op);
		name_or_null(j, "module", in->t, r->module);
		json_members(j, J_U64("count", r->count), J_U64("total_ns", r->total_ns),
			     J_U64("in_steps", r->in_steps));
		if (r->in_steps) {
			json_u64(j, "first_step", r->first_step);
			json_u64(j, "last_step", r->last_step);
		}
		json_close(j);
	}
	json_close(j);
}
