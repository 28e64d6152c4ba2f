/* SPDX-License-Identifier: Apache-2.0 */
/* rows_json.c - rows of a report as JSON: nanoseconds, full names, no rows merged. */
#include <stdlib.h>

#include "names/class.h"
#include "read/json.h"

#define LABEL_BYTES 2048u /* limit for a name */

static void row_json(struct json *j, const struct gather *g, const struct process *p,
		     const struct gather_row *r, const struct names *names)
{
	bool nests = gather_nests(r->kind);
	bool whole = !r->span && nests && r->held_ns == r->total_ns;
	char label[LABEL_BYTES];

	json_open(j, NULL, '{');
	if (p) {
		json_u64(j, "process", p->id);
		json_u64(j, "pid", p->pid);
	}
	gather_label(g, r, label, sizeof(label));
	json_str(j, r->track ? "track" : "name", label);
	if (r->track)
		json_str(j, "lane", label); /* the key until 0.1 */
	if (gather_is_gpu(r->kind) && !r->track) {
		json_null(j, "rank");
		json_str(j, "class", class_word[names_work_text(names, r->kind, label)]);
	}
	json_members(j, J_STR("kind", event_word(r->kind)), J_U64("count", r->count),
		     J_U64("total_ns", r->total_ns));
	if (gather_sampled(g, r->kind))
		json_u64(j, "total_error_ns", (uint64_t)(sampled_error(r->variance) + 0.5));
	json_members(j, J_U64("min_ns", r->min_ns), J_U64("max_ns", r->max_ns),
		     J_U64("p50_ns", gather_quantile(r, 0.5)),
		     J_U64("p99_ns", gather_quantile(r, 0.99)));
	if (r->bytes)
		json_u64(j, "bytes", r->bytes);
	if (r->roof.known_ns) {
		json_members(j, J_STR("limit", roof_limit_word[roof_name_limit(&r->roof)]),
			     J_REAL("fraction", roof_name_fraction(&r->roof)),
			     J_STR("how", work_how_word[roof_name_how(&r->roof)]));
	}
	if (whole)
		json_u64(j, "self_ns", r->self_ns);
	else if (nests)
		json_null(j, "self_ns");
	if (r->kind == EVENT_RANGE)
		json_bool(j, "span", r->span);
	json_close(j);
}

void gather_rows_json(struct json *j, const struct gather *g, const struct process *p,
		      uint32_t kinds)
{
	static const struct trace no_trace;
	const struct gather_row **row;
	struct names *names = NULL;
	uint64_t sum;
	size_t n;

	if (kinds & GATHER_GPU)
		/* if it fails, every kernel has the class other */
		(void)names_new(&names, &no_trace);
	row = gather_sorted(g, kinds, &n, &sum);
	for (size_t i = 0; row && i < n; i++)
		row_json(j, g, p, row[i], names);
	free(row);
	names_free(names);
}
