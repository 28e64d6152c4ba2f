/* SPDX-License-Identifier: Apache-2.0 */
/* host_json.c - operators and modules by their time on the host, as JSON. */
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
		json_str(j, "name", trace_text(in->t, r->name));
		json_u64(j, "count", r->count);
		json_u64(j, "total_ns", r->total_ns);
		json_u64(j, "self_ns", r->self_ns);
		if (by == HOST_MODULE)
			json_u64(j, "backward_ns", r->backward_ns);
		if (r->work_ns) {
			json_u64(j, "flops", r->flops);
			json_u64(j, "bytes", r->bytes);
			json_u64(j, "work_ns", r->work_ns);
		}
		json_close(j);
	}
	json_close(j);
}
