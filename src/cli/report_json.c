/* SPDX-License-Identifier: Apache-2.0 */
/* report_json.c - rows of a report as JSON: nanoseconds, whole names, nothing folded. */
#include <stdlib.h>

#include "cli/report.h"

static void row_json(struct json *j, const struct gather *g, const struct process *p,
		     const struct gather_row *r)
{
	static const char *const kind[EVENT_MAX] = {
#define EVENT(num, NAME, text, has) [num] = text,
#include "model/event.tbl.h"
	};
	bool nests = r->kind == EVENT_RANGE || r->kind == EVENT_OP;
	bool whole = !r->span && nests && r->held_ns == r->total_ns;
	char label[OUT_TEXT];

	json_open(j, NULL, '{');
	if (p) {
		json_u64(j, "process", p->id);
		json_u64(j, "pid", p->pid);
	}
	json_str(j, r->lane ? "lane" : "name", gather_label(g, r, label, sizeof(label)));
	json_str(j, "kind", r->kind < EVENT_MAX ? kind[r->kind] : NULL);
	json_u64(j, "count", r->count);
	json_u64(j, "total_ns", r->total_ns);
	json_u64(j, "min_ns", r->min_ns);
	json_u64(j, "max_ns", r->max_ns);
	json_u64(j, "p50_ns", gather_quantile(r, 0.5));
	json_u64(j, "p99_ns", gather_quantile(r, 0.99));
	if (r->bytes)
		json_u64(j, "bytes", r->bytes);
	if (whole)
		json_u64(j, "self_ns", r->self_ns);
	else if (nests)
		json_null(j, "self_ns");
	if (r->kind == EVENT_RANGE)
		json_bool(j, "span", r->span);
	json_close(j);
}

void report_rows_json(struct json *j, const struct gather *g, const struct process *p,
		      uint32_t kinds)
{
	const struct gather_row **row;
	uint64_t sum;
	size_t n;

	row = gather_sorted(g, kinds, &n, &sum);
	for (size_t i = 0; row && i < n; i++)
		row_json(j, g, p, row[i]);
	free(row);
}
