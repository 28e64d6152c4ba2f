/* SPDX-License-Identifier: Apache-2.0 */
/* feed_store.c - a store's blobs as blocks; the most recently read ones are cached as columns. */
#include "tile/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/trace.h"
#include "store/blob.h"
#include "store/store.h"

#define KEPT 16u /* cached blobs, as columns: 380 KB each */
#define COLUMNS_KEPT                                                                       \
	(EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_NAME | EVENT_COL_CORR | \
	 EVENT_COL_TRACK | EVENT_COL_KIND | EVENT_COL_FLAGS)

_Static_assert(FEED_BLOCK == BLOB_EVENTS, "a blob is a block");

struct kept {
	uint64_t blob; /* 0: free */
	uint64_t used;
	struct event_columns c;
	void *mem; /* owned */
};

struct from_store {
	struct feed feed;
	struct store *st;         /* borrowed */
	struct store_scan *scan;  /* owned */
	struct store_filter want; /* processes, an owned list */
	uint64_t last;            /* the last blob that was seen */
	uint64_t clock;
	struct kept kept[KEPT];
};

static uint32_t process_at(const struct feed *f, uint32_t id)
{
	for (size_t i = 0; i < f->processes; i++)
		if (f->process[i].id == id)
			return (uint32_t)i;
	return UINT32_MAX;
}

static int on_process(void *arg, const struct process *p)
{
	struct from_store *s = arg;
	struct feed_process *to;
	uint32_t at;

	if (!store_filter_process(&s->want, p->id))
		return 0;
	for (size_t i = 0; i < ACCOUNT_LOSSES; i++)
		s->feed.lost += p->account.lost[i];
	at = process_at(&s->feed, p->id);
	to = at == UINT32_MAX ? feed_add_process(&s->feed) : &s->feed.process[at];
	if (!to)
		return -ENOMEM;
	to->id = p->id;
	to->pid = p->pid;
	to->rank = p->origin.rank ? (int32_t)(p->origin.rank - 1) : TRACE_NO_RANK;
	memcpy(to->comm, p->comm, sizeof(to->comm));
	to->comm[sizeof(to->comm) - 1] = '\0';
	s->feed.imported |= p->origin.file != 0;
	return 0;
}

static int on_track(void *arg, const struct track *l)
{
	struct from_store *s = arg;
	struct feed_track to = { .process = process_at(&s->feed, l->process),
				 .device = l->device,
				 .stream = l->stream,
				 .name = l->name };

	return to.process == UINT32_MAX ? 0 : feed_set_track(&s->feed, l->id, &to);
}

static int on_piece(void *arg, const struct store_piece *p)
{
	struct from_store *s = arg;
	struct feed_block b = { p->blob, p->t0_ns, p->t1_ns, p->process, p->events };

	s->last = p->blob;
	return store_filter_process(&s->want, p->process) && p->events
		       ? feed_add_block(&s->feed, &b)
		       : 0;
}

static int refresh(struct feed *f)
{
	struct from_store *s = (struct from_store *)f;
	int err;

	f->lost = 0;
	err = store_each_process(s->st, on_process, s);
	err = err ? err : store_each_piece(s->st, s->last, on_piece, s);
	/* After the blobs, so that all their tracks are known. */
	return err ? err : store_each_track(s->st, 0, on_track, s);
}

/* Copies the columns into memory of the slot. */
static int keep_columns(struct kept *k, const struct event_columns *from)
{
	uint8_t *p;

	if (!k->mem)
		k->mem = malloc(FEED_BLOCK * sizeof(struct event));
	if (!k->mem)
		return -ENOMEM;
	p = k->mem;
	k->c = (struct event_columns){ .n = from->n };
#define X(bit, NAME, field, type)                               \
	if (from->field) {                                      \
		memcpy(p, from->field, from->n * sizeof(type)); \
		k->c.field = (const type *)(const void *)p;     \
		p += FEED_BLOCK * sizeof(type);                 \
	}
	EVENT_COLUMNS(X)
#undef X
	return 0;
}

static int get(struct feed *f, const struct feed_block *b, bool keep, struct event_columns *out)
{
	struct from_store *s = (struct from_store *)f;
	struct kept *oldest = &s->kept[0];
	struct event_columns c;
	uint32_t process;
	int err;

	for (size_t i = 0; i < KEPT; i++) {
		struct kept *k = &s->kept[i];

		if (k->blob == b->id) {
			k->used = ++s->clock;
			*out = k->c;
			return 0;
		}
		if (k->used < oldest->used)
			oldest = k;
	}
	err = store_scan_get(s->scan, b->id, &process, &c);
	if (err < 0 || !keep) {
		*out = c;
		return err;
	}
	oldest->blob = 0;
	err = keep_columns(oldest, &c);
	if (err < 0)
		return err;
	oldest->blob = b->id;
	oldest->used = ++s->clock;
	*out = oldest->c;
	return 0;
}

static int event(struct feed *f, const struct feed_block *b, uint32_t place, struct event *out)
{
	struct from_store *s = (struct from_store *)f;
	struct store_filter all = { 0 };
	struct event_columns c;
	struct store_scan *scan;
	uint32_t process;
	int err = store_scan_open(&scan, s->st, &all, EVENT_COLS_ALL);

	if (err < 0)
		return err;
	err = store_scan_get(scan, b->id, &process, &c);
	if (!err && place >= c.n)
		err = -ENOENT;
	if (!err)
		*out = event_at(&c, place);
	store_scan_close(scan);
	return err;
}

static const char *text(struct feed *f, uint32_t name)
{
	return store_name_text(((struct from_store *)f)->st, name);
}

static int geo(struct feed *f, uint32_t id, struct geo *out)
{
	return store_geo_get(((struct from_store *)f)->st, id, out);
}

static void free_store(struct feed *f)
{
	struct from_store *s = (struct from_store *)f;

	for (size_t i = 0; i < KEPT; i++)
		free(s->kept[i].mem);
	store_scan_close(s->scan);
	free((void *)(uintptr_t)s->want.process);
	feed_fini(f);
	free(s);
}

int feed_store(struct feed **out, struct store *st, const uint32_t *process, size_t n)
{
	struct from_store *s = calloc(1, sizeof(*s));
	struct store_filter all = { 0 };
	uint32_t *list = NULL;

	if (!s)
		return -ENOMEM;
	s->feed.refresh = refresh;
	s->feed.get = get;
	s->feed.event = event;
	s->feed.text = text;
	s->feed.geo = geo;
	s->feed.free = free_store;
	s->st = st;
	if (n) {
		list = malloc(n * sizeof(*list));
		s->want = (struct store_filter){ .process = list, .processes = n };
	}
	if ((n && !list) || store_scan_open(&s->scan, st, &all, COLUMNS_KEPT) < 0) {
		free_store(&s->feed);
		return -ENOMEM;
	}
	if (n)
		memcpy(list, process, n * sizeof(*list));
	*out = &s->feed;
	return 0;
}
