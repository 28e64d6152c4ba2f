/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evict.c - keeps the file under its limits: the oldest rows are dropped and accounted for.
 *
 * The file never shrinks in use: rows are dropped before others are put in, and these take
 * the pages that became free. Event blobs go first. Windows and records of steps are far smaller
 * and worth more, so they may reach back WINDOWS_LONGER times as far before they go instead.
 */
#include "store/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define WINDOWS_LONGER  32
#define TELEMETRY_SHARE 8  /* of the cap; only then, or when nothing else is left, it goes */
#define SLACK_PAGES     16 /* for the pages of trees that an insert may split */

#define FORGET_AT_ONCE 4096u

struct oldest {
	int64_t id; /* 0: there is none */
	uint32_t process;
	uint64_t records;
	int64_t wall_ns;
	uint64_t t0_ns, t1_ns, bytes; /* of a blob */
};

/* The oldest behind that number. */
static int get_oldest(struct store *st, enum statement which, int64_t after, struct oldest *out)
{
	sqlite3_stmt *s = store_stmt(st, which);
	int rc;

	if (!s)
		return store_errno(st, sqlite3_errcode(st->db));
	if (which == ST_OLDEST_BLOB)
		sqlite3_bind_int64(s, 1, after);
	rc = sqlite3_step(s);
	*out = (struct oldest){ 0 };
	if (rc == SQLITE_ROW) {
		out->id = sqlite3_column_int64(s, 0);
		out->process = (uint32_t)sqlite3_column_int64(s, 1);
		out->records = (uint64_t)sqlite3_column_int64(s, 2);
		out->wall_ns = sqlite3_column_int64(s, 3);
	}
	if (out->id && which == ST_OLDEST_BLOB) {
		out->t0_ns = (uint64_t)sqlite3_column_int64(s, 4);
		out->t1_ns = (uint64_t)sqlite3_column_int64(s, 5);
		out->bytes = (uint64_t)sqlite3_column_int64(s, 6);
	}
	sqlite3_reset(s);
	return store_errno(st, rc);
}

/* --- what is kept --- */

static void drop_kept(struct store *st)
{
	st->kept_n--;
	memmove(st->kept, st->kept + 1, st->kept_n * sizeof(st->kept[0]));
}

void store_keep(struct store *st, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	pthread_mutex_lock(&st->mem_lock);
	if (st->kept_n == STORE_KEPT)
		drop_kept(st);
	st->kept[st->kept_n++] = (struct kept_events){ process, from_ns, to_ns };
	pthread_mutex_unlock(&st->mem_lock);
}

static bool is_kept(struct store *st, const struct oldest *o)
{
	bool kept = false;

	pthread_mutex_lock(&st->mem_lock);
	for (uint32_t i = 0; i < st->kept_n && !kept; i++)
		kept = st->kept[i].process == o->process && o->t1_ns >= st->kept[i].from_ns &&
		       o->t0_ns < st->kept[i].to_ns;
	pthread_mutex_unlock(&st->mem_lock);
	return kept;
}

/* One less is kept: 1, or 0 where nothing was. */
static int keep_less(struct store *st)
{
	int any;

	pthread_mutex_lock(&st->mem_lock);
	any = st->kept_n != 0;
	if (any)
		drop_kept(st);
	pthread_mutex_unlock(&st->mem_lock);
	return any;
}

/* The oldest blob that may be dropped: a kept one only if there are too many, or no others. */
static int oldest_blob(struct store *st, struct oldest *out)
{
	uint64_t kept = 0;
	int err;

	for (int64_t after = 0;; after = out->id) {
		err = get_oldest(st, ST_OLDEST_BLOB, after, out);
		if (err < 0 || (out->id && !is_kept(st, out)))
			return err;
		kept += out->bytes;
		if (out->id && (!st->opts.max_bytes || kept <= st->opts.max_bytes / 4))
			continue;
		if (!keep_less(st))
			return 0; /* there is none */
		kept = 0;
		out->id = 0; /* again, from the beginning */
	}
}

/* Wall time of a moment. Ages use it: CLOCK_MONOTONIC restarts with each boot. */
static int64_t wall_now(struct store *st, uint64_t now_ns)
{
	int64_t wall;

	pthread_mutex_lock(&st->mem_lock);
	wall = (int64_t)(now_ns + (uint64_t)st->wall_offset_ns);
	pthread_mutex_unlock(&st->mem_lock);
	return wall;
}

