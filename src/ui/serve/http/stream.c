/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - see stream.h. */
#include "serve/http/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "abi/msg.h"
#include "base/clock.h"
#include "read/live_json.h"

#define BLOCK      4096u
#define WIRE_BYTES (256 << 10) /* limit of the socket buffer for a slow reader */
#define LOOK_MS    100
#define BUSY_MS    5
#define TEXT_MAX   (256u << 10) /* text produced at a time */
#define PROCESSES  512u         /* processes whose user is remembered */
#define NS_OF_A_MS 1000000ull

struct sclient {
	struct sclient *next;
	struct MHD_Connection *mhd;
	struct http *h;
	struct viewer who;
	struct aon_consumer *c; /* owned; used by the thread only */
	bool windows, all;      /* all: the client may see all that the consumer sees */
	uint64_t lost, beat_ns;
	struct {
		uint32_t id;
		bool may;
	} process[PROCESSES];
	/* Guarded by http.lock: */
	char *text; /* owned: to be sent, from `sent` on */
	size_t len, sent;
	bool asleep, gone, ended;
};

struct streams {
	pthread_t thread;
	struct sclient *first;
	size_t n;
	struct {
		struct aon_consumer *c; /* owned; NULL: unused */
		uint64_t until_ns;
	} kept[STREAM_KEPT];
};

/* --- producing text; on the thread --- */

static bool may_see(struct sclient *s, uint32_t process)
{
	struct aon_consumer_process p = { .size = sizeof(p) };
	uint32_t at = process % PROCESSES;

	if (s->all)
		return true;
	if (s->process[at].id != process) {
		s->process[at].id = process;
		s->process[at].may =
			!aon_consumer_process(s->c, process, &p) && p.uid == s->who.uid;
	}
	return s->process[at].may;
}

static void put_head(FILE *f, struct aon_consumer *c, const char *event)
{
	struct aon_consumer_place at;

	aon_consumer_place(c, &at);
	fprintf(f, "id: %" PRIx64 "-%" PRIx64 "\nevent: %s\ndata: ", at.ring, at.seq, event);
}

static void put_lost(struct sclient *s, FILE *f)
{
	uint64_t lost = aon_consumer_lost(s->c);

	if (lost == s->lost)
		return;
	put_head(f, s->c, "lost");
	live_lost_json(f, lost - s->lost);
	fputc('\n', f);
	s->lost = lost;
}

/* Writes the next events, up to the limit. -EPIPE: aond has ended and everything was read. */
static int put_some(struct sclient *s, FILE *f)
{
	struct aon_consumer_window w;
	int got;

	do {
		got = s->windows ? aon_consumer_next_window(s->c, &w, 0)
				 : aon_consumer_next(s->c, &w.of, 0);
		put_lost(s, f);
		if (got <= 0 || !may_see(s, w.of.process))
			continue;
		put_head(f, s->c, s->windows ? "window" : "event");
		if (s->windows)
			live_window_json(f, s->c, &w);
		else
			live_event_json(f, s->c, &w.of);
		fputc('\n', f);
	} while (got > 0 && ftell(f) < (long)TEXT_MAX);
	return got;
}

/* Produces the next text for a client that has sent the last one. False: there is no data. */
static bool make_text(struct sclient *s)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int got = f ? put_some(s, f) : -ENOMEM;
	uint64_t now = clock_mono_ns();

	if (f && !ftell(f) && now - s->beat_ns > STREAM_BEAT_S * 1000 * NS_OF_A_MS)
		fputs(":\n\n", f);
	if (!f || fclose(f)) {
		free(text);
		text = NULL;
		len = 0;
	}
	pthread_mutex_lock(&s->h->lock);
	free(s->text);
	s->text = text;
	s->len = len;
	s->sent = 0;
	s->ended = got < 0;
	if (len)
		s->beat_ns = now;
	if (s->asleep && (len || s->ended)) {
		s->asleep = false;
		MHD_resume_connection(s->mhd);
	}
	pthread_mutex_unlock(&s->h->lock);
	return len != 0;
}

