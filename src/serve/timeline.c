/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - keeps views of a few runs. One is opened when it is first asked for, which reads all
 * of its run; the one that was not asked for longest makes room.
 */
#include "serve/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "read/demangle.h"
#include "store/store.h"

#define VIEWS      3u
#define VIEW_BYTES (24u << 20) /* of cells; a view then makes its tracks coarser */

struct timeline {
	char id[RUN_ID]; /* "": free */
	size_t processes;
	uint64_t blob;
	uint32_t users;
	uint64_t used;
	struct tile_view *v; /* owned */
};

struct timelines {
	pthread_mutex_t lock;         /* all below; then serve.heavy */
	struct timeline *kept[VIEWS]; /* owned; NULL: free */
	uint64_t clock;
};

int timelines_new(struct timelines **out)
{
	struct timelines *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	*out = t;
	return 0;
}

static void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	tile_close(t->v);
	free(t);
}

void timelines_free(struct timelines *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < VIEWS; i++)
		timeline_free(t->kept[i]);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

struct learning {
	const char **name; /* owned */
	size_t n, cap;
};

static int on_name(void *arg, uint32_t id, const char *text, size_t len)
{
	struct learning *l = arg;

	(void)id, (void)len;
	if (text[0] != '_' || text[1] != 'Z')
		return 0;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		const char **more = realloc(l->name, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->name = more;
		l->cap = cap;
	}
	l->name[l->n] = strdup(text);
	return l->name[l->n] ? (int)(l->n++, 0) : -ENOMEM;
}

/* All names of a store at once: each batch of them takes a process. With serve.heavy held. */
static void learn_names(struct store *st)
{
	struct learning l = { 0 };

	if (store_each_name(st, on_name, &l) == 0)
		demangle_learn(l.name, l.n);
	for (size_t i = 0; i < l.n; i++)
		free((void *)(uintptr_t)l.name[i]);
	free(l.name);
}

/* Makes room among the kept; NULL: all are in use. */
static struct timeline **slot_for(struct timelines *ts)
{
	struct timeline **oldest = NULL;

	for (size_t i = 0; i < VIEWS; i++) {
		struct timeline *t = ts->kept[i];

		if (!t)
			return &ts->kept[i];
		if (!t->users && (!oldest || t->used < (*oldest)->used))
			oldest = &ts->kept[i];
	}
	if (oldest) {
		timeline_free(*oldest);
		*oldest = NULL;
	}
	return oldest;
}

static int open_view(struct ask *q, struct timeline *t)
{
	struct tile_opts o = { .t0_ns = q->run.t0,
			       .processes = q->run.processes,
			       .live = q->run.live,
			       .bytes_max = VIEW_BYTES,
			       .show = demangle };
	uint32_t *process = calloc(q->run.processes + 1, sizeof(*process));
	int err;

	if (!process)
		return -ENOMEM;
	for (size_t i = 0; i < q->run.processes; i++)
		process[i] = q->run.process[i].id;
	o.process = process;
	pthread_mutex_lock(&q->s->heavy);
	learn_names(q->run.src->st);
	err = tile_open_store(&t->v, q->run.src->st, &o);
	pthread_mutex_unlock(&q->s->heavy);
	free(process);
	return err;
}

static int make(struct ask *q, struct timelines *ts, struct timeline **out)
{
	struct timeline **slot = slot_for(ts), *t;
	int err;

	if (!slot)
		return -EBUSY;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	err = open_view(q, t);
	if (err < 0) {
		free(t);
		return err;
	}
	memcpy(t->id, q->run.id, sizeof(t->id));
	t->processes = q->run.processes;
	t->blob = q->run.blob;
	*slot = *out = t;
	return 0;
}

/* Reads what is new, unless somebody else computes: then it is as new as it was. */
static int renew(struct ask *q, struct timeline *t)
{
	int err = 0;

	if (t->blob == q->run.blob)
		return 0;
	if (pthread_mutex_trylock(&q->s->heavy) != 0)
		return 0;
	err = tile_refresh(t->v);
	pthread_mutex_unlock(&q->s->heavy);
	if (!err)
		t->blob = q->run.blob;
	return err;
}

int timeline_get(struct ask *q, struct timeline **out, struct tile_view **v)
{
	struct timelines *ts = q->s->timelines;
	struct timeline *t = NULL;
	int err = 0;

	pthread_mutex_lock(&ts->lock);
	for (size_t i = 0; i < VIEWS; i++) {
		struct timeline *k = ts->kept[i];

		if (!k || strcmp(k->id, q->run.id))
			continue;
		if (k->processes == q->run.processes) {
			t = k;
		} else if (!k->users) { /* a process joined the run: it is read anew */
			timeline_free(k);
			ts->kept[i] = NULL;
		}
	}
	err = t ? renew(q, t) : make(q, ts, &t);
	if (!err) {
		if (!q->run.live)
			tile_ended(t->v);
		t->users++;
		t->used = ++ts->clock;
		*out = t;
		*v = t->v;
	}
	pthread_mutex_unlock(&ts->lock);
	return err;
}

void timeline_put(struct ask *q, struct timeline *t)
{
	pthread_mutex_lock(&q->s->timelines->lock);
	t->users--;
	pthread_mutex_unlock(&q->s->timelines->lock);
}
