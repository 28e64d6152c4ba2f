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

/* The statement, with db_lock held until end_read(); NULL: *err says why not. */
static sqlite3_stmt *begin_read(struct store *st, enum statement which, int *err)
{
	sqlite3_stmt *s = NULL;

	pthread_mutex_lock(&st->db_lock);
	*err = store_reopen(st);
	if (*err == 0) {
		s = store_stmt(st, which);
		*err = s ? 0 : store_errno(st, sqlite3_errcode(st->db));
	}
	return s;
}

static int end_read(struct store *st, sqlite3_stmt *s, int err)
{
	sqlite3_reset(s);
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

int store_numbers(struct store *st, enum statement which, int64_t id, int64_t *out, int n)
{
	int err, rc;
	sqlite3_stmt *s = begin_read(st, which, &err);

	memset(out, 0, (size_t)n * sizeof(*out));
	if (err < 0)
		return end_read(st, s, err);
	if (sqlite3_bind_parameter_count(s))
		sqlite3_bind_int64(s, 1, id);
	rc = sqlite3_step(s);
	for (int i = 0; rc == SQLITE_ROW && i < n; i++)
		out[i] = sqlite3_column_int64(s, i);
	return end_read(st, s, store_errno(st, rc));
}

int store_batch_get(struct store *st, const struct store_walk *w, uint64_t after,
		    struct store_batch *b)
{
	int err;
	sqlite3_stmt *s = begin_read(st, w->which, &err);

	if (err < 0)
		return end_read(st, s, err);
	sqlite3_bind_int64(s, 1, (int64_t)after);
	sqlite3_bind_int64(s, 2, STORE_BATCH);
	/* Statements without these parameters refuse them, and that is all right. */
	sqlite3_bind_blob64(s, 3, w->f.process, w->f.processes * sizeof(*w->f.process),
			    SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, w->f.from_ns > INT64_MAX ? INT64_MAX : (int64_t)w->f.from_ns);
	sqlite3_bind_int64(
		s, 5, !w->f.to_ns || w->f.to_ns > INT64_MAX ? INT64_MAX : (int64_t)w->f.to_ns - 1);
	return end_read(st, s, copy_rows(st, s, b));
}

int store_walk_bytes(struct store *st, const struct store_walk *w, store_bytes_fn *fn, void *arg)
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

struct walking {
	enum seal_type type;
	struct row_codecs codecs;
	struct store_row row;
	store_row_fn *fn;
	void *arg;
};

static int on_bytes(void *arg, uint64_t id, const uint8_t *row, size_t len)
{
	struct walking *x = arg;
	int err = row_decode(&x->codecs, row, len, &x->row);
	int type = x->row.s.type == SEAL_JOURNAL ? SEAL_ENTRY : x->row.s.type;

	if (err < 0)
		return err == -EILSEQ ? -EBADMSG : err;
	return type == (int)x->type && x->row.s.row == id ? x->fn(x->arg, &x->row) : -EBADMSG;
}

int store_walk(struct store *st, const struct store_walk *w, store_row_fn *fn, void *arg)
{
	struct walking *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return -ENOMEM;
	x->type = w->type;
	x->fn = fn;
	x->arg = arg;
	err = store_walk_bytes(st, w, on_bytes, x);
	row_codecs_fini(&x->codecs);
	free(x);
	return err;
}

/* --- from a row to the caller's function --- */

struct each {
	struct store *st;
	union {
		store_process_fn *process;
		store_track_fn *track;
		store_name_fn *name;
		store_geo_fn *geo;
		store_stack_fn *stack;
		store_window_fn *window;
		store_entry_fn *entry;
		store_rec_fn *step;
		store_series_fn *series;
		store_telemetry_fn *block;
	} fn;
	void *arg;
	uint64_t last;    /* number of the last row */
	uint64_t from_ns; /* of steps */
	uint32_t kinds;   /* of windows: as of a filter */
};

static int give_process(struct each *e, const struct process *row)
{
	struct known_process *k;
	struct process p = *row;
	uint64_t gone;

	pthread_mutex_lock(&e->st->mem_lock);
	k = store_known(e->st, p.id, false);
	gone = k ? k->overwritten : 0;
	pthread_mutex_unlock(&e->st->mem_lock);
	p.account.overwritten = gone < p.account.stored ? gone : p.account.stored;
	p.account.stored -= p.account.overwritten;
	return e->fn.process(e->arg, &p);
}

static int give_steps(const struct each *e, const struct store_steps *b)
{
	struct step_rec r;
	int err = 0;

	for (size_t at = 0; b->t1_ns >= e->from_ns && at < b->len && !err; at += r.size) {
		if (step_rec_decode(&r, b->bytes + at, b->len - at) < 0)
			return -EBADMSG;
		err = e->fn.step(e->arg, b->process, &r);
	}
	return err;
}

/* Rows of the kinds that are asked for; a window without any is skipped. */
static int give_window(const struct each *e, const struct window *w)
{
	uint32_t kinds = e->kinds ? e->kinds : ~(1u << EVENT_SAMPLE);
	struct window some = *w;

	some.rows = 0;
	for (uint32_t i = 0; i < w->rows; i++)
		if (w->row[i].kind < EVENT_MAX && kinds >> w->row[i].kind & 1)
			some.row[some.rows++] = w->row[i];
	return some.rows || !w->rows ? e->fn.window(e->arg, &some) : 0;
}

static int give(void *arg, const struct store_row *r)
{
	struct each *e = arg;

	e->last = r->s.row;
	switch (r->s.type) {
	case SEAL_PROCESS:
		return give_process(e, &r->process);
	case SEAL_TRACK:
		return e->fn.track(e->arg, &r->track);
	case SEAL_NAME:
		return e->fn.name(e->arg, (uint32_t)r->s.row, r->name, r->s.len);
	case SEAL_GEO:
		return e->fn.geo(e->arg, &r->geo);
	case SEAL_STACK:
		return e->fn.stack(e->arg, &r->stack);
	case SEAL_WINDOW:
		return give_window(e, &r->window);
	case SEAL_STEPS:
		return give_steps(e, &r->steps);
	case SEAL_SERIES:
		return e->fn.series(e->arg, &r->series);
	case SEAL_TELEMETRY:
		return e->fn.block(e->arg, &r->block);
	default:
		return e->fn.entry(e->arg, &r->entry);
	}
}

int store_each_process(struct store *st, store_process_fn *fn, void *arg)
{
	struct store_walk w = { ST_EACH_PROCESS, SEAL_PROCESS, { 0 }, 0 };
	struct each e = { .st = st, .fn.process = fn, .arg = arg };
	int err;

	STORE_ELSEWHERE(st, each_process, fn, arg);
	err = st->writer ? 0 : store_load_aged(st); /* a writer knows */
	return err < 0 ? err : store_walk(st, &w, give, &e);
}

int store_each_name(struct store *st, store_name_fn *fn, void *arg)
{
	struct store_walk w = { ST_EACH_NAME, SEAL_NAME, { 0 }, 0 };
	struct each e = { .fn.name = fn, .arg = arg };

	STORE_ELSEWHERE(st, each_name, fn, arg);
	return store_walk(st, &w, give, &e);
}

int store_each_geo(struct store *st, store_geo_fn *fn, void *arg)
{
	struct store_walk w = { ST_EACH_GEO, SEAL_GEO, { 0 }, 0 };
	struct each e = { .fn.geo = fn, .arg = arg };

	return st->ops ? 0 : store_walk(st, &w, give, &e);
}

int store_each_stack(struct store *st, store_stack_fn *fn, void *arg)
{
	struct store_walk w = { ST_EACH_STACK, SEAL_STACK, { 0 }, 0 };
	struct each e = { .fn.stack = fn, .arg = arg };

	return st->has_stacks ? store_walk(st, &w, give, &e) : 0;
}

int store_each_track(struct store *st, uint32_t process, store_track_fn *fn, void *arg)
{
	struct store_filter f = { .process = process ? &process : NULL, .processes = 1 };
	struct store_walk w = { ST_EACH_TRACK, SEAL_TRACK, f, 0 };
	struct each e = { .fn.track = fn, .arg = arg };

	STORE_ELSEWHERE(st, each_track, process, fn, arg);
	return store_walk(st, &w, give, &e);
}

int store_each_entry(struct store *st, store_entry_fn *fn, void *arg)
{
	struct store_walk w = { ST_EACH_JOURNAL, SEAL_ENTRY, { 0 }, 0 };
	struct each e = { .fn.entry = fn, .arg = arg };

	STORE_ELSEWHERE(st, each_entry, fn, arg);
	return store_walk(st, &w, give, &e);
}

int store_each_window(struct store *st, const struct store_filter *f, store_window_fn *fn,
		      void *arg)
{
	struct store_walk w = { ST_EACH_WIN, SEAL_WINDOW, *f, 0 };
	struct each e = { .fn.window = fn, .arg = arg, .kinds = f->kinds };

	STORE_ELSEWHERE(st, each_window, f, fn, arg);
	w.f.from_ns = f->from_ns > WINDOW_NS ? f->from_ns - WINDOW_NS + 1 : 0;
	return store_walk(st, &w, give, &e);
}

int store_each_step(struct store *st, const struct store_filter *f, store_rec_fn *fn, void *arg)
{
	struct store_walk w = { ST_EACH_STEP, SEAL_STEPS, *f, 0 };
	struct each e = { .fn.step = fn, .arg = arg, .from_ns = f->from_ns };

	STORE_ELSEWHERE(st, each_step, f, fn, arg);
	return st->old ? 0 : store_walk(st, &w, give, &e);
}

int store_each_series(struct store *st, uint32_t after, store_series_fn *fn, void *arg)
{
	struct store_walk w = { ST_EACH_SERIES, SEAL_SERIES, { 0 }, after };
	struct each e = { .fn.series = fn, .arg = arg };

	return st->old ? 0 : store_walk(st, &w, give, &e);
}

int store_each_telemetry(struct store *st, uint64_t from_ns, uint64_t to_ns, store_telemetry_fn *fn,
			 void *arg)
{
	struct store_filter f = { .from_ns = from_ns, .to_ns = to_ns };
	struct store_walk w = { ST_EACH_TELE, SEAL_TELEMETRY, f, 0 };
	struct each e = { .fn.block = fn, .arg = arg };

	return st->old ? 0 : store_walk(st, &w, give, &e);
}

/* --- as they come --- */

/* A store elsewhere is one of the first version: it has windows, but these have no numbers. */
static int walk_new(struct store *st, enum statement which, enum seal_type type, uint64_t *after,
		    struct each *e)
{
	struct store_walk w = { which, type, { 0 }, *after };
	int err;

	if (st->ops || (st->old && type != SEAL_WINDOW))
		return 0;
	e->last = *after;
	err = store_walk(st, &w, give, e);
	*after = e->last;
	return err;
}

int store_new_windows(struct store *st, uint64_t *after, uint32_t kinds, store_window_fn *fn,
		      void *arg)
{
	struct each e = { .fn.window = fn, .arg = arg, .kinds = kinds };

	return walk_new(st, ST_EACH_WIN, SEAL_WINDOW, after, &e);
}

int store_new_steps(struct store *st, uint64_t *after, store_rec_fn *fn, void *arg)
{
	struct each e = { .fn.step = fn, .arg = arg };

	return walk_new(st, ST_EACH_STEP, SEAL_STEPS, after, &e);
}

int store_new_telemetry(struct store *st, uint64_t *after, store_telemetry_fn *fn, void *arg)
{
	struct each e = { .fn.block = fn, .arg = arg };

	return walk_new(st, ST_EACH_TELE, SEAL_TELEMETRY, after, &e);
}

static int last_number(struct store *st, enum statement which, uint64_t *number)
{
	int64_t n = 0;
	int err = 0;

	if (!st->ops && (!st->old || which == ST_LAST_WIN))
		err = store_numbers(st, which, 0, &n, 1);
	if (err == 0)
		*number = (uint64_t)n;
	return err;
}

int store_last_window(struct store *st, uint64_t *number)
{
	return last_number(st, ST_LAST_WIN, number);
}

int store_last_step(struct store *st, uint64_t *number)
{
	return last_number(st, ST_LAST_STEP, number);
}

int store_last_telemetry(struct store *st, uint64_t *number)
{
	return last_number(st, ST_LAST_TELE, number);
}

int store_extent(struct store *st, uint64_t *last_blob, uint64_t *events)
{
	int64_t n[2] = { 0 };
	int err = st->ops ? 0 : store_numbers(st, ST_EXTENT, 0, n, 2);

	if (err == 0) {
		*last_blob = (uint64_t)n[0];
		*events = (uint64_t)n[1];
	}
	return err;
}

int store_held(struct store *st, uint32_t process, uint64_t *from_ns)
{
	int64_t from = -1; /* UINT64_MAX: nothing */
	int err = st->ops ? 0 : store_numbers(st, ST_HELD, process, &from, 1);

	if (err == 0)
		*from_ns = (uint64_t)from;
	return err;
}

static int on_node(void *arg, const struct store_row *r)
{
	*(struct node_ident *)arg = r->node;
	return 1;
}

int store_node_get(struct store *st, struct node_ident *out)
{
	struct store_walk w = { ST_EACH_NODE, SEAL_NODE, { 0 }, 0 };
	int err = st->old || st->ops ? 0 : store_walk(st, &w, on_node, out);

	return err > 0 ? 0 : err < 0 ? err : -ENOENT;
}

/* Copied out, so that the caller's function runs with no lock and no transaction held. */
static int some_pieces(struct store *st, uint64_t after, struct store_piece *out, int max)
{
	int err, rc = SQLITE_DONE, n = 0;
	sqlite3_stmt *s = begin_read(st, ST_EACH_EXTENT, &err);

	if (err < 0)
		return end_read(st, s, err);
	sqlite3_bind_int64(s, 1, (int64_t)after);
	sqlite3_bind_int64(s, 2, max);
	while (n < max && (rc = sqlite3_step(s)) == SQLITE_ROW)
		out[n++] = (struct store_piece){
			.blob = (uint64_t)sqlite3_column_int64(s, 0),
			.process = (uint32_t)sqlite3_column_int64(s, 1),
			.events = (uint32_t)sqlite3_column_int64(s, 2),
			.t0_ns = (uint64_t)sqlite3_column_int64(s, 3),
			.t1_ns = (uint64_t)sqlite3_column_int64(s, 4),
		};
	err = rc == SQLITE_ROW ? 0 : store_errno(st, rc);
	return end_read(st, s, err < 0 ? err : n);
}

int store_each_piece(struct store *st, uint64_t after, store_piece_fn *fn, void *arg)
{
	struct store_piece piece[256];
	int n, err = 0;

	if (st->ops)
		return 0;
	do {
		n = some_pieces(st, after, piece, 256);
		for (int i = 0; i < n && !err; i++) {
			after = piece[i].blob;
			err = fn(arg, &piece[i]);
		}
	} while (n == 256 && !err);
	return n < 0 ? n : err;
}