/* --- clients that disconnected --- */

static void keep(struct streams *x, struct aon_consumer *c)
{
	size_t at = 0;

	for (size_t i = 1; i < STREAM_KEPT; i++)
		if (x->kept[i].until_ns < x->kept[at].until_ns)
			at = i;
	aon_consumer_close(x->kept[at].c);
	x->kept[at].c = c;
	x->kept[at].until_ns = clock_mono_ns() + STREAM_KEPT_S * 1000 * NS_OF_A_MS;
}

static void drop_kept(struct streams *x, uint64_t now)
{
	for (size_t i = 0; i < STREAM_KEPT; i++) {
		if (!x->kept[i].c || now < x->kept[i].until_ns)
			continue;
		aon_consumer_close(x->kept[i].c);
		x->kept[i].c = NULL;
		x->kept[i].until_ns = 0;
	}
}

/* With http.lock held. */
static void sweep(struct streams *x)
{
	for (struct sclient **at = &x->first, *s; (s = *at);) {
		if (!s->gone) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		x->n--;
		keep(x, s->c);
		free(s->text);
		free(s);
	}
}

static void *reader(void *arg)
{
	struct http *h = arg;
	struct streams *x = h->streams;
	bool stopping;

	do {
		struct timespec wait = { 0 };
		bool busy = false;
		struct sclient *s;

		pthread_mutex_lock(&h->lock);
		sweep(x); /* only this thread removes clients from the list */
		s = x->first;
		stopping = h->stopping;
		pthread_mutex_unlock(&h->lock);
		for (; s; s = s->next) {
			bool due;

			pthread_mutex_lock(&h->lock);
			due = s->sent == s->len && !s->ended && !s->gone;
			pthread_mutex_unlock(&h->lock);
			busy |= due && make_text(s);
		}
		drop_kept(x, clock_mono_ns());
		wait.tv_nsec = (busy ? BUSY_MS : LOOK_MS) * (long)NS_OF_A_MS;
		nanosleep(&wait, NULL);
	} while (!stopping);
	return NULL;
}

/* --- MHD's side --- */

static ssize_t read_some(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct sclient *s = arg;
	size_t n;

	(void)pos;
	pthread_mutex_lock(&s->h->lock);
	n = s->len - s->sent < max ? s->len - s->sent : max;
	if (n)
		memcpy(buf, s->text + s->sent, n);
	s->sent += n;
	if (!n && !s->ended && !s->h->stopping) {
		s->asleep = true;
		MHD_suspend_connection(s->mhd);
	}
	pos = !n && (s->ended || s->h->stopping);
	pthread_mutex_unlock(&s->h->lock);
	return pos ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)n;
}

static void client_left(void *arg)
{
	struct sclient *s = arg;

	pthread_mutex_lock(&s->h->lock);
	s->gone = true;
	pthread_mutex_unlock(&s->h->lock);
}

/* Users with access to aond's admin socket see everything, as on that socket. */
static bool is_admin(const struct viewer *who)
{
	const char *dir = getenv(AON_ENV_RUN_DIR);
	char path[256];
	struct stat sb;

	if (who->all)
		return true;
	snprintf(path, sizeof(path), "%s/%s", dir && *dir ? dir : AON_RUN_DIR, AON_ADMIN_NAME);
	if (stat(path, &sb) < 0)
		return false;
	for (size_t i = 0; i < who->groups; i++)
		if (who->group[i] == sb.st_gid && sb.st_mode & S_IWGRP)
			return true;
	return who->uid == sb.st_uid;
}

