/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - keeps the timelines of a few runs. A run is opened on its first request; the least
 * recently requested one makes room.
 *
 * One thread reads the open timelines, step by step. A request waits until the whole run is read,
 * or, with soon=1, for a moment, and gets what is there by then. Between two steps waiting requests
 * go first.
 */
#include "serve/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/demangle.h"
#include "base/vec.h"
#include "serve/api/api.h"
#include "store/store.h"

#define VIEWS      3u
#define VIEW_BYTES (24u << 20) /* limit for cells; above it a view makes its tracks coarser */
#define STEP_NS    20000000u   /* length of one step of the reader */
#define SOON_NS    50000000u   /* how long a request with soon=1 waits */
#define ASKED_NS   50000000u   /* the reader waits at most this long while requests use the view */

struct timeline {
	char id[RUN_ID]; /* "": unused */
	size_t processes;
	uint64_t blob;
	uint32_t users;  /* requests and reader that hold it or wait for it */
	uint32_t asking; /* requests that hold it */
	uint64_t used;
	bool unread;         /* the reader has more to read */
	int err;             /* why reading failed */
	struct tile_view *v; /* owned */
};

struct timelines {
	pthread_mutex_t lock; /* guards all members; taken before serve.heavy */
	/* more was read, there is more to read, a view was put, or the end */
	pthread_cond_t news;
	struct timeline *kept[VIEWS]; /* owned; NULL: free */
	uint64_t clock;
	pthread_t reader;
	bool reading, stop;  /* the reader thread exists; it must end */
	struct serve *ahead; /* borrowed: its newest run is read before anybody asks */
	struct viewer who;   /* the user whose newest run that is */
};

int timelines_new(struct timelines **out)
{
	struct timelines *t = calloc(1, sizeof(*t));
	pthread_condattr_t attr;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->news, &attr);
	pthread_condattr_destroy(&attr);
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
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->news);
	pthread_mutex_unlock(&t->lock);
	if (t->reading)
		pthread_join(t->reader, NULL);
	for (size_t i = 0; i < VIEWS; i++)
		timeline_free(t->kept[i]);
	pthread_cond_destroy(&t->news);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

struct learning {
	const char **name; /* owned */
	size_t n;
};

static int on_name(void *arg, uint32_t id, const char *text, size_t len)
{
	struct learning *l = arg;

	(void)id, (void)len;
	if (text[0] != '_' || text[1] != 'Z')
		return 0;
	if (vec_more(&l->name, l->n, sizeof(*l->name)) < 0)
		return -ENOMEM;
	l->name[l->n] = strdup(text);
	return l->name[l->n] ? (int)(l->n++, 0) : -ENOMEM;
}

/* Reads all names of a store at once: each batch of names costs a process. */
static void learn_names(struct store *st)
{
	struct learning l = { 0 };

	if (store_each_name(st, on_name, &l) == 0)
		demangle_learn(l.name, l.n);
	for (size_t i = 0; i < l.n; i++)
		free((void *)(uintptr_t)l.name[i]);
	free(l.name);
}

/* A slot for a new view; NULL: all views are in use. */
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
			       .later = true,
			       .bytes_max = VIEW_BYTES,
			       .show = demangle };
	uint32_t *process = calloc(q->run.processes + 1, sizeof(*process));
	int err;

	if (!process)
		return -ENOMEM;
	for (size_t i = 0; i < q->run.processes; i++)
		process[i] = q->run.process[i].id;
	o.process = process;
	learn_names(q->run.src->st);
	err = tile_open_store(&t->v, q->run.src->st, &o);
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
	t->unread = true;
	*slot = *out = t;
	pthread_cond_broadcast(&ts->news);
	return 0;
}

/* Looks for new events, unless the reader is reading them right now. */
static int renew(struct ask *q, struct timeline *t)
{
	int err = 0;

	if (t->unread || t->blob == q->run.blob)
		return 0;
	err = tile_refresh(t->v);
	if (!err)
		t->blob = q->run.blob;
	return err;
}

/* The view of the run, opened if necessary. With the lock held. */
static int find_or_make(struct ask *q, struct timelines *ts, struct timeline **out)
{
	struct timeline *t = NULL;

	for (size_t i = 0; i < VIEWS; i++) {
		struct timeline *k = ts->kept[i];

		if (!k || strcmp(k->id, q->run.id))
			continue;
		if (k->processes == q->run.processes && (!k->err || k->users)) {
			t = k;
		} else if (!k->users) { /* a process joined the run: read it again */
			timeline_free(k);
			ts->kept[i] = NULL;
		}
	}
	*out = t;
	return t ? renew(q, t) : make(q, ts, out);
}

/* --- the reader --- */