static int cut(struct store *st, enum statement which, int64_t id)
{
	sqlite3_stmt *s = store_stmt(st, which);

	if (s)
		sqlite3_bind_int64(s, 1, id);
	return store_run(st, s);
}

/* Moves records from stored to overwritten: in memory, and as a row of this transaction. */
static int age_records(struct store *st, uint32_t process, uint64_t records)
{
	struct rows row = { 0 };
	struct known_process *k;
	uint64_t all = 0;
	int err;

	pthread_mutex_lock(&st->mem_lock);
	k = store_known(st, process, true);
	if (k)
		all = k->overwritten += records;
	pthread_mutex_unlock(&st->mem_lock);
	err = k ? row_put_aged(&row, process, all) : -ENOMEM;
	if (err == 0)
		err = store_put_row(st, row.data, row.len);
	rows_fini(&row);
	return err;
}

static int drop_blob(struct store *st, const struct oldest *o)
{
	int err;

	err = cut(st, ST_CUT_DATA, o->id);
	if (err == 0)
		err = cut(st, ST_CUT_BLOB, o->id);
	if (err == 0)
		err = age_records(st, o->process, o->records);
	st->oldest_wall = 0;
	return err;
}

/* 1: dropped a block, 0: there is none, or -errno. */
static int drop_block(struct store *st)
{
	struct oldest o;
	int err = get_oldest(st, ST_OLDEST_TELE, 0, &o);

	if (err < 0 || !o.id)
		return err;
	err = cut(st, ST_CUT_TELE, o.id);
	st->tele_bytes -= o.records < st->tele_bytes ? o.records : st->tele_bytes;
	return err < 0 ? err : 1;
}

int store_drop_telemetry(struct store *st)
{
	int err = 1;

	while (err > 0 && st->opts.max_bytes &&
	       st->tele_bytes > st->opts.max_bytes / TELEMETRY_SHARE)
		err = drop_block(st);
	return err < 0 ? err : 0;
}

/* 1: dropped something, 0: nothing is left, or -errno. */
static int drop_oldest(struct store *st)
{
	struct oldest blob, win, step = { 0 };
	enum statement cut_win = ST_CUT_WIN;
	int64_t now;
	int err;

	err = oldest_blob(st, &blob);
	if (err == 0)
		err = get_oldest(st, ST_OLDEST_WIN, 0, &win);
	if (err == 0 && !st->old)
		err = get_oldest(st, ST_OLDEST_STEP, 0, &step);
	if (err < 0)
		return err;
	if (step.id && (!win.id || step.wall_ns < win.wall_ns)) {
		win = step;
		cut_win = ST_CUT_STEP;
	}
	if (!blob.id && !win.id)
		return st->old ? 0 : drop_block(st);
	now = wall_now(st, st->now_ns);
	if (!blob.id || (win.id && now > blob.wall_ns &&
			 (now - win.wall_ns) / WINDOWS_LONGER > now - blob.wall_ns))
		err = cut(st, cut_win, win.id);
	else
		err = drop_blob(st, &blob);
	return err < 0 ? err : 1;
}

/* Pages that may still be filled: free ones, and those by which the file may grow. */
static int room(struct store *st, int64_t *out)
{
	int64_t cap = (int64_t)((st->opts.max_bytes - 4 * store_wal_limit(st)) / STORE_PAGE);
	int64_t pages = store_number(st, ST_PAGES), vacant = store_number(st, ST_FREE_PAGES);

	if (pages < 0 || vacant < 0)
		return (int)(pages < 0 ? pages : vacant);
	*out = cap - pages + vacant;
	return 0;
}

int store_make_room(struct store *st, size_t bytes)
{
	int64_t need = (int64_t)(bytes / (STORE_PAGE - 4)) + SLACK_PAGES, left = 0;
	int err;

	if (!st->opts.max_bytes)
		return 0;
	/* A reader that holds the log keeps it from being folded back: no more until it lets go. */
	if ((uint64_t)st->wal_frames * STORE_PAGE > 3 * store_wal_limit(st))
		return -ENOSPC;
	for (;;) {
		err = room(st, &left);
		if (err < 0 || left >= need)
			return err;
		err = drop_oldest(st);
		if (err <= 0)
			return err < 0 ? err : -ENOSPC;
	}
}

