/* SPDX-License-Identifier: Apache-2.0 */
/* capture_jobs.c - see capture_jobs.h. */
#include "serve/capture_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/node_capture.h"
#include "export/export_file.h"
#include "model/trace.h"
#include "serve/serve.h"

#define ORDERS  16u /* remembered captures; the oldest finished one makes room */
#define AT_WORK 4u

enum state { ORDER_NONE, ORDER_RUNS, ORDER_DONE, ORDER_FAILED, ORDER_CANCELLED };
static const char *const state_word[] = { "none", "running", "done", "failed", "cancelled" };

struct order {
	struct ordered *of;
	enum state state;
	uint32_t number;
	char run[RUN_ID];
	pthread_t thread;
	bool begun, running; /* the thread must be joined; the capture is still running */
	_Atomic bool stop;   /* relaxed order: the thread polls it */
	struct order_want want;
	char trigger[ORDER_TRIGGER], pids[ORDER_PIDS * 11 + 1];
	uint64_t begun_ns, ended_ns; /* CLOCK_MONOTONIC */
	uint64_t from_ns, to_ns;     /* range of the trace; 0: not known */
	uint64_t bytes;
	char why[256]; /* why it failed */
};

/* The lock guards everything that is not constant once the thread was started. */
struct ordered {
	pthread_mutex_t lock;
	struct order order[ORDERS];
	uint32_t last;
	char folder[PATH_MAX - 32];
};

static void path_of(const struct ordered *o, const struct order *x, char to[PATH_MAX])
{
	snprintf(to, PATH_MAX, "%s/c%" PRIu32 ".pftrace", o->folder, x->number);
}

static void remove_file(const struct ordered *o, const struct order *x)
{
	char path[PATH_MAX];

	path_of(o, x, path);
	unlink(path);
}

int ordered_new(struct ordered **out, const char *folder)
{
	struct ordered *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	pthread_mutex_init(&o->lock, NULL);
	snprintf(o->folder, sizeof(o->folder), "%s", folder);
	*out = o;
	return 0;
}

void ordered_free(struct ordered *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < ORDERS; i++)
		atomic_store_explicit(&o->order[i].stop, true, memory_order_relaxed);
	for (size_t i = 0; i < ORDERS; i++) {
		struct order *x = &o->order[i];

		if (x->begun)
			pthread_join(x->thread, NULL);
		if (x->state != ORDER_NONE)
			remove_file(o, x);
	}
	pthread_mutex_destroy(&o->lock);
	free(o);
}

/* --- a capture, on a thread of its own --- */

static int is_over(void *arg, struct node_capture *c)
{
	const struct order *x = arg;

	(void)c;
	return atomic_load_explicit(&x->stop, memory_order_relaxed) ? -ECANCELED : 0;
}

/* Only the first line is kept: the lines after it explain it. */
static void on_trouble(void *arg, const char *line, bool lacks)
{
	char *why = arg;

	(void)lacks;
	if (!*why)
		snprintf(why, sizeof(((struct order *)0)->why), "%s", line);
}

static void on_wrote(void *arg, const struct export_wrote *w)
{
	*(uint64_t *)arg += w->bytes;
}

/* 0, or -errno with the reason in `why`. */
static int capture(struct order *x, struct node_capture *c, char why[256], uint64_t *bytes)
{
	char path[PATH_MAX], failed[PATH_MAX] = "";
	struct export_to to = { .format = EXPORT_PERFETTO, .to = path };
	struct trace *t;
	int err = node_capture_begin(c, NULL);

	err = err ? err : node_capture_wait(c, is_over, x);
	err = err ? err : node_capture_store(c, &t);
	if (err) {
		snprintf(why, 256, "%.255s", c->said);
		return err;
	}
	path_of(x->of, x, path);
	err = export_files(t, &to, on_wrote, bytes, failed);
	trace_free(t);
	if (err)
		snprintf(why, 256, "its trace could not be written: %s", strerror(-err));
	else
		node_capture_troubles(c, on_trouble, why);
	return err;
}

static void *work(void *arg)
{
	struct order *x = arg;
	struct node_want w = { .pids = x->pids,
			       .trigger = x->want.trigger ? x->trigger : NULL,
			       .steps = x->want.steps,
			       .ms = x->want.ms,
			       .before_ms = x->want.before_ms,
			       .timeout_ms = NODE_TIMEOUT_MS + x->want.ms,
			       .expires_s = NODE_EXPIRES_S,
			       .cool_s = NODE_COOL_S,
			       .count = 1 };
	struct node_capture c;
	uint64_t bytes = 0, from = 0, to = 0;
	char why[256] = "";
	int err;

	if (w.trigger && !w.before_ms)
		w.before_ms = NODE_BEFORE_MS;
	node_capture_init(&c, &w);
	err = capture(x, &c, why, &bytes);
	for (size_t i = 0; i < c.n && !err; i++) {
		from = !from || c.proc[i].from_ns < from ? c.proc[i].from_ns : from;
		to = c.proc[i].to_ns > to ? c.proc[i].to_ns : to;
	}
	node_capture_fini(&c);
	pthread_mutex_lock(&x->of->lock);
	x->ended_ns = clock_mono_ns();
	x->from_ns = from;
	x->to_ns = to;
	x->bytes = bytes;
	memcpy(x->why, why, sizeof(x->why));
	if (x->state == ORDER_RUNS)
		x->state = err ? ORDER_FAILED : ORDER_DONE;
	x->running = false;
	pthread_mutex_unlock(&x->of->lock);
	return NULL;
}

