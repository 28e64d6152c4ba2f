/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send.c - sends inserts to ClickHouse. One thread per shard freezes what is due, sends it until it
 * is accepted, and only then deletes it. A retry has the same bytes and the same token, and goes to
 * the same shard: any of its replicas recognizes it by its blocks' hashes or by the token. An
 * insert is named after its first batch, which is in no other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/vec.h"
#include "relay/priv.h"
#include "ship/spool/batch.h"
#include "ship/ch.h"

#define LOOK_MS        250u
#define INSERT_MS      120000u
#define WAIT_MIN_MS    200u
#define WAIT_MAX_MS    15000u
#define TABLE_WAIT_NS  (10ull * SECOND)
#define TABLES_WAITING 16u

struct shard {
	struct sender *s;
	uint32_t number;
	pthread_t thread;
	bool runs;
	uint32_t wait_ms; /* delay before the next try; 0: the last one succeeded */
	uint64_t seed;
	struct {
		char table[HOLD_TABLE];
		uint64_t until_ns;
	} waits[TABLES_WAITING];
	struct ch *ch;          /* owned */
	uint64_t tried;         /* inserts up to this number may have been sent before */
	struct batch_head head; /* head of the insert's first batch */
	struct rowbin body;     /* owned */
};

struct sender {
	struct relay *r;
	pthread_mutex_t lock;
	pthread_cond_t news;
	bool stopping;
	uint64_t told; /* number of the last news seen */
	uint32_t shards;
	struct shard shard[CLUSTER_SERVERS];
};

/* --- waiting --- */

/* Sleeps until there is news or the time is over. False: stop. */
static bool doze(struct sender *s, uint32_t ms, bool wake_early)
{
	struct timespec until = clock_after(CLOCK_MONOTONIC, ms * 1000000ull);
	uint64_t told;
	bool on;

	pthread_mutex_lock(&s->lock);
	told = s->told;
	while (!s->stopping && !(wake_early && s->told != told) &&
	       pthread_cond_timedwait(&s->news, &s->lock, &until) == 0)
		;
	on = !s->stopping;
	pthread_mutex_unlock(&s->lock);
	return on;
}

/* The delay doubles and has jitter, so that shards do not retry at the same moment. */
static uint32_t longer(struct shard *h)
{
	h->wait_ms = !h->wait_ms ? WAIT_MIN_MS : h->wait_ms * 2;
	if (h->wait_ms > WAIT_MAX_MS)
		h->wait_ms = WAIT_MAX_MS;
	h->seed = h->seed * 6364136223846793005u + 1442695040888963407u;
	return h->wait_ms / 2 + (uint32_t)((h->seed >> 33) % (h->wait_ms / 2 + 1));
}

static void waiting_tables(struct shard *h, char out[TABLES_WAITING * (HOLD_TABLE + 1) + 2])
{
	uint64_t now = clock_mono_ns();
	size_t at = 0;

	out[at++] = ',';
	for (size_t i = 0; i < TABLES_WAITING; i++)
		if (h->waits[i].until_ns > now)
			at += (size_t)sprintf(out + at, "%s,", h->waits[i].table);
	out[at] = '\0';
}

static void table_waits(struct shard *h, const char *table)
{
	uint64_t now = clock_mono_ns();
	size_t to = 0;

	for (size_t i = 0; i < TABLES_WAITING; i++)
		if (h->waits[i].until_ns <= now)
			to = i;
	strcpy(h->waits[to].table, table);
	h->waits[to].until_ns = now + TABLE_WAIT_NS;
}

/* --- one insert --- */

static int add_batch(void *arg, const void *wire, size_t len)
{
	struct shard *h = arg;
	struct rowbin rows = { 0 };
	struct batch_head head;
	int err = batch_parse(&head, wire, len);

	err = err ? err : batch_unpack(&rows, &head, wire);
	if (!err && h->body.len + rows.len > h->body.cap)
		err = -EBADMSG; /* longer than its head said */
	if (!err) {
		if (!h->body.len)
			h->head = head;
		memcpy(h->body.data + h->body.len, rows.data, rows.len);
		h->body.len += rows.len;
	}
	rowbin_fini(&rows);
	return err;
}

/* Reads the bytes of an insert from disk. They must be the same at every try. */
static int assemble(struct shard *h, const struct insert *in)
{
	int err = vec_room(&h->body.data, &h->body.cap, in->bytes, 1);

	if (err)
		return err;
	h->body.len = 0;
	err = batch_store_read(h->s->r->hold, in->id, add_batch, h);
	if (!err && h->body.len != in->bytes)
		err = -EBADMSG;
	h->head.rows = in->rows;
	h->head.bytes = (uint32_t)in->bytes;
	/* fixed when the batch arrived, even if the number of shards has changed */
	h->head.route = h->number;
	return err;
}

