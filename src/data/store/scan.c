/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - walks the event blobs of a store, a blob at a time, decoding only some columns. */
#include "store/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/blob.h"

struct store_scan {
	struct store *st; /* borrowed */
	struct store_walk walk;
	uint32_t cols;
	bool exact;           /* only the events that pass */
	struct blob_dec *dec; /* owned */
	struct store_batch batch;
	int at;         /* next of the batch */
	uint64_t after; /* id of the last blob that was looked at */
};

bool store_filter_process(const struct store_filter *f, uint32_t process)
{
	for (size_t i = 0; f && f->process && i < f->processes; i++)
		if (f->process[i] == process)
			return true;
	return !f || !f->process;
}

/* What a filter says of one process. */
struct pass {
	uint32_t kinds;
	uint64_t from_ns, last_ns; /* both inclusive: events may have the latest time */
};

static struct pass pass_of(const struct store_filter *f, uint32_t process)
{
	struct pass p = { f->kinds ? f->kinds : ~(1u << EVENT_SAMPLE), f->from_ns, 0 };
	uint64_t to_ns = f->to_ns;

	for (size_t i = 0; f->span && i < f->processes; i++)
		if (f->process[i] == process) {
			p.from_ns = f->span[2 * i];
			to_ns = f->span[2 * i + 1];
		}
	p.last_ns = to_ns - 1; /* 0: no end */
	return p;
}

/* A sample is a moment, whatever time it stands for. */
static uint64_t last_ns(const struct event_columns *c, size_t i)
{
	return c->start_ns[i] + (c->kind[i] == EVENT_SAMPLE ? 0 : c->dur_ns[i]);
}

/* Moves the events that pass to the front of their columns, which are the store's own. */
static void keep(struct event_columns *c, const struct pass *p, bool timed)
{
	uint16_t pick[EVENT_BATCH];
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		pick[n] = (uint16_t)i;
		n += p->kinds >> c->kind[i] & 1 &&
		     (!timed || (c->start_ns[i] <= p->last_ns && last_ns(c, i) >= p->from_ns));
	}
	if (n == c->n)
		return;
	c->n = n;
#define X(bit, NAME, field, type)                       \
	if (c->field) {                                 \
		type *to = (type *)(uintptr_t)c->field; \
		for (size_t i = 0; i < n; i++)          \
			to[i] = to[pick[i]];            \
	}
	EVENT_COLUMNS(X)
#undef X
}

int store_scan_open(struct store_scan **out, struct store *st, const struct store_filter *f,
		    uint32_t cols)
{
	struct store_scan *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	err = blob_dec_new(&s->dec);
	if (err < 0) {
		free(s);
		return err;
	}
	s->st = st;
	s->walk = (struct store_walk){ ST_EACH_BLOB, SEAL_EVENTS, *f, 0 };
	s->cols = cols;
	*out = s;
	return 0;
}

void store_scan_close(struct store_scan *s)
{
	if (!s)
		return;
	rows_fini(&s->batch.bytes);
	blob_dec_free(s->dec);
	free(s);
}

uint64_t store_scan_blob(const struct store_scan *s)
{
	return s->after;
}

/*
 * The next blob of the batch. Its head must be of that row; blob_columns() checks the sums, so that
 * of a head that lies nothing is given. The time of events is looked at only where a blob begins
 * before the time that is asked for, or ends after it.
 */
static int take(struct store_scan *s, uint32_t *process, struct event_columns *out)
{
	const struct store_batch *b = &s->batch;
	size_t from = s->at ? b->end[s->at - 1] : 0, len = b->end[s->at] - from;
	const uint8_t *row = b->bytes.data + from;
	struct seal head = { 0 };
	struct pass p;
	bool timed;
	int err;

	memcpy(&head, row, len < sizeof(head) ? len : sizeof(head));
	p = pass_of(&s->walk.f, head.owner);
	timed = s->exact && (head.t0_ns < p.from_ns || head.t1_ns > p.last_ns);
	s->after = b->id[s->at++];
	*out = (struct event_columns){ 0 };
	if (s->exact && (head.t1_ns < p.from_ns || head.t0_ns > p.last_ns))
		return 0; /* not of its process's span */
	err = blob_columns(s->dec, row, len,
			   s->cols | (timed ? EVENT_COL_START | EVENT_COL_DUR : 0), p.kinds, out);
	if (err < 0)
		return err;
	if (head.row != s->after)
		return -EBADMSG;
	if (s->exact && (timed || ~p.kinds))
		keep(out, &p, timed);
	*process = head.owner;
	return 0;
}

int store_scan_next(struct store_scan *s, uint32_t *process, struct event_columns *out)
{
	int err;

	if (s->st->ops)
		return 0; /* no blobs */
	for (;;) {
		while (s->at < s->batch.n) {
			err = take(s, process, out);
			if (err < 0 || out->n)
				return err < 0 ? err : 1;
		}
		if (s->batch.last)
			return 0;
		err = store_batch_get(s->st, &s->walk, s->after, &s->batch);
		if (err < 0)
			return err;
		s->at = 0;
	}
}

int store_scan_get(struct store_scan *s, uint64_t blob, uint32_t *process,
		   struct event_columns *out)
{
	struct store_walk one = { .which = ST_ONE_BLOB };
	int err = s->st->ops ? -ENOENT : store_batch_get(s->st, &one, blob, &s->batch);

	if (err < 0)
		return err;
	s->at = 0;
	return s->batch.n ? take(s, process, out) : -ENOENT;
}

/* Events of a backend. */
struct elsewhere {
	const struct store_filter *f;
	store_events_fn *fn;
	void *arg;
	struct event_strips strips;
};

static int on_rows(void *arg, uint32_t process, const struct event *ev, size_t n)
{
	struct elsewhere *x = arg;
	struct pass p = pass_of(x->f, process);
	int err = 0;

	for (size_t i = 0, some; i < n && !err; i += some) {
		struct event_columns c;

		some = n - i < EVENT_BATCH ? n - i : EVENT_BATCH;
		c = event_strips(&x->strips, ev + i, some);
		keep(&c, &p, true);
		err = c.n ? x->fn(x->arg, process, &c) : 0;
	}
	return err;
}

static int each_elsewhere(struct store *st, const struct store_filter *f, store_events_fn *fn,
			  void *arg)
{
	struct elsewhere *x;
	int err;

	if (!st->ops->each_events)
		return 0;
	x = malloc(sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->f = f;
	x->fn = fn;
	x->arg = arg;
	err = st->ops->each_events(st->self, f, on_rows, x);
	free(x);
	return err;
}

int store_each_events(struct store *st, const struct store_filter *f, uint32_t cols,
		      store_events_fn *fn, void *arg)
{
	struct event_columns c;
	struct store_scan *s;
	uint32_t process;
	int err;

	if (st->ops)
		return each_elsewhere(st, f, fn, arg);
	err = store_scan_open(&s, st, f, cols);
	if (err < 0)
		return err;
	s->exact = true;
	while ((err = store_scan_next(s, &process, &c)) > 0) {
		err = fn(arg, process, &c);
		if (err)
			break;
	}
	store_scan_close(s);
	return err;
}
