/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - walks what a store holds, a batch at a time.
 *
 * A batch is copied out in one short transaction; the caller's function runs after it, with no
 * lock and no transaction held, so that a slow reader never prevents the checkpoint of the log.
 */
#include "store/priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_BYTES (256u << 10)

int store_reopen(struct store *st)
{
	char log[PATH_MAX + 8];

	snprintf(log, sizeof(log), "%s-wal", st->path);
	if (!st->alone || access(log, F_OK) < 0)
		return 0;
	for (int i = 0; i < ST_COUNT; i++) {
		sqlite3_finalize(st->stmt[i]);
		st->stmt[i] = NULL;
	}
	sqlite3_close(st->db);
	st->db = NULL;
	return store_connect_ro(st);
}

static int copy_rows(struct store *st, sqlite3_stmt *s, struct store_batch *b)
{
	int rc, err;

	b->n = 0;
	b->bytes.len = 0;
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		const void *data = sqlite3_column_blob(s, 1);
		size_t len = (size_t)sqlite3_column_bytes(s, 1);

		err = rows_reserve(&b->bytes,
				   len + 1); /* so that even of nothing there is an address */
		if (err < 0)
			return err;
		if (len)
			memcpy(b->bytes.data + b->bytes.len, data, len);
		b->bytes.len += len;
		b->id[b->n] = (uint64_t)sqlite3_column_int64(s, 0);
		b->end[b->n++] = b->bytes.len;
		if (b->n == STORE_BATCH || b->bytes.len > BATCH_BYTES)
			return 0;
	}
	b->last = true;
	return store_errno(st, rc);
}

int store_batch_get(struct store *st, const struct store_walk *w, uint64_t after,
		    struct store_batch *b)
{
	sqlite3_stmt *s;
	int err;

