/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - interning (memory only, any thread) and inserting (the writer's connection). */
#include "store/priv.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/order.h"
#include "base/vec.h"
#include "store/blob.h"

static const uint8_t put_stmt[SEAL_TYPES] = {
	[SEAL_WINDOW] = ST_PUT_WIN,      [SEAL_NAME] = ST_PUT_NAME,
	[SEAL_GEO] = ST_PUT_GEO,         [SEAL_TRACK] = ST_PUT_TRACK,
	[SEAL_PROCESS] = ST_PUT_PROCESS, [SEAL_ENTRY] = ST_PUT_JOURNAL,
	[SEAL_AGED] = ST_PUT_AGED,       [SEAL_STEPS] = ST_PUT_STEPS,
	[SEAL_NODE] = ST_PUT_NODE,       [SEAL_SERIES] = ST_PUT_SERIES,
	[SEAL_STACK] = ST_PUT_STACK,
};

/* --- in memory --- */

int store_name(struct store *st, const char *text, size_t len, uint32_t *id)
{
	char buf[ROW_NAME_MAX];
	uint32_t have;
	uint64_t hash;
	int err = 0;

	text = row_name(text, &len, buf);
	hash = XXH3_64bits_withSeed(text, len, st->seed);
	pthread_mutex_lock(&st->mem_lock);
	have = (uint32_t)map_get(&st->names, hash);
	if (have) {
		*id = have;
	} else if (st->names.used >= st->opts.names_max || st->pending.len > STORE_PENDING_MAX) {
		*id = STORE_NAME_OTHER;
	} else {
		err = row_put_name(&st->pending, st->next_name, text, len);
		if (err == 0)
			err = map_put(&st->names, hash, st->next_name);
		if (err == 0)
			*id = st->next_name++;
	}
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

uint64_t store_geo_hash(const struct store *st, const struct geo *g)
{
	return XXH3_64bits_withSeed((const char *)g + sizeof(g->id), sizeof(*g) - sizeof(g->id),
				    st->seed);
}

int store_geo(struct store *st, const struct geo *g, uint32_t *id)
{
	uint64_t hash = store_geo_hash(st, g);
	struct geo row = *g;
	uint32_t have;
	int err = 0;

	pthread_mutex_lock(&st->mem_lock);
	have = (uint32_t)map_get(&st->geos, hash);
	if (have) {
		*id = have;
	} else if (st->geos.used >= st->opts.names_max || st->pending.len > STORE_PENDING_MAX) {
		*id = 0;
	} else {
		row.id = st->next_geo;
		err = row_put_geo(&st->pending, &row);
		if (err == 0)
			err = map_put(&st->geos, hash, row.id);
		if (err == 0)
			*id = st->next_geo++;
	}
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

uint64_t store_stack_hash(const struct store *st, const struct stack_frame *frame, uint32_t n)
{
	uint64_t hash = st->seed;

	for (uint32_t i = 0; i < n; i++) { /* field by field: a frame has padding */
		const uint32_t key[4] = { frame[i].name, frame[i].file, frame[i].line,
					  (uint32_t)frame[i].kind << 8 | frame[i].flags };

		hash = XXH3_64bits_withSeed(key, sizeof(key), hash);
	}
	return hash;
}

int store_stack(struct store *st, const struct stack_frame *frame, uint32_t n, uint32_t *id)
{
	uint64_t hash;
	uint32_t have;
	int err = 0;

	if (n > STACK_FRAMES_MAX)
		n = STACK_FRAMES_MAX;
	hash = store_stack_hash(st, frame, n);
	pthread_mutex_lock(&st->mem_lock);
	have = n ? (uint32_t)map_get(&st->stacks, hash) : 0;
	if (have || !n) {
		*id = have;
	} else if (st->stacks.used >= st->opts.names_max || st->pending.len > STORE_PENDING_MAX) {
		*id = 0;
	} else {
		err = row_put_stack(&st->pending, st->next_stack, frame, n);
		if (err == 0)
			err = map_put(&st->stacks, hash, st->next_stack);
		if (err == 0)
			*id = st->next_stack++;
	}
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

uint64_t store_track_hash(const struct store *st, const struct track *l)
{
	const uint64_t key[3] = { (uint64_t)l->process << 32 | l->device, l->context, l->stream };

	return XXH3_64bits_withSeed(key, sizeof(key), st->seed);
}

int store_track(struct store *st, const struct track *l, uint32_t *id)
{
	uint64_t hash = store_track_hash(st, l);
	struct track row = *l;
	uint32_t have;
	int err = 0;

	pthread_mutex_lock(&st->mem_lock);
	have = (uint32_t)map_get(&st->tracks, hash);
	row.id = have ? have : st->next_track;
	/* Once more for a track that has got a name since. */
	if (!have || l->name)
		err = row_put_track(&st->pending, &row);
	if (err == 0 && !have)
		err = map_put(&st->tracks, hash, (uint64_t)l->process << 32 | row.id);
	if (err == 0) {
		*id = row.id;
		st->next_track += !have;
	}
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

uint64_t store_identity(const struct store *st, const struct process *p)
{
	const uint64_t key[6] = { p->boot_id[0], p->boot_id[1], p->pid,
				  p->pid_start,  p->pool_id[0], p->pool_id[1] };

	return XXH3_64bits_withSeed(key, sizeof(key), st->seed);
}

struct known_process *store_known(struct store *st, uint32_t process, bool add)
{
	size_t at = first_where(i, 0, st->known_n, st->known[i].id >= process);

	if (at < st->known_n && st->known[at].id == process)
		return &st->known[at];
	if (!add)
		return NULL;
	if (vec_more(&st->known, st->known_n, sizeof(*st->known)) < 0)
		return NULL;
	memmove(&st->known[at + 1], &st->known[at], (st->known_n++ - at) * sizeof(*st->known));
	st->known[at] =
		(struct known_process){ .id = process, .wall_offset_ns = st->wall_offset_ns };
	return &st->known[at];
}

static bool track_of(void *arg, uint64_t hash, uint64_t value)
{
	(void)hash;
	return value >> 32 == *(uint32_t *)arg;
}

/* Gives the process its id, and what the file says was overwritten. */
static int name_process(struct store *st, struct process *p)
{
	uint64_t hash = store_identity(st, p), gross;
	uint32_t have;
	struct known_process *k;
	int err;

	if (!p->id) {
		have = (uint32_t)map_get(&st->processes, hash);
		if (!have) {
			err = map_put(&st->processes, hash, st->next_process);
			if (err < 0)
				return err;
		}
		p->id = have ? have : st->next_process++;
	}
	k = store_known(st, p->id, true);
	if (!k)
		return -ENOMEM;
	if (k->connected && !p->connected)
		map_drop(&st->tracks, track_of, &p->id);
	k->connected = p->connected;
	k->wall_offset_ns = p->wall_offset_ns;
	if (p->connected)
		st->wall_offset_ns = p->wall_offset_ns;
	gross = p->account.stored + p->account.overwritten;
	p->account.overwritten = k->overwritten < gross ? k->overwritten : gross;
	p->account.stored = gross - p->account.overwritten;
	return 0;
}

int store_process(struct store *st, struct process *p)
{
	struct process row;
	int err;

	pthread_mutex_lock(&st->mem_lock);
	err = name_process(st, p);
	if (err == 0) {
		row = *p;
		row.account.stored += row.account.overwritten;
		err = row_put_process(&st->pending, &row);
	}
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

int store_entry(struct store *st, const struct journal_entry *e)
{
	int err = 0;

	pthread_mutex_lock(&st->mem_lock);
	if (st->pending.len <= STORE_PENDING_MAX)
		err = row_put_entry(&st->pending, st->next_journal++, e);
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

int store_node(struct store *st, const struct node_ident *n)
{
	int err;

	pthread_mutex_lock(&st->mem_lock);
	err = row_put_node(&st->pending, n);
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

/* --- into the file --- */

int store_begin(struct store *st)
{
	int err;

	/* SQLite ends a transaction by itself when the disk fails: nothing may follow but the
	 * rollback that the caller owes. */
	if (st->in_txn)
		return sqlite3_get_autocommit(st->db) ? -ECANCELED : 0;
	if (st->fold_err && store_fold(st) < 0)
		return st->fold_err;
	err = store_run(st, store_stmt(st, ST_BEGIN));
	if (err == 0)
		st->in_txn = true;
	return err;
}

static int64_t wall(struct store *st, uint32_t process, uint64_t ns)
{
	struct known_process *k;
	uint64_t v;

	pthread_mutex_lock(&st->mem_lock);
	k = store_known(st, process, false);
	v = ns + (uint64_t)(k ? k->wall_offset_ns : st->wall_offset_ns);
	pthread_mutex_unlock(&st->mem_lock);
	return store_ns(v);
}

int store_put_row(struct store *st, const uint8_t *row, size_t len)
{
	struct seal s;
	sqlite3_stmt *put;

	memcpy(&s, row, sizeof(s));
	put = store_stmt(st, put_stmt[s.type]);
	if (!put)
		return store_errno(st, sqlite3_errcode(st->db));
	sqlite3_bind_int64(put, 1, (int64_t)s.row);
	sqlite3_bind_blob64(put, 2, row, len, SQLITE_STATIC);
	if (s.type == SEAL_TRACK || s.type == SEAL_WINDOW || s.type == SEAL_STEPS)
		sqlite3_bind_int64(put, 3, s.owner);
	if (s.type == SEAL_WINDOW || s.type == SEAL_STEPS) {
		sqlite3_bind_int64(put, 4, store_ns(s.t0_ns));
		sqlite3_bind_int64(put, 5, wall(st, s.owner, s.t0_ns));
	}
	return store_run(st, put);
}

int store_flush(struct store *st)
{
	size_t from = st->sent.len;
	struct seal s;
	int err;

	pthread_mutex_lock(&st->mem_lock);
	err = rows_move(&st->sent, &st->pending);
	pthread_mutex_unlock(&st->mem_lock);
	if (err < 0 || from == st->sent.len)
		return err;
	err = store_begin(st);
	if (err == 0)
		err = store_make_room(st, st->sent.len - from);
	for (size_t at = from; err == 0 && at < st->sent.len; at += sizeof(s) + s.len) {
		memcpy(&s, st->sent.data + at, sizeof(s));
		err = store_put_row(st, st->sent.data + at, sizeof(s) + s.len);
	}
	return err;
}

void store_unsend(struct store *st)
{
	pthread_mutex_lock(&st->mem_lock);
	/* Older rows first: a later one of the same id replaces them. */
	if (rows_move(&st->sent, &st->pending) == 0) {
		struct rows swap = st->pending;

		st->pending = st->sent;
		st->sent = swap;
	}
	pthread_mutex_unlock(&st->mem_lock);
	st->oldest_wall = 0;
}

static int put_blob(struct store *st, const struct seal *s)
{
	sqlite3_stmt *data = store_stmt(st, ST_PUT_DATA), *blob = store_stmt(st, ST_PUT_BLOB);
	int64_t w = wall(st, s->owner, s->t1_ns);
	int err;

	if (!data || !blob)
		return store_errno(st, sqlite3_errcode(st->db));
	sqlite3_bind_int64(data, 1, (int64_t)s->row);
	sqlite3_bind_blob64(data, 2, st->scratch.data, sizeof(*s) + s->len, SQLITE_STATIC);
	err = store_run(st, data);
	if (err < 0)
		return err;
	if (st->oldest_wall == UINT64_MAX)
		st->oldest_wall = 0;
	sqlite3_bind_int64(blob, 1, (int64_t)s->row);
	sqlite3_bind_int64(blob, 2, s->owner);
	sqlite3_bind_int64(blob, 3, store_ns(s->t0_ns));
	sqlite3_bind_int64(blob, 4, store_ns(s->t1_ns));
	sqlite3_bind_int64(blob, 5, w);
	sqlite3_bind_int64(blob, 6, s->count);
	sqlite3_bind_int64(blob, 7, s->records);
	sqlite3_bind_int64(blob, 8, (int64_t)(sizeof(*s) + s->len));
	return store_run(st, blob);
}

int store_blob(struct store *st, uint32_t process, const struct blob *b)
{
	struct seal s;
	int err;

	if (!b->packed || b->len < sizeof(s))
		return -EINVAL;
	pthread_mutex_lock(&st->db_lock);
	st->scratch.len = 0;
	err = rows_reserve(&st->scratch, b->len);
	if (err == 0)
		err = store_begin(st);
	if (err == 0)
		err = store_make_room(st, b->len);
	if (err == 0) {
		memcpy(st->scratch.data, b->data, b->len);
		memcpy(&s, b->data, sizeof(s));
		s.owner = process;
		s.row = st->next_blob++;
		seal_head(&s);
		memcpy(st->scratch.data, &s, sizeof(s));
		err = put_blob(st, &s);
	}
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

/* The row in st->scratch, under the next number. */
static int put_scratch(struct store *st, uint64_t *next)
{
	struct seal s;
	int err = store_begin(st);

	if (err == 0)
		err = store_make_room(st, st->scratch.len);
	if (err < 0)
		return err;
	memcpy(&s, st->scratch.data, sizeof(s));
	s.row = (*next)++;
	seal_head(&s);
	memcpy(st->scratch.data, &s, sizeof(s));
	return store_put_row(st, st->scratch.data, st->scratch.len);
}

int store_window(struct store *st, const struct window *w)
{
	int err = 0;

	pthread_mutex_lock(&st->db_lock);
	if (!st->win)
		err = window_codec_new(&st->win);
	if (err == 0)
		err = window_pack(st->win, w, &st->scratch);
	if (err == 0)
		err = put_scratch(st, &st->next_win);
	pthread_mutex_unlock(&st->db_lock);
	return err;
}

int store_steps(struct store *st, const struct store_steps *b)
{
	int err = 0;

	pthread_mutex_lock(&st->db_lock);
	if (!st->steps)
		err = steps_codec_new(&st->steps);
	if (err == 0)
		err = steps_pack(st->steps, b, &st->scratch);
	if (err == 0)
		err = put_scratch(st, &st->next_step);
	pthread_mutex_unlock(&st->db_lock);
	return err;
}
