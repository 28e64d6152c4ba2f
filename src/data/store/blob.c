/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob.c - the encoder: events into columns of small numbers (columns.h says which).
 *
 * blob_add() writes each column to its own strip of one allocation, which is sized for the longest
 * numbers: it never grows and needs no checks, and pages that are not touched are not resident.
 * blob_seal() copies the strips together. An idle encoder takes sizeof(struct blob_enc).
 */
#include "store/blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "store/columns.h"
#include "store/seal.h"

/* Seals of fewer events than this give the encoder's memory back. */
#define KEEP_EVENTS (BLOB_EVENTS / 16)

static const uint8_t widths[COLS] = {
#define X(num, NAME, width) [num] = width,
	COLUMNS(X)
#undef X
};

/* What an encoder needs while it holds events. */
struct work {
	struct column_state state;
	uint8_t strip[COLUMNS_WIDTH * BLOB_EVENTS + 8]; /* 8: a store may run over by that */
};

struct blob_enc {
	struct work *work; /* owned; NULL while there is nothing to hold */
	uint8_t *at[COLS]; /* where each column goes on */
	uint64_t t0_ns, t1_ns;
	uint32_t events;
	uint32_t records;
};

int blob_enc_new(struct blob_enc **out)
{
	struct blob_enc *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*out = e;
	return 0;
}

void blob_enc_free(struct blob_enc *e)
{
	if (!e)
		return;
	free(e->work);
	free(e);
}

size_t blob_count(const struct blob_enc *e)
{
	return e->events;
}

static uint8_t *strip(const struct blob_enc *e, int col)
{
	uint8_t *p = e->work->strip;

	for (int i = 0; i < col; i++)
		p += widths[i] * BLOB_EVENTS;
	return p;
}

static int begin(struct blob_enc *e)
{
	if (!e->work)
		e->work = malloc(sizeof(*e->work));
	if (!e->work)
		return -ENOMEM;
	memset(&e->work->state, 0, sizeof(e->work->state));
	for (int i = 0; i < COLS; i++)
		e->at[i] = strip(e, i);
	e->t0_ns = UINT64_MAX;
	e->t1_ns = 0;
	e->records = 0;
	return 0;
}

/* Most numbers take one or two bytes: these cost no branch. */
static inline uint8_t *put(uint8_t *p, uint64_t v)
{
	if (__builtin_expect(v >= 1u << 14, 0))
		return varint_put(p, v);
	p[0] = (uint8_t)(v | (uint64_t)(v >= 0x80) << 7);
	p[1] = (uint8_t)(v >> 7);
	return p + 1 + (v >= 0x80);
}

/* The three columns of a time, `at` the first of them. */
static inline void put_split(uint8_t **at, uint64_t v)
{
	*at[0]++ = (uint8_t)(v | (uint64_t)(v >= 0x80) << 7);
	*at[1] = (uint8_t)(v >> 7 | (uint64_t)(v >= 1u << 14) << 7);
	at[1] += v >= 0x80;
	if (__builtin_expect(v >= 1u << 14, 0))
		at[2] = varint_put(at[2], v >> 14);
}

static void put_extra(uint8_t **at, struct column_state *s, const struct event *ev)
{
	*at[COL_FLAGS]++ = ev->flags;
	at[COL_DEPTH] = put(at[COL_DEPTH], ev->depth);
	at[COL_B] = put(at[COL_B], zigzag(ev->b - s->b));
	s->b = ev->b;
}

static void put_track(uint8_t **at, struct column_state *s, uint32_t track)
{
	at[COL_TRACK] = put(at[COL_TRACK], zigzag((uint64_t)(int32_t)(track - s->track)));
	s->track = track;
}

/* What only the host's events have: an end that may come first, and numbers that go on. */
static void put_host(uint8_t **at, struct column_state *s, const struct column_track *l,
		     const struct event *ev, uint64_t from)
{
	uint64_t *last = &s->a[ev->name % STATE_NAMES];
	bool end = column_from_end(l, ev->kind, ev->depth);

	at[COL_A] = put(at[COL_A], zigzag(ev->a - *last));
	*last = ev->a;
	put_split(at + COL_GAP0, zigzag(ev->start_ns + (end ? ev->dur_ns : 0) - from));
}

static inline void put_event(uint8_t **at, struct column_state *s, const struct event *ev)
{
	struct column_track *l = &s->tracks[ev->track % STATE_TRACKS];
	uint32_t *dur = &s->dur[column_dur(ev->kind, ev->name, ev->a)];
	uint32_t corr = ev->corr - l->corr;
	uint64_t from = l->end_ns ? l->end_ns : s->end_ns;
	uint8_t tag = ev->kind & TAG_KIND;

	if (ev->track != s->track) {
		tag |= TAG_TRACK;
		put_track(at, s, ev->track);
	}
	if (ev->flags | ev->depth | ev->b) {
		tag |= TAG_EXTRA;
		put_extra(at, s, ev);
	}
	if (corr) {
		tag |= TAG_CORR;
		at[COL_CORR] = put(at[COL_CORR], zigzag((uint64_t)(int32_t)corr));
	}
	*at[COL_TAG]++ = tag;
	at[COL_NAME] = put(at[COL_NAME], ev->name);
	if (__builtin_expect(column_gpu(ev->kind), 1)) {
		at[COL_A] = put(at[COL_A], ev->a);
		put_split(at + COL_GAP0, zigzag(ev->start_ns - from));
	} else {
		put_host(at, s, l, ev, from);
	}
	put_split(at + COL_DUR0, zigzag(ev->dur_ns - *dur));
	*dur = (uint32_t)ev->dur_ns;
	s->end_ns = ev->start_ns + ev->dur_ns;
	*l = (struct column_track){ .end_ns = s->end_ns, .corr = ev->corr, .depth = ev->depth };
}

