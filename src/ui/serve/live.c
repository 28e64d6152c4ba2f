/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - server-sent events: one `tick` every two seconds, with the progress of the runs.
 *
 * A client that is up to date sleeps (its MHD connection is suspended) until the ticker wakes it.
 * Its data is produced on MHD's thread when it is awake, so a slow client delays nobody. It skips
 * the ticks that it missed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "serve/api/api.h"
#include "serve/http/http_priv.h"

#define BLOCK 4096u

static void run_tick_json(struct json *j, const struct run *r)
{
	json_object(j, NULL, J_STR("id", r->id), J_STR("state", r->live ? "live" : "ended"),
		    J_U64("steps", r->steps), J_U64("events", r->events), J_U64("lost", r->lost),
		    J_U64("t1_rel", r->t1 - r->t0));
}

/* "event: tick", a line of JSON, an empty line. */
static int make_text(struct live_client *c)
{
	struct runs rs;
	struct json j;
	char asof[24];
	FILE *f;
	int err = runs_load(&rs, c->h->s, &c->who);

	if (err < 0)
		return err;
	free(c->text);
	c->text = NULL;
	c->len = c->sent = 0;
	f = open_memstream(&c->text, &c->len);
	if (!f) {
		runs_fini(&rs);
		return -ENOMEM;
	}
	snprintf(asof, sizeof(asof), "%llu", (unsigned long long)clock_wall_ns());
	fputs("event: tick\ndata: ", f);
	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_members(&j, J_U64("v", 1), J_STR("asof", asof));
	json_open(&j, "runs", '[');
	for (size_t i = 0; i < rs.n; i++)
		if (!*c->run || !strcmp(c->run, rs.run[i].id))
			run_tick_json(&j, &rs.run[i]);
	json_end(&j);
	fputc('\n', f);
	runs_fini(&rs);
	return fclose(f) == 0 ? 0 : -ENOMEM;
}

/* Whether there is something to send; if not, the connection is suspended until the next tick. */
static bool wake(struct live_client *c)
{
	struct http *h = c->h;
	bool due;

	pthread_mutex_lock(&h->lock);
	due = c->told != h->tick;
	c->told = h->tick;
	if (!due && !h->stopping) {
		c->asleep = true;
		MHD_suspend_connection(c->mhd);
	}
	pthread_mutex_unlock(&h->lock);
	return due;
}

static ssize_t read_some(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct live_client *c = arg;
	size_t n;

	(void)pos;
	if (c->sent == c->len) {
		if (c->h->stopping)
			return MHD_CONTENT_READER_END_OF_STREAM;
		if (!wake(c))
			return 0;
		if (make_text(c) < 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
	}
	n = c->len - c->sent < max ? c->len - c->sent : max;
	memcpy(buf, c->text + c->sent, n);
	c->sent += n;
	return (ssize_t)n;
}

static void client_free(void *arg)
{
	struct live_client *c = arg;

	pthread_mutex_lock(&c->h->lock);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->h->live--;
	pthread_mutex_unlock(&c->h->lock);
	free(c->text);
	free(c);
}

static bool client_add(struct http *h, struct live_client *c)
{
	bool room;

	pthread_mutex_lock(&h->lock);
	room = h->live < HTTP_LIVE && !h->stopping;
	if (room) {
		c->told = h->tick - 1; /* so that the first tick is sent at once */
		c->next = h->clients;
		c->link = &h->clients;
		if (c->next)
			c->next->link = &c->next;
		h->clients = c;
		h->live++;
	}
	pthread_mutex_unlock(&h->lock);
	return room;
}

/* "/api/v1/live" or "/api/v1/run/{id}/live". */
static int which_run(struct live_client *c, const char *target, struct answer *a)
{
	serve_ask(c->h->s, &c->who, target, a);
	if (a->status == 200 && a->len == RUN_ID - 1)
		memcpy(c->run, a->body, RUN_ID - 1);
	return a->status == 200 ? 0 : -ENOENT;
}

enum MHD_Result live_begin(struct http *h, struct MHD_Connection *mhd, const struct viewer *who,
			   const char *target)
{
	struct live_client *c = calloc(1, sizeof(*c));
	struct MHD_Response *r;
	struct answer a = { .fd = -1 };
	enum MHD_Result rc;

	if (!c)
		return MHD_NO;
	*c = (struct live_client){ .mhd = mhd, .h = h, .who = *who };
	if (which_run(c, target, &a) < 0) {
		free(c);
		return http_reply(mhd, &a);
	}
	if (!client_add(h, c)) {
		free(c);
		answer_error(&a, 503, "Too many pages are open.",
			     "Close some, or ask without live.");
		a.retry_s = 30;
		return http_reply(mhd, &a);
	}
	answer_fini(&a);
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_some, c, client_free);
	if (!r) {
		client_free(c);
		return MHD_NO;
	}
	http_heads(r);
	MHD_add_response_header(r, "Content-Type", "text/event-stream");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	rc = MHD_queue_response(mhd, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return rc;
}

/* Returns the id of the run for which_run() above, or nothing for all runs. */
int api_live(struct ask *q, struct answer *a)
{
	a->type = "text/event-stream";
	a->body = strdup(q->run.id);
	a->len = a->body ? strlen(a->body) : 0;
	return a->body ? 0 : -ENOMEM;
}

static void resume_all(struct http *h)
{
	for (struct live_client *c = h->clients; c; c = c->next)
		if (c->asleep) {
			c->asleep = false;
			MHD_resume_connection(c->mhd);
		}
}

void live_tick(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	h->tick++;
	resume_all(h);
	pthread_mutex_unlock(&h->lock);
}

void live_stop(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	h->stopping = true;
	resume_all(h);
	pthread_mutex_unlock(&h->lock);
}