/* 0, or 503 if there are too many. The first client starts the thread. */
static int client_add(struct http *h, struct sclient *s)
{
	int status = 0;

	pthread_mutex_lock(&h->lock);
	if (!h->streams) {
		h->streams = calloc(1, sizeof(*h->streams));
		if (h->streams && pthread_create(&h->streams->thread, NULL, reader, h)) {
			free(h->streams);
			h->streams = NULL;
		}
	}
	if (!h->streams || h->stopping || h->streams->n == STREAM_CLIENTS) {
		status = 503;
	} else {
		s->next = h->streams->first;
		h->streams->first = s;
		h->streams->n++;
	}
	pthread_mutex_unlock(&h->lock);
	return status;
}

static void go_on_from(struct aon_consumer *c, const char *last)
{
	struct aon_consumer_place at;
	int end = 0;

	if (last && strlen(last) < 40 &&
	    sscanf(last, "%" SCNx64 "-%" SCNx64 "%n", &at.ring, &at.seq, &end) == 2 && !last[end])
		/* the ring is another one: start now, and send the new id */
		aon_consumer_resume(c, &at);
}

static enum MHD_Result refuse(struct MHD_Connection *mhd, int status, const char *what,
			      const char *hint)
{
	struct answer a = { .fd = -1 };

	answer_error(&a, status, what, hint);
	a.retry_s = 30;
	return http_reply(mhd, &a);
}

static enum MHD_Result send_headers(struct MHD_Connection *mhd, struct sclient *s)
{
	struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK,
								   read_some, s, client_left);
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	const int wire = WIRE_BYTES;
	enum MHD_Result rc;

	if (!r) {
		client_left(s);
		return MHD_NO;
	}
	if (info)
		setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &wire, sizeof(wire));
	/* A client that reads nothing for this long is disconnected. */
	MHD_set_connection_option(mhd, MHD_CONNECTION_OPTION_TIMEOUT, HTTP_ANSWER_S);
	http_heads(r);
	MHD_add_response_header(r, "Content-Type", "text/event-stream");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	rc = MHD_queue_response(mhd, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return rc;
}

enum MHD_Result stream_begin(struct http *h, struct MHD_Connection *mhd, const struct viewer *who,
			     const char *target, const char *last)
{
	struct answer a = { .fd = -1 };
	struct stream_want *want;
	struct sclient *s;
	int err;

	serve_ask(h->s, who, target, &a);
	if (a.status != 200)
		return http_reply(mhd, &a);
	want = (struct stream_want *)(void *)a.body;
	s = calloc(1, sizeof(*s));
	if (!s) {
		answer_fini(&a);
		return MHD_NO;
	}
	*s = (struct sclient){ .mhd = mhd, .h = h, .who = *who, .all = is_admin(who) };
	s->windows = want->opts.flags & AON_CONSUMER_WINDOWS;
	want->opts.pid = want->pid;
	err = aon_consumer_open(&s->c, NULL, &want->opts);
	answer_fini(&a);
	if (err) {
		free(s);
		return err == -EBUSY ? refuse(mhd, 503, "aond takes no more consumers.", "")
				     : refuse(mhd, 503, "No aond answers on this node.",
					      "Start one: systemctl start aond");
	}
	go_on_from(s->c, last);
	s->text = strdup("retry: 1000\n\n");
	s->len = s->text ? strlen(s->text) : 0;
	if (client_add(h, s)) {
		aon_consumer_close(s->c);
		free(s->text);
		free(s);
		return refuse(mhd, 503, "Too many streams are open.", "Close some.");
	}
	return send_headers(mhd, s);
}

/* --- stop --- */

void stream_stop(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	for (struct sclient *s = h->streams ? h->streams->first : NULL; s; s = s->next) {
		if (s->asleep)
			MHD_resume_connection(s->mhd);
		s->asleep = false;
	}
	pthread_mutex_unlock(&h->lock);
}

void stream_fini(struct http *h)
{
	struct streams *x = h->streams;

	if (!x)
		return;
	pthread_join(x->thread, NULL);
	for (struct sclient *s = x->first; s; s = s->next)
		s->gone = true;
	sweep(x);
	drop_kept(x, UINT64_MAX);
	free(x);
}
