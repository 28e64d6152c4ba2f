/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - single rows by id, sums over the file, and the tables that a writer keeps in memory. */
#include "store/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/vec.h"

#define TEXTS_MAX (1u << 24) /* no store of ours has a name's id above */

static int load_row(void *arg, const struct store_row *r)
{
	uint32_t id = (uint32_t)r->s.row;
	struct store *st = arg;
	struct known_process *k;

	switch (r->s.type) {
	case SEAL_NAME:
		st->next_name = id + 1;
		return map_put(&st->names, XXH3_64bits_withSeed(r->name, r->s.len, st->seed), id);
	case SEAL_GEO:
		st->next_geo = id + 1;
		return map_put(&st->geos, store_geo_hash(st, &r->geo), id);
	case SEAL_STACK:
		st->next_stack = id + 1;
		return map_put(&st->stacks, store_stack_hash(st, r->stack.frame, r->stack.n), id);
	case SEAL_PROCESS:
		st->next_process = id + 1;
		k = store_known(st, id, true);
		if (!k)
			return -ENOMEM;
		k->connected = r->process.connected;
		k->wall_offset_ns = r->process.wall_offset_ns;
		return map_put(&st->processes, store_identity(st, &r->process), id);
	case SEAL_TRACK:
		st->next_track = id + 1;
		k = store_known(st, r->s.owner, false);
		if (!k || !k->connected) /* only of those that may come back */
			return 0;
		return map_put(&st->tracks, store_track_hash(st, &r->track),
			       (uint64_t)r->s.owner << 32 | id);
	case SEAL_SERIES:
		st->next_series = id + 1;
		return map_put(&st->series, store_series_hash(st, &r->series), id);
	default: /* SEAL_AGED */
		pthread_mutex_lock(&st->mem_lock);
		k = store_known(st, id, true);
		if (k)
			k->overwritten = r->s.t0_ns;
		pthread_mutex_unlock(&st->mem_lock);
		return k ? 0 : -ENOMEM;
	}
}

int store_load_aged(struct store *st)
{
	struct store_walk w = { ST_EACH_AGED, SEAL_AGED, { 0 }, 0 };

	pthread_mutex_lock(&st->mem_lock);
	for (uint32_t i = 0; i < st->known_n; i++)
		st->known[i].overwritten = 0;
	pthread_mutex_unlock(&st->mem_lock);
	return store_walk(st, &w, load_row, st);
}

static int64_t last_id(struct store *st, const char *table)
{
	sqlite3_stmt *s = store_stmt(st, ST_LAST_ID);

	if (!s)
		return store_errno(st, sqlite3_errcode(st->db));
	sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	return store_number(st, ST_LAST_ID);
}

int store_load(struct store *st)
{
	static const struct store_walk loads[] = {
		{ .which = ST_EACH_NAME, .type = SEAL_NAME },
		{ .which = ST_EACH_GEO, .type = SEAL_GEO },
		{ .which = ST_EACH_STACK, .type = SEAL_STACK },
		{ .which = ST_EACH_PROCESS, .type = SEAL_PROCESS },
		{ .which = ST_EACH_TRACK, .type = SEAL_TRACK },
		{ .which = ST_EACH_AGED, .type = SEAL_AGED },
		{ .which = ST_EACH_SERIES, .type = SEAL_SERIES },
	};
	int64_t blob = last_id(st, "blob"), win = last_id(st, "win"), step = last_id(st, "step");
	int64_t tele = last_id(st, "tele"), tele_bytes = store_number(st, ST_TELE_BYTES);
	int64_t journal = store_number(st, ST_LAST_ENTRY);
	uint32_t other;
	int err = 0;

	st->next_name = st->next_geo = st->next_track = st->next_process = 1;
	st->next_series = st->next_stack = 1;
	if (blob < 0 || win < 0 || step < 0)
		return (int)(blob < 0 ? blob : win < 0 ? win : step);
	if (tele < 0 || tele_bytes < 0 || journal < 0)
		return (int)(tele < 0 ? tele : tele_bytes < 0 ? tele_bytes : journal);
	st->next_journal = (uint64_t)journal + 1;
	st->next_tele = (uint64_t)tele + 1;
	st->tele_bytes = (uint64_t)tele_bytes;
	st->next_blob = (uint64_t)blob + 1;
	st->next_win = (uint64_t)win + 1;
	st->next_step = (uint64_t)step + 1;
	for (size_t i = 0; err == 0 && i < sizeof(loads) / sizeof(loads[0]); i++)
		err = store_walk(st, &loads[i], load_row, st);
	/* The first name of all, so that it is STORE_NAME_OTHER. */
	return err < 0 ? err : store_name(st, "(other)", 7, &other);
}