int store_drop_aged(struct store *st, uint64_t now_ns)
{
	int64_t limit = wall_now(st, now_ns) - (int64_t)st->opts.max_age_ns;
	struct oldest o;
	int err = 0;

	st->now_ns = now_ns;
	while (err == 0 && st->opts.max_age_ns && limit > 0 && st->oldest_wall < (uint64_t)limit) {
		err = oldest_blob(st, &o);
		if (err < 0)
			return err;
		st->oldest_wall = o.id ? (uint64_t)o.wall_ns : UINT64_MAX;
		if (st->oldest_wall >= (uint64_t)limit)
			break;
		err = store_begin(st);
		if (err == 0)
			err = drop_blob(st, &o);
	}
	return err;
}

int store_shrink(struct store *st)
{
	int64_t cap = (int64_t)(st->opts.max_bytes / STORE_PAGE);
	int err;

	if (!st->opts.max_bytes || store_number(st, ST_PAGES) <= cap)
		return 0;
	err = store_begin(st);
	if (err == 0)
		err = store_make_room(st, 0);
	if (err == 0)
		err = store_run(st, store_stmt(st, ST_COMMIT));
	if (err < 0)
		return err == -ENOSPC ? 0 : err;
	st->in_txn = false;
	/* The only way to make the file shorter. Where it fails, the file stays as long as it is
	 * but does not grow. */
	sqlite3_exec(st->db, "VACUUM", NULL, NULL, NULL);
	sqlite3_wal_checkpoint_v2(st->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	st->wal_frames = 0;
	return 0;
}

struct forgotten {
	uint32_t n;
	uint32_t id[FORGET_AT_ONCE]; /* rising */
};

static bool is_forgotten(void *arg, uint64_t hash, uint64_t id)
{
	const struct forgotten *f = arg;
	size_t at = first_where(i, 0, f->n, f->id[i] >= id);

	(void)hash;
	return at < f->n && f->id[at] == id;
}

/* Leaves in f those that may go, and drops them from memory. */
static void forget_known(struct store *st, struct forgotten *f)
{
	uint32_t kept = 0, keep = 0;
	struct known_process *k;

	pthread_mutex_lock(&st->mem_lock);
	for (uint32_t i = 0; i < f->n; i++) {
		k = store_known(st, f->id[i], false);
		if (k && !k->connected)
			f->id[kept++] = f->id[i];
	}
	f->n = kept;
	for (uint32_t i = 0; i < st->known_n; i++)
		if (!is_forgotten(f, 0, st->known[i].id))
			st->known[keep++] = st->known[i];
	st->known_n = keep;
	map_drop(&st->processes, is_forgotten, f);
	pthread_mutex_unlock(&st->mem_lock);
}

static int forget(struct store *st, struct forgotten *f)
{
	sqlite3_stmt *s = store_stmt(st, ST_EMPTY_PROCESS);
	int rc, err;

	if (!s)
		return store_errno(st, sqlite3_errcode(st->db));
	sqlite3_bind_int64(s, 1, FORGET_AT_ONCE);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW)
		f->id[f->n++] = (uint32_t)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	err = store_errno(st, rc);
	forget_known(st, f);
	for (uint32_t i = 0; err == 0 && i < f->n; i++)
		err = cut(st, ST_CUT_PROCESS, f->id[i]);
	if (err == 0)
		err = store_run(st, store_stmt(st, ST_CUT_TRACKS));
	if (err == 0)
		err = store_run(st, store_stmt(st, ST_CUT_AGED));
	return err;
}

int store_forget(struct store *st)
{
	struct forgotten *f;
	uint32_t known;
	int err;

	pthread_mutex_lock(&st->mem_lock);
	known = st->known_n;
	pthread_mutex_unlock(&st->mem_lock);
	if (known < STORE_PROCESSES_MAX || known < st->forget_at)
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	err = store_begin(st);
	if (err == 0)
		err = forget(st, f);
	/* Where nothing could go, do not look again at each commit. */
	st->forget_at = known - f->n + FORGET_AT_ONCE;
	free(f);
	return err;
}