/* Joins the threads of captures that have finished. */
static void look(struct ordered *o)
{
	for (size_t i = 0; i < ORDERS; i++) {
		struct order *x = &o->order[i];

		if (x->begun && !x->running) {
			pthread_join(x->thread, NULL);
			x->begun = false;
		}
	}
}

/* --- beginning --- */

static int start(struct order *x)
{
	int err;

	for (uint32_t i = 0, at = 0; i < x->want.pids; i++)
		at += (uint32_t)snprintf(x->pids + at, sizeof(x->pids) - at, "%s%" PRIu32,
					 i ? "," : "", x->want.pid[i]);
	x->running = true;
	err = pthread_create(&x->thread, NULL, work, x);
	x->begun = x->running = !err;
	return -err;
}

/* A free slot, or the slot of the oldest finished capture. */
static struct order *place(struct ordered *o)
{
	struct order *best = NULL;
	uint32_t at_work = 0;

	for (size_t i = 0; i < ORDERS; i++) {
		struct order *x = &o->order[i];

		if (x->running)
			at_work++;
		else if (!best || x->number < best->number)
			best = x;
	}
	return at_work < AT_WORK ? best : NULL;
}

int order_begin(struct ordered *o, const struct run *r, const struct order_want *w,
		uint32_t *number)
{
	struct order *x;
	int err = -EBUSY;

	pthread_mutex_lock(&o->lock);
	look(o);
	x = place(o);
	if (x) {
		if (x->state != ORDER_NONE)
			remove_file(o, x);
		*x = (struct order){
			.of = o, .number = ++o->last, .want = *w, .begun_ns = clock_mono_ns()
		};
		snprintf(x->trigger, sizeof(x->trigger), "%s", w->trigger ? w->trigger : "");
		memcpy(x->run, r->id, RUN_ID);
		x->state = ORDER_RUNS;
		err = start(x);
		x->state = err ? ORDER_NONE : ORDER_RUNS;
		*number = x->number;
	}
	pthread_mutex_unlock(&o->lock);
	return err;
}

static struct order *find(struct ordered *o, const struct run *r, uint32_t number)
{
	for (size_t i = 0; i < ORDERS; i++)
		if (o->order[i].state != ORDER_NONE && o->order[i].number == number &&
		    !strcmp(o->order[i].run, r->id))
			return &o->order[i];
	return NULL;
}

int order_cancel(struct ordered *o, const struct run *r, uint32_t number)
{
	struct order *x;

	pthread_mutex_lock(&o->lock);
	look(o);
	x = find(o, r, number);
	if (x && x->running) {
		x->state = ORDER_CANCELLED;
		atomic_store_explicit(&x->stop, true, memory_order_relaxed);
	} else {
		x = NULL;
	}
	pthread_mutex_unlock(&o->lock);
	return x ? 0 : -ENOENT;
}

/* --- the list as JSON --- */

static void order_json(struct json *j, const struct order *x, const struct run *r)
{
	uint64_t end = x->ended_ns ? x->ended_ns : clock_mono_ns();
	bool is = x->from_ns && x->to_ns > x->from_ns && x->to_ns > r->t0;

	json_open(j, NULL, '{');
	json_members(j, J_U64("number", x->number), J_STR("state", state_word[x->state]));
	if (x->want.steps)
		json_u64(j, "steps", x->want.steps);
	else
		json_u64(j, "ms", x->want.ms);
	json_members(
		j, J_U64("before_ms", x->want.before_ms),
		J_STR("trigger", x->want.trigger ? x->trigger : NULL),
		J_U64("processes", x->want.pids), J_U64("took_ms", (end - x->begun_ns) / 1000000u),
		J_U64("bytes", x->bytes),
		J_I64_IF("from_ns", is, x->from_ns > r->t0 ? (int64_t)(x->from_ns - r->t0) : 0),
		J_I64_IF("to_ns", is, (int64_t)(x->to_ns - r->t0)),
		J_STR("why", *x->why ? x->why : NULL));
	json_close(j);
}

void ordered_json(struct json *j, const char *key, struct ordered *o, const struct run *r)
{
	json_open(j, key, '[');
	pthread_mutex_lock(&o->lock);
	look(o);
	for (uint32_t n = o->last; n && n + ORDERS > o->last; n--) {
		struct order *x = find(o, r, n);

		if (x)
			order_json(j, x, r);
	}
	pthread_mutex_unlock(&o->lock);
	json_close(j);
}

int order_open(struct ordered *o, const struct run *r, uint32_t number)
{
	char path[PATH_MAX];
	struct order *x;
	int fd = -ENOENT;

	pthread_mutex_lock(&o->lock);
	look(o);
	x = find(o, r, number);
	if (x && x->state == ORDER_DONE) {
		path_of(o, x, path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		fd = fd < 0 ? -ENOENT : fd;
	}
	pthread_mutex_unlock(&o->lock);
	return fd;
}
