/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrive.c - checks a batch before it is stored: it is complete, of a known table, its rows match
 * their columns, and its node may send for that source and cluster. One bad row would spoil an
 * insert of half a million.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "relay/priv.h"
#include "ship/spool/batch.h"

/* Large enough for a row of any table. */
union any_row {
#define TABLE(ID, name, newest, time, order, partition, days, what) struct ship_##name name;
#define COL(TYPE, name, CODEC, since, what)
#define END(ID, name)
#include "ship/table.tbl.h"
};

/* All tables begin with the same columns. */
static const char *check_rows(const struct batch_head *h, const struct rowbin *rows,
			      const char *cluster)
{
	const struct ship_table *t = ship_table(batch_table(h));
	uint32_t cols = ship_cols(t, h->schema);
	size_t len = strlen(cluster);
	union any_row row;

	for (size_t at = 0; at < rows->len;) {
		int n = rowbin_get(t, cols, rows->data + at, rows->len - at, &row);
		const struct ship_name *first = &row.name;

		if (n <= 0)
			return "a row is not whole";
		if (first->src != h->src || first->seq != h->seq)
			return "a row is of another batch";
		if (len && (first->cluster.len != len || memcmp(first->cluster.s, cluster, len)))
			return "a row is of another cluster";
		at += (size_t)n;
	}
	return NULL;
}

int arrive(struct arrival *a, const void *wire, size_t len, const char *cluster, uint32_t shards,
	   char why[160])
{
	struct batch_head h;
	struct rowbin rows = { 0 };
	const char *wrong = NULL;
	int err = batch_parse(&h, wire, len);

	err = err ? err : batch_unpack(&rows, &h, wire);
	if (!err)
		wrong = check_rows(&h, &rows, cluster);
	rowbin_fini(&rows);
	if (wrong)
		err = -EACCES;
	if (err) {
		snprintf(why, 160, "%s",
			 wrong            ? wrong
			 : err == -EPROTO ? "of a newer version than this relay: upgrade it first"
			 : err == -ENOMEM ? "out of memory"
					  : "damaged, or no batch");
		return err;
	}
	*a = (struct arrival){
		.src = h.src,
		.seq = h.seq,
		.table = ship_table(batch_table(&h))->name,
		.schema = h.schema,
		.rows = h.rows,
		.shard = (uint32_t)(h.route % shards),
		.day = h.day,
		.bytes = h.bytes,
		.wire = wire,
		.len = len,
	};
	return 0;
}