static void wait_for(struct timelines *ts, uint64_t ns)
{
	struct timespec until = clock_after(CLOCK_MONOTONIC, ns);

	pthread_cond_timedwait(&ts->news, &ts->lock, &until);
}

/* Opens the newest run, because the page shows it first. */
static void open_ahead(struct serve *s, struct timelines *ts)
{
	struct ask q = { .s = s, .who = &ts->who };
	struct timeline *t;
	struct runs rs;

	if (runs_load(&rs, s, q.who) < 0)
		return;
	pthread_mutex_lock(&ts->lock);
	if (rs.n) {
		q.run = rs.run[0];
		find_or_make(&q, ts, &t); /* a failure is reported to the first request */
	}
	pthread_mutex_unlock(&ts->lock);
	runs_fini(&rs);
}

static struct timeline *next_unread(const struct timelines *ts)
{
	struct timeline *t = NULL;

	for (size_t i = 0; i < VIEWS; i++) {
		struct timeline *k = ts->kept[i];

		if (k && k->unread && (!t || k->used > t->used))
			t = k;
	}
	return t;
}

static void *reader(void *arg)
{
	struct timelines *ts = arg;
	int more;

	if (ts->ahead)
		open_ahead(ts->ahead, ts);
	pthread_mutex_lock(&ts->lock);
	while (!ts->stop) {
		struct timeline *t = next_unread(ts);

		if (!t) {
			pthread_cond_wait(&ts->news, &ts->lock);
			continue;
		}
		t->users++;
		if (t->asking)
			wait_for(ts, ASKED_NS);
		pthread_mutex_unlock(&ts->lock);
		more = tile_read(t->v, STEP_NS);
		pthread_mutex_lock(&ts->lock);
		t->users--;
		t->unread = more > 0;
		t->err = more < 0 ? more : 0;
		pthread_cond_broadcast(&ts->news);
	}
	pthread_mutex_unlock(&ts->lock);
	return NULL;
}

/* With the lock held. */
static int start_reader(struct timelines *ts)
{
	int err = ts->reading ? 0 : pthread_create(&ts->reader, NULL, reader, ts);

	ts->reading = !err;
	return -err;
}

void timelines_ahead(struct serve *s, const struct viewer *who)
{
	struct timelines *ts = s->timelines;

	pthread_mutex_lock(&ts->lock);
	if (!ts->reading) {
		ts->ahead = s;
		ts->who = *who;
		start_reader(ts); /* if it fails, the first request starts it */
	}
	pthread_mutex_unlock(&ts->lock);
}

/* --- requests --- */

/*
 * Waits until everything is read, or for a moment if `soon`. With the lock held; the view is in
 * use.
 */
static int await(struct timelines *ts, const struct timeline *t, bool soon)
{
	uint64_t until = clock_mono_ns() + SOON_NS, now;

	while (t->unread) {
		now = clock_mono_ns();
		if (!soon)
			pthread_cond_wait(&ts->news, &ts->lock);
		else if (now < until)
			wait_for(ts, until - now);
		else
			break;
	}
	return t->err;
}

int timeline_get(struct ask *q, struct timeline **out, struct tile_view **v)
{
	struct timelines *ts = q->s->timelines;
	struct timeline *t = NULL;
	uint64_t soon = 0;
	int err = ask_number(q, "soon", 0, 1, &soon);

	if (err < 0)
		return err;
	pthread_mutex_lock(&ts->lock);
	err = start_reader(ts);
	err = err ? err : find_or_make(q, ts, &t);
	while (err == -EBUSY) { /* until a view is put */
		pthread_cond_wait(&ts->news, &ts->lock);
		err = find_or_make(q, ts, &t);
	}
	if (!err) {
		t->users++;
		t->used = ++ts->clock;
		err = await(ts, t, soon);
		t->users -= err != 0;
	}
	if (!err) {
		if (!q->run.live)
			tile_ended(t->v);
		t->asking++;
		*out = t;
		*v = t->v;
	}
	pthread_mutex_unlock(&ts->lock);
	return err;
}

bool timeline_ready(const struct ask *q)
{
	struct timelines *ts = q->s->timelines;
	bool ready = false;

	pthread_mutex_lock(&ts->lock);
	for (size_t i = 0; i < VIEWS; i++)
		if (ts->kept[i] && !strcmp(ts->kept[i]->id, q->run.id))
			ready |= !ts->kept[i]->unread;
	pthread_mutex_unlock(&ts->lock);
	return ready;
}

void timeline_put(struct ask *q, struct timeline *t)
{
	struct timelines *ts = q->s->timelines;

	pthread_mutex_lock(&ts->lock);
	t->users--;
	t->asking--;
	pthread_cond_broadcast(&ts->news);
	pthread_mutex_unlock(&ts->lock);
}