/* --- single rows --- */

/* Copies the row to st->scratch. 0, -ENOENT or -EBADMSG. With db_lock held. */
static int get_row(struct store *st, enum statement which, uint32_t id, struct seal *out)
{
	sqlite3_stmt *s = store_stmt(st, which);
	int rc, err;

	if (!s)
		return store_errno(st, sqlite3_errcode(st->db));
	sqlite3_bind_int64(s, 1, id);
	rc = sqlite3_step(s);
	err = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -ENOENT : store_errno(st, rc);
	st->scratch.len = 0;
	if (err == 0) {
		size_t len = (size_t)sqlite3_column_bytes(s, 1);

		err = seal_check(out, sqlite3_column_blob(s, 1), len);
		if (err == 0)
			err = rows_reserve(&st->scratch, len);
		if (err == 0)
			memcpy(st->scratch.data, sqlite3_column_blob(s, 1), len);
	}
	sqlite3_reset(s);
	return err;
}

/* The slot of a name's text; NULL: no memory, or no name has such an id. */
static char **text_slot(struct store *st, uint32_t id)
{
	if (id >= TEXTS_MAX ||
	    vec_room0(&st->text, &st->texts, (size_t)id + 1, sizeof(*st->text)) < 0)
		return NULL;
	return &st->text[id];
}