/* See columns.h. */
static void put_sample(uint8_t **at, struct column_samples *s, const struct event *ev)
{
	uint64_t *a = &s->a[ev->name % STATE_NAMES], *b = &s->b[ev->name % STATE_NAMES];
	uint64_t tick = ev->start_ns / SAMPLE_TICK_NS;
	uint64_t late = zigzag(tick - column_tick(s, ev->track));

	*at[COL_TAG]++ = EVENT_SAMPLE;
	*at[COL_S_TICK0]++ = (uint8_t)(late | (uint64_t)(late >= 0x80) << 7);
	if (late >= 0x80)
		at[COL_S_TICK1] = put(at[COL_S_TICK1], late >> 7);
	at[COL_S_DUR] = put(at[COL_S_DUR], zigzag(ev->dur_ns - s->dur_ns));
	at[COL_S_NAME] = put(at[COL_S_NAME], ev->name);
	at[COL_S_A] = put(at[COL_S_A], zigzag(ev->a - *a));
	at[COL_S_B] = put(at[COL_S_B], zigzag(ev->b - *b));
	at[COL_S_TRACK] = put(at[COL_S_TRACK], zigzag((uint64_t)(int32_t)(ev->track - s->track)));
	*a = ev->a;
	*b = ev->b;
	s->track = ev->track;
	s->dur_ns = ev->dur_ns;
	s->last_ns = tick * SAMPLE_TICK_NS + ev->dur_ns;
	s->end_ns[ev->track % STATE_TRACKS] = s->last_ns;
}

size_t blob_add(struct blob_enc *e, const struct event *ev, size_t n)
{
	uint8_t *at[COLS];
	uint64_t t0, t1;

	if (n > BLOB_EVENTS - e->events)
		n = BLOB_EVENTS - e->events;
	if (n == 0 || (e->events == 0 && begin(e) < 0))
		return 0;
	memcpy(at, e->at, sizeof(at));
	t0 = e->t0_ns;
	t1 = e->t1_ns;
	for (size_t i = 0; i < n; i++) {
		t0 = ev[i].start_ns < t0 ? ev[i].start_ns : t0;
		if (__builtin_expect(ev[i].kind == EVENT_SAMPLE, 0)) {
			put_sample(at, &e->work->state.samples, &ev[i]);
			t1 = ev[i].start_ns > t1 ? ev[i].start_ns : t1;
			continue;
		}
		put_event(at, &e->work->state, &ev[i]);
		t1 = e->work->state.end_ns > t1 ? e->work->state.end_ns : t1;
		if (__builtin_expect(!column_gpu(ev[i].kind), 0))
			e->records += event_records(&ev[i]) - 1;
	}
	memcpy(e->at, at, sizeof(at));
	e->t0_ns = t0;
	e->t1_ns = t1;
	e->records += (uint32_t)n;
	e->events += (uint32_t)n;
	return n;
}

static uint8_t *put_column(uint8_t *p, int id, const uint8_t *data, size_t len)
{
	*p++ = (uint8_t)id;
	*p++ = CODEC_RAW;
	p = varint_put(p, len);
	p = varint_put(p, len);
	memcpy(p, data, len);
	return p + len;
}

int blob_seal(struct blob_enc *e, struct blob *out)
{
	size_t cap = sizeof(struct seal);
	uint8_t *data, *p;

	if (e->events == 0)
		return -ENODATA;
	for (int i = 0; i < COLS; i++)
		cap += 2 + 2 * VARINT_MAX + (size_t)(e->at[i] - strip(e, i));
	data = malloc(cap);
	if (!data)
		return -ENOMEM;
	memset(data, 0, sizeof(struct seal));
	p = data + sizeof(struct seal);
	for (int i = 0; i < COLS; i++)
		if (e->at[i] != strip(e, i))
			p = put_column(p, i, strip(e, i), (size_t)(e->at[i] - strip(e, i)));
	*out = (struct blob){
		.t0_ns = e->t0_ns,
		.t1_ns = e->t1_ns,
		.events = e->events,
		.records = e->records,
		.len = (uint32_t)(p - data),
		.cap = (uint32_t)cap,
		.data = data,
	};
	if (e->events < KEEP_EVENTS) {
		free(e->work);
		e->work = NULL;
	}
	e->events = 0;
	return 0;
}

void blob_fini(struct blob *b)
{
	free(b->data);
	*b = (struct blob){ 0 };
}
