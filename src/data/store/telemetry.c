/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry.c - series and blocks of telemetry, into the store. */
#include "store/priv.h"

#include <string.h>
#include <xxhash.h>

uint64_t store_series_hash(const struct store *st, const struct series *s)
{
	const uint64_t key[3] = { s->metric,
				  XXH3_64bits_withSeed(s->device, strlen(s->device), st->seed),
				  XXH3_64bits_withSeed(s->labels, strlen(s->labels), st->seed) };

	return XXH3_64bits_withSeed(key, sizeof(key), st->seed);
}

int store_series(struct store *st, const struct series *s, uint32_t *id)
{
	uint64_t hash = store_series_hash(st, s);
	struct series row = *s;
	uint32_t have;
	int err = 0;

	pthread_mutex_lock(&st->mem_lock);
	have = (uint32_t)map_get(&st->series, hash);
	if (have) {
		*id = have;
	} else if (st->series.used >= STORE_SERIES_MAX || st->pending.len > STORE_PENDING_MAX) {
		*id = 0;
	} else {
		row.id = st->next_series;
		err = row_put_series(&st->pending, &row);
		if (err == 0)
			err = map_put(&st->series, hash, row.id);
		if (err == 0)
			*id = st->next_series++;
	}
	pthread_mutex_unlock(&st->mem_lock);
	return err;
}

static int put_block(struct store *st, const struct telemetry_block *b, const struct seal *s)
{
	sqlite3_stmt *q = store_stmt(st, ST_PUT_TELE);

	if (!q)
		return store_errno(st, sqlite3_errcode(st->db));
	sqlite3_bind_int64(q, 1, (int64_t)s->row);
	sqlite3_bind_blob64(q, 2, st->scratch.data, st->scratch.len, SQLITE_STATIC);
	sqlite3_bind_int64(q, 3, s->owner);
	sqlite3_bind_int64(q, 4, store_ns(s->t0_ns));
	sqlite3_bind_int64(q, 5, store_ns(s->t1_ns));
	sqlite3_bind_int64(q, 6, store_ns(s->t0_ns + (uint64_t)b->wall_offset_ns));
	return store_run(st, q);
}

/* Where the pieces of a source begin; NULL: it has none, or there are too many sources. */
static uint64_t *tail_of(struct store *st, uint32_t source)
{
	unsigned vacant = STORE_TAILS;

	for (unsigned i = 0; i < STORE_TAILS; i++) {
		if (st->tail[i].first && st->tail[i].source == source)
			return &st->tail[i].first;
		if (!st->tail[i].first)
			vacant = i;
	}
	if (vacant == STORE_TAILS)
		return NULL;
	st->tail[vacant].source = source;
	return &st->tail[vacant].first;
}

static int cut_tails(struct store *st, uint32_t source, uint64_t *first, uint64_t until)
{
	sqlite3_stmt *q = *first ? store_stmt(st, ST_CUT_TAILS) : NULL;
	int err;

	if (!*first)
		return 0;
	if (!q)
		return store_errno(st, sqlite3_errcode(st->db));
	sqlite3_bind_int64(q, 1, (int64_t)*first);
	sqlite3_bind_int64(q, 2, (int64_t)until);
	sqlite3_bind_int64(q, 3, source);
	err = store_run(st, q);
	*first = 0;
	return err;
}

int store_telemetry(struct store *st, const struct telemetry_block *b, bool whole)
{
	uint64_t *tail;
	struct seal s;
	int err = 0;

	pthread_mutex_lock(&st->db_lock);
	if (!st->block)
		err = block_codec_new(&st->block);
	if (err == 0)
		err = block_pack(st->block, b, &st->scratch);
	if (err == 0)
		err = store_begin(st);
	if (err == 0)
		err = store_drop_telemetry(st);
	if (err == 0)
		err = store_make_room(st, st->scratch.len);
	if (err < 0)
		goto unlock;
	memcpy(&s, st->scratch.data, sizeof(s));
	s.row = st->next_tele++;
	seal_head(&s);
	memcpy(st->scratch.data, &s, sizeof(s));
	tail = tail_of(st, b->source);
	if (whole && tail)
		err = cut_tails(st, b->source, tail, s.row);
	else if (tail && !*tail)
		*tail = s.row;
	if (err == 0)
		err = put_block(st, b, &s);
	if (whole)
		st->tele_bytes += st->scratch.len;
unlock:
	pthread_mutex_unlock(&st->db_lock);
	return err;
}
