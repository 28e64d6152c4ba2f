/* SPDX-License-Identifier: Apache-2.0 */
/* traffic_json.c - copies and collectives compared with their links, as JSON. */
#include "insight/insight.h"
#include "read/json.h"

/* 0 stands for what is not known. */
static void known(struct json *j, const char *key, double v)
{
	if (v > 0)
		json_real(j, key, v);
	else
		json_null(j, key);
}

static void row_json(struct json *j, const struct trace *t, const struct traffic_row *r)
{
	json_open(j, NULL, '{');
	json_rank(j, "rank", r->rank);
	json_u64(j, "device", t->device[r->device].device);
	if (r->collective) {
		json_members(j, J_STR("op", r->op < COLL_OPS ? coll_op_word[r->op] : NULL),
			     J_STR("group", r->group ? trace_text(t, r->group) : NULL),
			     J_U64("ranks", r->ranks));
	} else {
		json_str(j, "direction", traffic_direction(r));
		json_bool(j, "pageable", r->pageable);
	}
	json_members(j, J_U64("count", r->count), J_U64("bytes", r->bytes),
		     J_U64("total_ns", r->total_ns), J_STR("verdict", traffic_word[r->is]));
	known(j, "bytes_per_s", r->bytes ? traffic_Bps(r) : 0);
	if (r->collective) {
		known(j, "bus_bytes_per_s", traffic_bus_Bps(r));
		json_u64(j, "least_ns", r->least_ns);
		if (r->matched_ns)
			json_u64(j, "waited_ns",
				 (uint64_t)((double)r->total_ns - r->carry_ns + 0.5));
		else
			json_null(j, "waited_ns");
	}
	known(j, "wire_bytes_per_s", r->wire_Bps);
	known(j, "fraction", traffic_fraction(r));
	known(j, "model_ns", r->should_ns / (double)r->count);
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
