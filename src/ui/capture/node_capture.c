/* SPDX-License-Identifier: Apache-2.0 */
/* node_capture.c - orders a capture at aond, and waits for it; see node_capture.h. */
#include "capture/node_capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/vec.h"
#include "capture/ask.h"

#define LOOK_MS  50
#define ARMED_MS 250   /* nothing hurries: it runs already when we learn that it does */
#define LINE     1900u /* of a request */

__attribute__((format(printf, 3, 4))) static int fail(struct node_capture *c, int err,
						      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->said, sizeof(c->said), fmt, ap);
	va_end(ap);
	return err;
}

void node_capture_init(struct node_capture *c, const struct node_want *w)
{
	*c = (struct node_capture){ .want = *w, .ask = -1, .begin_ns = clock_mono_ns() };
}

void node_capture_fini(struct node_capture *c)
{
	if (c->ask >= 0)
		close(c->ask);
	c->ask = -1;
	free(c->proc);
	c->proc = NULL;
}

/* --- what aond says --- */

static void take_proc(struct node_capture *c, char *rest)
{
	struct node_proc p = { .rank = -1 };
	char rank[16];

	if (sscanf(rest,
		   "%" SCNu32 " %" SCNu32 " %15s %11s %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %*u %" SCNu64 " %" SCNu64,
		   &p.pid, &p.id, rank, p.end, &p.first, &p.last, &p.step, &p.emitted,
		   &p.lost) != 9)
		return;
	if (*rank != '-')
		p.rank = (int32_t)num_front_i64(rank, NULL);
	if (vec_room(&c->proc, &c->cap, c->n + 1, sizeof(*c->proc)) == 0)
		c->proc[c->n++] = p;
}

static void on_line(void *arg, char *line)
{
	struct node_capture *c = arg;
	char *rest = line, *word = strsep(&rest, "\t");

	if (!rest)
		snprintf(c->error, sizeof(c->error), "%s",
			 strncmp(word, "error: ", 7) ? word : word + 7);
	else if (!strcmp(word, "id"))
		c->id = num_front(rest, NULL);
	else if (!strcmp(word, "processes"))
		c->chosen = num_front(rest, NULL);
	else if (!strcmp(word, "store"))
		snprintf(c->store, sizeof(c->store), "%s", rest);
	else if (!strcmp(word, "process"))
		take_proc(c, rest);
	else if (!strcmp(word, "why"))
		snprintf(c->why, sizeof(c->why), "%s", rest);
	else if (!strcmp(word, "armed") && !c->armed++)
		snprintf(c->values, sizeof(c->values), "%s", rest + strcspn(rest, "\t"));
	else if (!strcmp(word, "capture")) {
		sscanf(rest, "%*u %11s %" SCNu64 " %*u %95[^\n]", c->state, &c->begin_ns, c->error);
		if (!strcmp(c->error, "-"))
			*c->error = '\0';
	}
}

int node_capture_ask(struct node_capture *c, const char *line)
{
	int err = ask_on(c->ask, line, on_line, c);

	if (err == -EPIPE || err == -ECONNRESET)
		err = -ENOTCONN;
	return err;
}

/* --- beginning --- */

int node_capture_open(struct node_capture *c, const char *run_dir)
{
	char of_pid[PATH_MAX] = "";

	if (!run_dir && c->want.pids)
		locate_run_dir_of((pid_t)num_front_i64(c->want.pids, NULL), of_pid);
	if (!run_dir)
		run_dir = *of_pid ? of_pid : locate_run_dir();
	c->ask = ask_open(run_dir, NODE_CAPTURE_MS);
	if (c->ask >= 0)
		return 0;
	return fail(c, c->ask, "no aond answers: %s. Start it, or the program with: aon run -- CMD",
		    strerror(-c->ask));
}

/* The line that asks for it. False: it is too long. */
static bool put_want(const struct node_want *w, char line[LINE])
{
	const struct {
		const char *key, *value;
	} words[] = { { "pids", w->pids }, { "ranks", w->ranks }, { "job", w->job } };
	int at = snprintf(line, LINE,
			  "capture begin steps=%" PRIu64 " ms=%" PRIu64 " from=%" PRIu64
			  " before=%" PRIu64 " timeout=%" PRIu64,
			  w->steps, w->ms, w->from, w->before_ms, w->timeout_ms);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].value && at < (int)LINE)
			at += snprintf(line + at, LINE - (size_t)at, " %s=%s", words[i].key,
				       words[i].value);
	if (w->trigger && at < (int)LINE)
		at += snprintf(line + at, LINE - (size_t)at,
			       " expires=%" PRIu64 " cool=%" PRIu64 "%s when=%s", w->expires_s,
			       w->cool_s, w->keep ? " stand=1" : "", w->trigger);
	return at < (int)LINE;
}

int node_capture_begin(struct node_capture *c, const char *run_dir)
{
	char line[LINE];
	int err;

	if (!put_want(&c->want, line))
		return fail(c, -EINVAL, "too many pids or ranks");
	err = node_capture_open(c, run_dir);
	if (err)
		return err;
	err = node_capture_ask(c, line);
	if (err)
		return fail(c, err, "aond does not answer: %s", strerror(-err));
	if (!c->id)
		return fail(c, -EREMOTEIO, "%s", c->error);
	if (!c->chosen && !c->want.before_ms && !c->want.trigger)
		return fail(c, -ESRCH, "no such process of yours runs under aond. See: aon ps");
	return 0;
}

/* --- waiting --- */

static void nap(const struct node_capture *c)
{
	long ms = strcmp(c->state, "armed") ? LOOK_MS : ARMED_MS;

	nanosleep(&(struct timespec){ 0, ms * 1000000l }, NULL);
}

/* How far it is, by aond. */
static int look_at(struct node_capture *c)
{
	c->n = c->armed = 0;
	*c->state = '\0';
	if (node_capture_ask(c, "capture state"))
		return fail(c, -ENOTCONN,
			    "aond has ended during the capture: nothing is written. What it had "
			    "stored is kept: aon capture --before T -o FILE");
	if (!*c->state)
		return fail(c, -ECANCELED, "capture %" PRIu64 " was cancelled: nothing is written",
			    c->id);
	if (!strcmp(c->state, "expired"))
		return fail(c, -ETIME, "%s: nothing is written%s",
			    strstr(c->why, "captures_day") ? c->why : "its trigger did not fire",
			    c->times ? " but what was before" : "");
	return 0;
}

int node_capture_wait(struct node_capture *c, node_look_fn *look, void *arg)
{
	int err = 0;

	while (!err && strcmp(c->state, "done")) {
		nap(c);
		err = look_at(c);
		if (!err && look)
			err = look(arg, c);
		if (err == -ECANCELED && !*c->said)
			fail(c, err, "interrupted: the capture is cancelled, nothing is written");
	}
	return err;
}

int node_capture_again(struct node_capture *c)
{
	char line[64];

	snprintf(line, sizeof(line), "capture again %" PRIu64, c->id);
	*c->state = '\0';
	if (node_capture_ask(c, line))
		return fail(c, -ENOTCONN, "aond has ended: what was captured before is written");
	return strcmp(c->error, "ok") ? fail(c, -EREMOTEIO, "%s", c->error) : 0;
}
