/* SPDX-License-Identifier: Apache-2.0 */
/* host_json.c - the host's work as JSON: operators, modules, the GPU work they launched. */
#include "read/json.h"

void insight_host_json(struct json *j, const char *key, const struct insight *in,
		       enum insight_host_by by)
{
	const struct insight_host_table *tab = &in->on_host[by];

	json_open(j, key, '[');
	for (size_t i = 0; i < tab->rows; i++) {
		const struct insight_host_row *r = &tab->row[i];

		json_open(j, NULL, '{');
		json_members(j, J_RANK(r->rank), J_STR("name", trace_text(in->t, r->name)),
			     J_U64("count", r->count), J_U64("total_ns", r->total_ns),
			     J_U64("self_ns", r->self_ns));
		if (by == HOST_MODULE)
			json_u64(j, "backward_ns", r->backward_ns);
		if (r->work_ns)
			json_members(j, J_U64("flops", r->flops), J_U64("bytes", r->bytes),
				     J_U64("work_ns", r->work_ns));
		json_close(j);
	}
	json_close(j);
}

static const char *name_of(const struct trace *t, uint32_t name)
{
	return name == UINT32_MAX ? NULL : trace_text(t, name);
}

void insight_work_json(struct json *j, const struct insight *in)
{
	json_open(j, "work", '[');
	for (size_t i = 0; i < in->work.rows; i++) {
		const struct insight_work_row *r = &in->work.row[i];

		json_open(j, NULL, '{');
		json_members(j, J_RANK(r->rank), J_STR("name", trace_text(in->t, r->name)),
			     J_STR("op", name_of(in->t, r->op)),
			     J_STR("module", name_of(in->t, r->module)), J_U64("count", r->count),
			     J_U64("total_ns", r->total_ns), J_U64("in_steps", r->in_steps));
		if (r->in_steps)
			json_members(j, J_U64("first_step", r->first_step),
				     J_U64("last_step", r->last_step));
		json_close(j);
	}
	json_close(j);
}