/* A row that waits for its commit is not in the file yet. Puts it in st->scratch. */
static int get_pending(struct store *st, uint32_t type, uint32_t id, struct seal *out)
{
	const struct rows *r = &st->pending;
	struct seal s;
	int err = -ENOENT;

	pthread_mutex_lock(&st->mem_lock);
	for (size_t at = 0; err == -ENOENT && at < r->len; at += sizeof(s) + s.len) {
		memcpy(&s, r->data + at, sizeof(s));
		if (s.type != type || s.row != id)
			continue;
		st->scratch.len = 0;
		err = rows_reserve(&st->scratch, sizeof(s) + s.len);
		if (err == 0)
			memcpy(st->scratch.data, r->data + at, sizeof(s) + s.len);
		*out = s;
	}
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

/* In the file or on its way to it. With db_lock held. */
static int get_either(struct store *st, enum statement which, uint32_t type, uint32_t id,
		      struct seal *out)
{
	int err = get_row(st, which, id, out);

	if (err == -ENOENT)
		err = get_pending(st, type, id, out);
	return err < 0 || (out->type == type && out->row == id) ? err : -EBADMSG;
}

const char *store_name_text(struct store *st, uint32_t id)
{
	const char *text = "?";
	struct seal s;
	char **slot;

	if (st->ops) {
		text = st->ops->name_text ? st->ops->name_text(st->self, id) : NULL;
		return text ? text : "?";
	}
	pthread_mutex_lock(&st->db_lock);
	if (id < st->texts && st->text[id]) {
		text = st->text[id];
		goto unlock;
	}
	if (get_either(st, ST_GET_NAME, SEAL_NAME, id, &s) < 0)
		goto unlock;
	slot = text_slot(st, id);
	if (!slot)
		goto unlock;
	*slot = calloc(1, (size_t)s.len + 1); /* the row is no string: it has no end */
	if (*slot)
		text = memcpy(*slot, st->scratch.data + sizeof(s), s.len);
unlock:
	pthread_mutex_unlock(&st->db_lock);
	return text;
}

int store_name_try(struct store *st, uint32_t id, char *out, size_t cap)
{
	struct seal s;
	int err;

	if (st->ops)
		return snprintf(out, cap, "%s", store_name_text(st, id)) < 0 ? -EIO : 0;
	if (pthread_mutex_trylock(&st->db_lock))
		return -EAGAIN;
	err = get_either(st, ST_GET_NAME, SEAL_NAME, id, &s);
	if (err == 0)
		snprintf(out, cap, "%.*s", (int)s.len, (char *)st->scratch.data + sizeof(s));
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

int store_track_try(struct store *st, uint32_t id, struct track *out)
{
	struct seal s;
	int err;

	if (st->ops)
		return -ENOENT;
	if (pthread_mutex_trylock(&st->db_lock))
		return -EAGAIN;
	err = get_either(st, ST_GET_TRACK, SEAL_TRACK, id, &s);
	if (err == 0)
		err = row_get_track(&s, st->scratch.data + sizeof(s), out);
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

int store_geo_get(struct store *st, uint32_t id, struct geo *out)
{
	struct seal s;
	int err;

	if (st->ops)
		return -ENOENT;
	pthread_mutex_lock(&st->db_lock);
	err = get_row(st, ST_GET_GEO, id, &s);
	if (err == 0)
		err = s.type == SEAL_GEO ? row_get_geo(&s, st->scratch.data + sizeof(s), out)
					 : -EBADMSG;
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

int store_stack_get(struct store *st, uint32_t id, struct stack_row *out,
		    struct stack_frame frame[STACK_FRAMES_MAX])
{
	struct seal s;
	int err;

	if (!st->has_stacks)
		return -ENOENT;
	pthread_mutex_lock(&st->db_lock);
	err = get_either(st, ST_GET_STACK, SEAL_STACK, id, &s);
	if (err == 0)
		err = row_get_stack(&s, st->scratch.data + sizeof(s), out, frame);
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

/* --- sums --- */

static int sum_up(struct store *st, struct store_stat *o)
{
	int64_t b[8], w[4], p[2] = { 0 }, k[2] = { 0 };
	int err = store_numbers(st, ST_STAT, 0, b, 8);

	err = err ? err : store_numbers(st, ST_STAT_WIN, 0, w, 4);
	err = err || st->old ? err : store_numbers(st, ST_STAT_STEP, 0, p, 2);
	err = err || !st->has_stacks ? err : store_numbers(st, ST_STAT_STACK, 0, k, 2);
	if (err < 0)
		return err;
	o->stacks = (uint64_t)k[0];
	o->stack_bytes = (uint64_t)k[1];
	o->event_blobs = (uint64_t)b[0];
	o->events = (uint64_t)b[1];
	o->event_bytes = (uint64_t)b[2];
	o->names = (uint64_t)b[5];
	o->processes = (uint64_t)b[6];
	o->tracks = (uint64_t)b[7];
	o->window_blobs = (uint64_t)w[0];
	o->window_bytes = (uint64_t)w[1];
	o->step_blobs = (uint64_t)p[0];
	o->step_bytes = (uint64_t)p[1];
	o->first_ns = (uint64_t)(!b[0] || (w[0] && w[2] < b[3]) ? w[2] : b[3]);
	o->last_ns = (uint64_t)(w[0] && w[3] + (int64_t)WINDOW_NS > b[4] ? w[3] + (int64_t)WINDOW_NS
									 : b[4]);
	return 0;
}

static int count_rollups(void *arg, const struct window *w)
{
	*(uint64_t *)arg += w->rows;
	return 0;
}

static int count_step(void *arg, uint32_t process, const struct step_rec *r)
{
	(void)process, (void)r;
	++*(uint64_t *)arg;
	return 0;
}

int store_stat(struct store *st, struct store_stat *out)
{
	struct store_stat o = { .version = st->version };
	struct store_filter all = { .kinds = ~0u };
	struct stat sb;
	int err;

	if (st->ops && !st->ops->stat) {
		*out = o;
		return 0;
	}
	STORE_ELSEWHERE(st, stat, out);
	err = sum_up(st, &o);
	if (err == 0)
		err = store_each_window(st, &all, count_rollups, &o.rollups);
	if (err == 0)
		err = store_each_step(st, &all, count_step, &o.steps);
	if (err < 0)
		return err;
	o.bytes = st->writer                 ? store_bytes(st)
		  : stat(st->path, &sb) == 0 ? (uint64_t)sb.st_size
					     : 0;
	*out = o;
	return 0;
}