static void refused(struct shard *h, const struct insert *in, const char *why)
{
	struct relay *r = h->s->r;
	bool aside = false;

	if (batch_store_refused(r->hold, in->id, why, &aside) < 0)
		return;
	relay_add(r, aside ? COUNT_aside : COUNT_insert_splits, 1);
	log_warn("insert %" PRIu64 " into %s: %s: %s", in->id, in->table,
		 aside ? "set aside" : "refused, goes batch by batch", why);
}

static void took(struct shard *h, const struct insert *in)
{
	struct relay *r = h->s->r;

	fault_point("relay.inserted");
	/* the disk is full: it is sent again, and ClickHouse recognizes it */
	if (batch_store_done(r->hold, in->id) < 0)
		return;
	fault_point("relay.deleted");
	h->wait_ms = 0;
	relay_add(r, COUNT_inserts, 1);
	relay_add(r, COUNT_insert_rows, in->rows);
}

/* False: there was no insert to send. */
static bool send_one(struct shard *h, uint32_t *wait_ms)
{
	struct relay *r = h->s->r;
	char not [TABLES_WAITING * (HOLD_TABLE + 1) + 2];
	struct net_why why = { "" };
	enum ch_said said;
	struct insert in;
	uint64_t wire = 0;
	int err;

	waiting_tables(h, not );
	if (batch_store_next(r->hold, h->number, not, &in) < 0)
		return false;
	err = assemble(h, &in);
	if (err == -ENOMEM)
		*wait_ms = longer(h);
	else if (err)
		refused(h, &in, "damaged on the relay's disk");
	if (err)
		return true;
	fault_point("relay.insert");
	said = ch_insert(h->ch, &h->head, &h->body, in.id <= h->tried, &wire, &why);
	h->tried = in.id > h->tried ? in.id : h->tried;
	if (said == CH_TOOK)
		took(h, &in);
	else if (said == CH_POISON)
		refused(h, &in, why.text);
	else if (said == CH_SCHEMA)
		table_waits(h, in.table);
	else
		*wait_ms = longer(h);
	if (said == CH_SCHEMA || said == CH_LATER) {
		relay_add(r, COUNT_insert_retries, 1);
		log_warn("insert %" PRIu64 " into %s waits: %s", in.id, in.table, why.text);
	}
	return true;
}

static void *work(void *arg)
{
	struct shard *h = arg;
	uint32_t wait_ms = 0;

	while (doze(h->s, wait_ms, false)) {
		wait_ms = 0;
		batch_store_freeze(h->s->r->hold, h->number, &h->s->r->o.freeze, clock_wall_ns(),
				   false);
		if (!send_one(h, &wait_ms) && !doze(h->s, LOOK_MS, true))
			break;
	}
	return NULL;
}

/* --- start and stop --- */

static int start_shard(struct sender *s, uint32_t i, struct net_why *why)
{
	struct ch_opts o = { .files = s->r->o.files, .timeout_ms = INSERT_MS };
	struct shard *h = &s->shard[i];
	int err;

	*h = (struct shard){ .s = s,
			     .number = i,
			     .seed = batch_store_id(s->r->hold) + i,
			     .tried = batch_store_inserts(s->r->hold) };
	err = ch_new(&h->ch, s->r->o.url, &o, why);
	if (err)
		return err;
	err = pthread_create(&h->thread, NULL, work, h);
	h->runs = !err;
	return -err;
}

int sender_start(struct sender **out, struct relay *r, char why[256])
{
	struct sender *s = calloc(1, sizeof(*s));
	struct net_why trouble = { "out of memory" };
	pthread_condattr_t attr;
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->r = r;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->news, &attr);
	pthread_condattr_destroy(&attr);
	for (; s->shards < r->o.url->shards && !err; s->shards++)
		err = start_shard(s, s->shards, &trouble);
	if (err) {
		snprintf(why, 256, "%.250s", trouble.text);
		sender_stop(s);
		return err;
	}
	*out = s;
	return 0;
}

void sender_stop(struct sender *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
	for (uint32_t i = 0; i < s->shards; i++) {
		if (s->shard[i].runs)
			pthread_join(s->shard[i].thread, NULL);
		ch_free(s->shard[i].ch);
		rowbin_fini(&s->shard[i].body);
	}
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void sender_news(struct sender *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->told++;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
}