	pthread_mutex_lock(&st->db_lock);
	err = store_reopen(st);
	if (err < 0)
		goto unlock;
	s = store_stmt(st, w->which);
	if (!s) {
		err = store_errno(st, sqlite3_errcode(st->db));
		goto unlock;
	}
	sqlite3_bind_int64(s, 1, (int64_t)after);
	sqlite3_bind_int64(s, 2, STORE_BATCH);
	/* Statements without these parameters refuse them, and that is all right. */
	sqlite3_bind_blob64(s, 3, w->f.process, w->f.processes * sizeof(*w->f.process),
			    SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, w->f.from_ns > INT64_MAX ? INT64_MAX : (int64_t)w->f.from_ns);
	sqlite3_bind_int64(
		s, 5, !w->f.to_ns || w->f.to_ns > INT64_MAX ? INT64_MAX : (int64_t)w->f.to_ns - 1);
	err = copy_rows(st, s, b);
	sqlite3_reset(s);
unlock:
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

int store_walk(struct store *st, const struct store_walk *w, store_row_fn *fn, void *arg)
{
	struct store_batch *b = calloc(1, sizeof(*b));
	uint64_t after = w->after;
	int err = b ? 0 : -ENOMEM;

	while (err == 0 && !b->last) {
		err = store_batch_get(st, w, after, b);
		for (int i = 0; err == 0 && i < b->n; i++) {
			size_t from = i ? b->end[i - 1] : 0;

			err = fn(arg, b->id[i], b->bytes.data + from, b->end[i] - from);
			after = b->id[i];
		}
	}
	if (b)
		rows_fini(&b->bytes);
	free(b);
	return err;
}

/* --- the callbacks between a row and the caller's --- */

struct each {
	struct store *st;
	union {
		store_process_fn *process;
		store_track_fn *track;
		store_name_fn *name;
		store_geo_fn *geo;
		store_window_fn *window;
		store_entry_fn *entry;
	} fn;
	void *arg;
	struct window_codec *win;
	uint64_t last; /* number of the last window */
};

/* A seal of the right type for the row, or -EBADMSG. */
static int open_row(struct seal *s, int type, uint64_t id, const uint8_t *row, size_t len)
{
	int err = seal_check(s, row, len);

	if (err < 0)
		return err == -EPROTO ? err : -EBADMSG;
	return s->type == type && s->row == id ? 0 : -EBADMSG;
}

static int each_process(void *arg, uint64_t id, const uint8_t *row, size_t len)
{
	struct each *e = arg;
	struct process p;
	struct known_process *k;
	struct seal s;
	uint64_t gone;
	int err;

	err = open_row(&s, SEAL_PROCESS, id, row, len);
	if (err == 0)
		err = row_get_process(&s, row + sizeof(s), &p);
	if (err < 0)
		return err;
	pthread_mutex_lock(&e->st->mem_lock);
	k = store_known(e->st, p.id, false);
	gone = k ? k->overwritten : 0;
	pthread_mutex_unlock(&e->st->mem_lock);
	p.account.overwritten = gone < p.account.stored ? gone : p.account.stored;
	p.account.stored -= p.account.overwritten;
	return e->fn.process(e->arg, &p);
}

int store_each_process(struct store *st, store_process_fn *fn, void *arg)
{
	struct each e = { .st = st, .fn.process = fn, .arg = arg };
	int err;

	STORE_ELSEWHERE(st, each_process, fn, arg);
	err = st->writer ? 0 : store_load_aged(st); /* a writer knows */
	return err < 0 ? err
		       : store_walk(st, &(struct store_walk){ .which = ST_EACH_PROCESS },
				    each_process, &e);
}

static int each_name(void *arg, uint64_t id, const uint8_t *row, size_t len)
{
	struct each *e = arg;
	char text[ROW_NAME_MAX + 1];
	struct seal s;
	int err = open_row(&s, SEAL_NAME, id, row, len);

	if (err < 0 || s.len > ROW_NAME_MAX || id > UINT32_MAX)
		return err < 0 ? err : -EBADMSG;
	memcpy(text, row + sizeof(s), s.len);
	text[s.len] = '\0';
	return e->fn.name(e->arg, (uint32_t)id, text, s.len);
}

int store_each_name(struct store *st, store_name_fn *fn, void *arg)
{
	struct each e = { .st = st, .fn.name = fn, .arg = arg };

	STORE_ELSEWHERE(st, each_name, fn, arg);
	return store_walk(st, &(struct store_walk){ .which = ST_EACH_NAME }, each_name, &e);
}

static int each_geo(void *arg, uint64_t id, const uint8_t *row, size_t len)
{
	struct each *e = arg;
	struct geo g;
	struct seal s;
	int err = open_row(&s, SEAL_GEO, id, row, len);

	if (err == 0)
		err = row_get_geo(&s, row + sizeof(s), &g);
	return err < 0 ? err : e->fn.geo(e->arg, &g);
}

int store_each_geo(struct store *st, store_geo_fn *fn, void *arg)
{
	struct each e = { .st = st, .fn.geo = fn, .arg = arg };

	if (st->ops)
		return 0;
	return store_walk(st, &(struct store_walk){ .which = ST_EACH_GEO }, each_geo, &e);
}

static int each_track(void *arg, uint64_t id, const uint8_t *row, size_t len)
{
	struct each *e = arg;
	struct track l;
	struct seal s;
	int err;

	err = open_row(&s, SEAL_TRACK, id, row, len);
	if (err == 0)
		err = row_get_track(&s, row + sizeof(s), &l);
	return err < 0 ? err : e->fn.track(e->arg, &l);
}

int store_each_track(struct store *st, uint32_t process, store_track_fn *fn, void *arg)
{
	struct store_walk w = { ST_EACH_TRACK,
				{ .process = process ? &process : NULL, .processes = 1 },
				0 };
	struct each e = { .st = st, .fn.track = fn, .arg = arg };

	STORE_ELSEWHERE(st, each_track, process, fn, arg);
	return store_walk(st, &w, each_track, &e);
}

static int each_entry(void *arg, uint64_t id, const uint8_t *row, size_t len)
{
	struct journal_entry entry;
	char old[ENTRY_OLD];
	struct each *e = arg;
	struct seal s;
	int err;

	err = open_row(&s, SEAL_ENTRY, id, row, len);
	if (err == -EBADMSG)
		err = open_row(&s, SEAL_JOURNAL, id, row, len);
	if (err == 0)
		err = row_get_entry(&s, row + sizeof(s), &entry, old);
	return err < 0 ? err : e->fn.entry(e->arg, &entry);
}

int store_each_entry(struct store *st, store_entry_fn *fn, void *arg)
{
	struct each e = { .st = st, .fn.entry = fn, .arg = arg };

	STORE_ELSEWHERE(st, each_entry, fn, arg);
	return store_walk(st, &(struct store_walk){ .which = ST_EACH_JOURNAL }, each_entry, &e);
}

static int each_window(void *arg, uint64_t id, const uint8_t *row, size_t len)
{
	struct each *e = arg;
	struct window w;
	struct seal s;
	int err;

	e->last = id;
	err = open_row(&s, SEAL_WINDOW, id, row, len);
	if (err == 0)
		err = window_unpack(e->win, row, len, &w);
	return err < 0 ? err : e->fn.window(e->arg, &w);
}

int store_each_window(struct store *st, const struct store_filter *f, store_window_fn *fn,
		      void *arg)
{
	struct store_walk w = { ST_EACH_WIN, *f, 0 };
	struct each e = { .st = st, .fn.window = fn, .arg = arg };
	int err;

	STORE_ELSEWHERE(st, each_window, f, fn, arg);
	w.f.from_ns = f->from_ns > WINDOW_NS ? f->from_ns - WINDOW_NS + 1 : 0;
	err = window_codec_new(&e.win);
	if (err < 0)
		return err;
	err = store_walk(st, &w, each_window, &e);
	window_codec_free(e.win);
	return err;
}

int store_new_windows(struct store *st, uint64_t *after, store_window_fn *fn, void *arg)
{
	struct store_walk w = { .which = ST_EACH_WIN, .after = *after };
	struct each e = { .st = st, .fn.window = fn, .arg = arg, .last = *after };
	int err;

	if (st->ops)
		return 0;
	err = window_codec_new(&e.win);
	if (err < 0)
		return err;
	err = store_walk(st, &w, each_window, &e);
	window_codec_free(e.win);
	*after = e.last;
	return err;
}

static int last_number(struct store *st, enum statement which, uint64_t *number)
{
	sqlite3_stmt *s;
	int err, rc;

	if (st->ops) {
		*number = 0;
		return 0;
	}
	pthread_mutex_lock(&st->db_lock);
	err = store_reopen(st);
	s = err < 0 ? NULL : store_stmt(st, which);
	if (!s) {
		err = err < 0 ? err : store_errno(st, sqlite3_errcode(st->db));
		goto unlock;
	}
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*number = (uint64_t)sqlite3_column_int64(s, 0);
	err = store_errno(st, rc);
	sqlite3_reset(s);
unlock:
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

int store_last_window(struct store *st, uint64_t *number)
{
	return last_number(st, ST_LAST_WIN, number);
}

int store_last_step(struct store *st, uint64_t *number)
{
	*number = 0;
	return st->old ? 0 : last_number(st, ST_LAST_STEP, number);
}
