/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_insert.c - freezes the batches that a relay holds into inserts, hands these out to be sent,
 * and deletes them once they arrived; see batch_store.h.
 */
#include "relay/batch_store_priv.h"

#include <errno.h>
#include <stdio.h>

static void column_table(sqlite3_stmt *s, int i, char out[HOLD_TABLE])
{
	const char *text = (const char *)sqlite3_column_text(s, i);

	snprintf(out, HOLD_TABLE, "%s", text ? text : "");
}

/* Chooses the batches of one table and version for one insert: all up to some id. */
static int choose(struct batch_store *h, struct insert *in, const struct freeze_rules *r,
		  uint64_t *to)
{
	sqlite3_stmt *s = batch_store_use(
		h, ST_OPEN, WITH(N(in->shard), T(in->table), N(in->schema), N(in->day)));
	int rc;

	in->rows = in->batches = 0;
	in->bytes = 0;
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t rows = batch_store_column(s, 1), bytes = batch_store_column(s, 2);

		if (in->batches &&
		    (in->rows + rows > r->rows_max || in->bytes + bytes > r->bytes_max))
			break;
		*to = batch_store_column(s, 0);
		in->rows += (uint32_t)rows;
		in->bytes += bytes;
		in->batches++;
	}
	sqlite3_reset(s);
	return AFTER(rc) ? 0 : batch_store_errno(rc);
}

static int new_insert(struct batch_store *h, struct insert *in)
{
	int err = batch_store_run(h, ST_INS,
				  WITH(T(in->table), N(in->schema), N(in->day), N(in->shard),
				       N(in->rows), N(in->bytes), N(in->batches), N(in->at_ns)));

	if (!err)
		in->id = (uint64_t)sqlite3_last_insert_rowid(h->db);
	return err;
}

static int freeze_one(struct batch_store *h, struct insert *in, const struct freeze_rules *r)
{
	uint64_t to = 0;
	int err = choose(h, in, r, &to);

	if (!err && in->batches)
		err = new_insert(h, in);
	if (err || !in->batches)
		return err;
	return batch_store_run(
		h, ST_FREEZE,
		WITH(N(in->id), N(in->shard), T(in->table), N(in->schema), N(in->day), N(to)));
}

int batch_store_freeze(struct batch_store *h, uint32_t shard, const struct freeze_rules *r,
		       uint64_t now_ns, bool all)
{
	struct insert due[32];
	size_t n = 0;
	int err = batch_store_begin(h), rc = SQLITE_DONE;
	sqlite3_stmt *s = batch_store_use(h, ST_DUE, WITH(N(shard)));

	while (!err && n < 32 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		uint64_t rows = batch_store_column(s, 3), bytes = batch_store_column(s, 4),
			 at = batch_store_column(s, 5);

		if (all || rows >= r->rows || bytes >= r->bytes || now_ns < at ||
		    now_ns - at >= r->age_ns) {
			due[n] = (struct insert){ .schema = (uint32_t)batch_store_column(s, 1),
						  .day = (uint32_t)batch_store_column(s, 2),
						  .shard = shard,
						  .at_ns = at };
			column_table(s, 0, due[n++].table);
		}
	}
	if (!err && !AFTER(rc))
		err = batch_store_errno(rc);
	sqlite3_reset(s);
	for (size_t i = 0; i < n && !err; i++)
		err = freeze_one(h, &due[i], r);
	err = batch_store_end(h, err);
	return err ? err : (int)n;
}

int batch_store_next(struct batch_store *h, uint32_t shard, const char *not_tables,
		     struct insert *out)
{
	sqlite3_stmt *s;
	int rc;

	pthread_mutex_lock(&h->lock);
	s = batch_store_use(h, ST_NEXT, WITH(N(shard), T(not_tables)));
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		*out = (struct insert){ .id = batch_store_column(s, 0),
					.schema = (uint32_t)batch_store_column(s, 2),
					.rows = (uint32_t)batch_store_column(s, 3),
					.bytes = batch_store_column(s, 4),
					.batches = (uint32_t)batch_store_column(s, 5),
					.at_ns = batch_store_column(s, 6),
					.shard = shard };
		column_table(s, 1, out->table);
	}
	sqlite3_reset(s);
	pthread_mutex_unlock(&h->lock);
	return rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -ENOENT : batch_store_errno(rc);
}

int batch_store_read(struct batch_store *h, uint64_t insert, batch_store_fn *fn, void *arg)
{
	sqlite3_stmt *s;
	int rc, err = 0;

	pthread_mutex_lock(&h->lock);
	s = batch_store_use(h, ST_READ, WITH(N(insert)));
	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW)
		err = fn(arg, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
	if (!err && rc != SQLITE_DONE)
		err = batch_store_errno(rc);
	sqlite3_reset(s);
	pthread_mutex_unlock(&h->lock);
	return err;
}

int batch_store_done(struct batch_store *h, uint64_t insert)
{
	int err = batch_store_begin(h);

	for (int st = ST_GONE; st <= ST_GONE3 && !err; st++)
		err = batch_store_run(h, (enum st)st, WITH(N(insert)));
	return batch_store_end(h, err);
}

/* Makes each batch of an insert an insert of its own. */
static int split(struct batch_store *h, uint64_t insert)
{
	sqlite3_stmt *s;
	int err = 0, rc;

	/*
	 * A moved batch no longer belongs to this insert, so the first one left is always the next.
	 */
	for (;;) {
		struct insert in;
		uint64_t batch;

		s = batch_store_use(h, ST_PARTS, WITH(N(insert)));
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		batch = batch_store_column(s, 0);
		in = (struct insert){ .schema = (uint32_t)batch_store_column(s, 2),
				      .day = (uint32_t)batch_store_column(s, 3),
				      .shard = (uint32_t)batch_store_column(s, 4),
				      .rows = (uint32_t)batch_store_column(s, 5),
				      .bytes = batch_store_column(s, 6),
				      .at_ns = batch_store_column(s, 7),
				      .batches = 1 };
		column_table(s, 1, in.table);
		sqlite3_reset(s);
		err = new_insert(h, &in);
		err = err ? err : batch_store_run(h, ST_TO_INS, WITH(N(in.id), N(batch)));
		if (err)
			return err;
	}
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? batch_store_run(h, ST_GONE3, WITH(N(insert)))
				 : batch_store_errno(rc);
}

int batch_store_refused(struct batch_store *h, uint64_t insert, const char *why, bool *aside)
{
	int err = batch_store_begin(h);
	uint64_t n = 0;

	if (!err) {
		if (sqlite3_step(batch_store_use(h, ST_COUNT, WITH(N(insert)))) == SQLITE_ROW)
			n = batch_store_column(h->st[ST_COUNT], 0);
		sqlite3_reset(h->st[ST_COUNT]);
		*aside = n <= 1;
		err = *aside ? batch_store_run(h, ST_ASIDE, WITH(T(why), N(insert)))
			     : split(h, insert);
	}
	return batch_store_end(h, err);
}
