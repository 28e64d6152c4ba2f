/* SPDX-License-Identifier: Apache-2.0 */
/* api_rows.c - GPU time by kernel, op and module. */
#include <errno.h>
#include <stdio.h>

#include "serve/kernel_sources.h"

#define ROWS_DEFAULT 200u
#define ROWS_MOST    5000u

static int page_json(struct ask *q, struct json *j, struct krows *rs)
{
	uint64_t from = 0, most = ROWS_DEFAULT, rest = 0;
	int sort = ask_choice(q, "sort", ROWS_SORTS);
	char next[24];

	if (sort < 0 || ask_number(q, "limit", 1, ROWS_MOST, &most) < 0 ||
	    ask_number(q, "cursor", 0, 999999999, &from) < 0)
		return -EINVAL;
	krows_sort(rs, (enum krows_sort)sort);
	json_u64(j, "total_ns", krows_total(rs));
	json_open(j, "rows", '[');
	krows_json(j, rs, from, most);
	json_close(j);
	for (size_t i = from + most; i < rs->n; i++)
		rest += rs->row[i].ns;
	json_object(j, "rest", J_U64("n", from + most < rs->n ? rs->n - from - most : 0),
		    J_U64("ns", rest));
	snprintf(next, sizeof(next), "%llu", (unsigned long long)(from + most));
	json_str(j, "next", from + most < rs->n ? next : NULL);
	return 0;
}

/* Kernels from the best source: rollups for the whole run, events if they fit, else columns. */
int krows_kernels(struct krows *rs, struct ask *q, struct json *j, bool ranks)
{
	struct analysis *an;
	uint64_t t0, t1;
	bool all;
	int err = ask_range(q, &t0, &t1);

	if (err < 0)
		return err;
	all = !t0 && t1 == UINT64_MAX;
	if ((q->run.imported || !all) && analysis_fits(q)) {
		err = j ? analysis_begin(q, j, &an) : analysis_get(q, &an);
		return err ? err : fill_events(rs, an, &q->run, ROLL_KERNEL, ranks);
	}
	if (j)
		analysis_whole_json(j, &q->run, t0, t1);
	if (q->run.imported || !all)
		return fill_columns(rs, q, ranks);
	err = fill_rollups(rs, q, ranks);
	/* A store written without rollups has only events. */
	return err || rs->n || !q->run.held ? err : fill_columns(rs, q, ranks);
}

int api_kernels(struct ask *q, struct json *j)
{
	int group = ask_choice(q, "group", "name|rank"), err;
	struct krows rs;

	if (group < 0)
		return group;
	err = krows_init(&rs);
	if (err < 0)
		return err;
	err = krows_kernels(&rs, q, j, group == 1);
	err = err ? err : page_json(q, j, &rs);
	krows_fini(&rs);
	return err;
}

int api_ops(struct ask *q, struct json *j)
{
	int group = ask_choice(q, "group", "op|module"), err;
	struct analysis *an;
	struct krows rs;

	if (group < 0)
		return group;
	err = analysis_begin(q, j, &an);
	if (!err && an->in->parted)
		return page_json(q, j, &an->rows[group ? ROLL_MODULE : ROLL_OP]);
	err = err ? err : krows_init(&rs);
	if (err < 0)
		return err;
	err = fill_events(&rs, an, &q->run, group ? ROLL_MODULE : ROLL_OP, false);
	err = err ? err : page_json(q, j, &rs);
	krows_fini(&rs);
	return err;
}
