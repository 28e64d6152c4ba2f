/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - puts batches in, commits them, hands them out and marks them as sent. */
#include "ship/spool/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "ship/spool/durable.h"
#include "ship/spool/spool_priv.h"

#define TRIED_AHEAD 15u /* so that not every batch costs a state */

char *spool_name(char out[SPOOL_NAME], uint64_t seq)
{
	snprintf(out, SPOOL_NAME, "%020llu.batch", (unsigned long long)seq);
	return out;
}

uint64_t spool_src(const struct spool *s)
{
	return s->st.src;
}

const void *spool_cursor(const struct spool *s, size_t *len)
{
	*len = s->st.cursor_len;
	return s->cursor;
}

struct entry *spool_find(struct spool *s, uint64_t seq)
{
	size_t lo = 0, hi = s->entries;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->entry[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->entries ? &s->entry[lo] : NULL;
}

/* Entries that are gone take no room once they are many. */
static void compact(struct spool *s)
{
	size_t to = 0, kept = 0;

	for (size_t i = 0; i < s->entries; i++) {
		if (s->entry[i].gone)
			continue;
		kept += i < s->kept;
		s->entry[to++] = s->entry[i];
	}
	s->entries = to;
	s->kept = kept;
}

int spool_add(struct spool *s, const struct entry *e)
{
	if (vec_room(&s->entry, &s->cap, s->entries + 1, sizeof(*s->entry)) < 0)
		return -ENOMEM;
	s->entry[s->entries++] = *e;
	s->bytes += e->bytes;
	return 0;
}

/* --- putting in --- */

/* The number after all that were given, committed or not. */
uint64_t spool_next(const struct spool *s)
{
	uint64_t last = s->entries ? s->entry[s->entries - 1].seq : 0;

	return last >= s->st.next ? last + 1 : s->st.next;
}

int spool_put(struct spool *s, enum ship_table_id table, const struct rowbin *rows, uint32_t n,
	      uint64_t route, uint64_t now_ns)
{
	struct batch_head h = {
		.src = s->st.src, .seq = spool_next(s), .route = route, .made_ns = now_ns
	};
	struct entry e = { .seq = h.seq, .made_ns = now_ns, .rows = n, .table = (uint8_t)table };
	char name[SPOOL_NAME];
	int err;

	compact(s);
	err = batch_pack(&s->packed, &h, table, rows, n);
	if (err)
		return err;
	if (table != SHIP_DROP && !spool_room(s, s->packed.len)) {
		spool_lost(s, table, SPOOL_FULL, n);
		return 0;
	}
	e.bytes = (uint32_t)s->packed.len;
	err = spool_add(s, &e);
	if (err)
		return err;
	err = durable_write(s->dir, spool_name(name, e.seq), s->packed.data, s->packed.len);
	if (err) {
		s->entries--;
		s->bytes -= e.bytes;
	}
	return err;
}

int spool_abort(struct spool *s)
{
	char name[SPOOL_NAME];
	int err = s->doubt ? state_write(s->dir, &s->st, s->cursor, &s->doubt) : 0;

	if (err)
		return err;
	s->doubt = false;
	memset(s->lost, 0, sizeof(s->lost));
	while (s->entries > s->kept) {
		struct entry *e = &s->entry[--s->entries];

		s->bytes -= e->bytes;
		durable_unlink(s->dir, spool_name(name, e->seq));
	}
	return 0;
}

int spool_commit(struct spool *s, const void *cursor, size_t len)
{
	struct state before = s->st;
	void *copy = malloc(len + 1);
	int err;

	if (!copy || len > SPOOL_CURSOR_MAX) {
		free(copy);
		return copy ? -E2BIG : -ENOMEM;
	}
	if (len)
		memcpy(copy, cursor, len);
	for (int i = 0; i < SHIP_TABLES * SPOOL_REASONS; i++)
		s->st.drop[i / SPOOL_REASONS][i % SPOOL_REASONS].rows +=
			s->lost[i / SPOOL_REASONS][i % SPOOL_REASONS];
	err = s->entries > s->kept ? durable_sync(s->dir) : 0;
	s->st.next = spool_next(s);
	s->st.cursor_len = (uint32_t)len;
	err = err ? err : state_write(s->dir, &s->st, copy, &s->doubt);
	if (err) {
		s->st = before;
		free(copy);
		return err;
	}
	s->kept = s->entries;
	s->doubt = s->news = false;
	memset(s->lost, 0, sizeof(s->lost));
	free(s->cursor);
	s->cursor = copy;
	return spool_flush(s);
}

/* --- taking out --- */

/* From here on `e` and some after it may be sent: durably said before any is. */
static int will_send(struct spool *s, const struct entry *e)
{
	size_t ahead = (size_t)(e - s->entry) + TRIED_AHEAD;

	if (e->seq <= s->st.tried)
		return 0;
	s->st.tried = s->entry[ahead < s->kept ? ahead : s->kept - 1].seq;
	s->news = true;
	return spool_flush(s);
}

int spool_get(struct spool *s, uint64_t after, struct batch_head *h, const void **data)
{
	char name[SPOOL_NAME];
	struct entry *e;
	size_t len;
	int err;

	for (e = spool_find(s, after + 1); e && e < s->entry + s->kept; e++) {
		if (e->gone)
			continue;
		free(s->data);
		s->data = NULL;
		err = durable_read(s->dir, spool_name(name, e->seq), BATCH_MAX, &s->data, &len);
		err = err ? err : batch_parse(h, s->data, len);
		if (!err && h->seq != e->seq)
			err = -EBADMSG;
		if (!err) {
			*data = s->data;
			err = will_send(s, e);
			return err ? err : 1;
		}
		if (err != -EBADMSG && err != -ENODATA && err != -ENOENT && err != -EFBIG)
			return err;
		err = spool_give_up(s, e, SPOOL_DAMAGE);
		if (err)
			return err;
	}
	return 0;
}

bool spool_maybe_sent(const struct spool *s, uint64_t seq)
{
	return seq <= s->tried;
}

int spool_gone(struct spool *s, struct entry *e)
{
	int err = s->st.gones == STATE_GONE ? spool_flush(s) : 0;

	if (err)
		return err;
	s->st.gone[s->st.gones++] = e->seq;
	e->gone = true;
	s->bytes -= e->bytes;
	s->news = true;
	return 0;
}

int spool_ack(struct spool *s, uint64_t seq)
{
	struct entry *e = spool_find(s, seq);
	int err;

	if (!e || e->seq != seq || e->gone)
		return -ENOENT;
	err = spool_gone(s, e);
	if (err)
		return err;
	s->st.sent++;
	s->st.sent_rows += e->rows;
	s->st.sent_bytes += e->bytes;
	if (seq > s->st.acked)
		s->st.acked = seq;
	return s->st.gones == STATE_GONE ? spool_flush(s) : 0;
}

int spool_flush(struct spool *s)
{
	char name[SPOOL_NAME];
	bool doubt; /* files of what is sent stay until a state says so, whichever is there */
	int err = s->news ? state_write(s->dir, &s->st, s->cursor, &doubt) : 0;

	if (err)
		return err;
	s->news = false;
	/* From here on the state says that they are gone: who stops here unlinks them when it starts again. */
	for (uint32_t i = 0; i < s->st.gones && !err; i++)
		err = durable_unlink(s->dir, spool_name(name, s->st.gone[i]));
	if (err)
		return err;
	s->st.gones = 0;
	return 0;
}

/* --- looking --- */

void spool_stat(const struct spool *s, struct spool_stat *out)
{
	*out = (struct spool_stat){
		.src = s->st.src,
		.next = s->st.next,
		.acked = s->st.acked,
		.sent = s->st.sent,
		.sent_rows = s->st.sent_rows,
		.sent_bytes = s->st.sent_bytes,
		.bytes = s->bytes,
	};
	for (size_t i = 0; i < s->entries; i++) {
		const struct entry *e = &s->entry[i];

		if (e->gone)
			continue;
		out->batches++;
		out->rows += e->rows;
		if (!out->oldest_ns || e->made_ns < out->oldest_ns)
			out->oldest_ns = e->made_ns;
	}
	for (int t = 0; t < SHIP_TABLES; t++)
		memcpy(out->drop[t], s->st.drop[t], sizeof(out->drop[t]));
}

void spool_close(struct spool *s)
{
	if (!s)
		return;
	spool_abort(s);
	spool_flush(s);
	close(s->dir);
	if (s->lock >= 0)
		close(s->lock);
	rowbin_fini(&s->packed);
	free(s->entry);
	free(s->cursor);
	free(s->data);
	free(s);
}
