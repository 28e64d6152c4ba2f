/* SPDX-License-Identifier: Apache-2.0 */
/* traffic_json.c - copies and collectives compared with their links, as JSON. */
#include "insight/insight.h"
#include "read/json.h"

static void row_json(struct json *j, const struct trace *t, const struct traffic_row *r)
{
	json_open(j, NULL, '{');
	json_members(j, J_RANK(r->rank), J_U64("device", t->device[r->device].device));
	if (r->collective)
		json_members(j, J_STR("op", r->op < COLL_OPS ? coll_op_word[r->op] : NULL),
			     J_STR("group", r->group ? trace_text(t, r->group) : NULL),
			     J_U64("ranks", r->ranks));
	else
		json_members(j, J_STR("direction", traffic_direction(r)),
			     J_BOOL("pageable", r->pageable));
	json_members(j, J_U64("count", r->count), J_U64("bytes", r->bytes),
		     J_U64("total_ns", r->total_ns), J_STR("verdict", traffic_word[r->is]),
		     J_KNOWN("bytes_per_s", r->bytes ? traffic_Bps(r) : 0));
	if (r->collective)
		json_members(j, J_KNOWN("bus_bytes_per_s", traffic_bus_Bps(r)),
			     J_U64("least_ns", r->least_ns),
			     J_U64_IF("waited_ns", r->matched_ns,
				      (double)r->total_ns - r->carry_ns + 0.5));
	json_members(j, J_KNOWN("wire_bytes_per_s", r->wire_Bps),
		     J_KNOWN("fraction", traffic_fraction(r)),
		     J_KNOWN("model_ns", r->should_ns / (double)r->count));
	json_close(j);
}

void insight_traffic_json(struct json *j, const struct insight *in)
{
	for (int collective = 0; collective < 2; collective++) {
		json_open(j, collective ? "collectives" : "copies", '[');
		for (size_t i = 0; i < in->traffic.rows; i++)
			if (in->traffic.row[i].collective == (bool)collective)
				row_json(j, in->t, &in->traffic.row[i]);
		json_close(j);
	}
}
