/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - see http.h.
 *
 * libmicrohttpd reads requests and writes answers, on a few threads. Its time limit is of silence;
 * who sends a byte now and then is not silent. So each connection is also in a list, and a ticker
 * shuts those that have waited too long for their request, or taken too long for an answer.
 */
#include "serve/http/http.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "serve/analysis.h"
#include "serve/http/http_priv.h"
#include "serve/http/page.h"
#include "serve/http/stream.h"
#include "serve/timeline.h"

#define THREADS 4u
#define SECOND  1000000000ull

uint64_t http_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

/* --- connections --- */

static void conn_begin(struct http *h, struct MHD_Connection *c, void **place)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct conn *x = info ? calloc(1, sizeof(*x)) : NULL;

	*place = x;
	if (!x)
		return;
	x->fd = info->connect_fd;
	x->since_ns = http_now();
	pthread_mutex_lock(&h->lock);
	x->next = h->conns;
	x->link = &h->conns;
	if (x->next)
		x->next->link = &x->next;
	h->conns = x;
	pthread_mutex_unlock(&h->lock);
}

static void on_connection(void *arg, struct MHD_Connection *c, void **place,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *h = arg;
	struct conn *x = *place;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		conn_begin(h, c, place);
	} else if (x) {
		pthread_mutex_lock(&h->lock);
		*x->link = x->next;
		if (x->next)
			x->next->link = x->link;
		pthread_mutex_unlock(&h->lock);
		free(x);
		*place = NULL;
	}
}

static struct conn *conn_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void conn_state(struct http *h, struct MHD_Connection *c, bool answering, bool live)
{
	struct conn *x = conn_of(c);

	if (!x)
		return;
	pthread_mutex_lock(&h->lock);
	x->since_ns = http_now();
	x->answering = answering;
	x->live = live;
	pthread_mutex_unlock(&h->lock);
}

/* The descriptor is good while its connection is in the list. */
static void shut_slow(struct http *h)
{
	uint64_t now = http_now();

	pthread_mutex_lock(&h->lock);
	for (struct conn *x = h->conns; x; x = x->next) {
		uint64_t most = (x->answering ? HTTP_ANSWER_S : HTTP_REQUEST_S) * SECOND;

		if (!x->live && now - x->since_ns > most)
			shutdown(x->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&h->lock);
}

static void *ticker(void *arg)
{
	struct http *h = arg;
	uint64_t seconds = 0;

	pthread_mutex_lock(&h->lock);
	while (!h->stopping) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&h->stop, &h->lock, &until);
		if (h->stopping)
			break;
		pthread_mutex_unlock(&h->lock);
		shut_slow(h);
		analysis_idle(h->s);
		if (++seconds % HTTP_LIVE_S == 0)
			live_tick(h);
		pthread_mutex_lock(&h->lock);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* --- requests --- */

static void *on_target(void *arg, const char *uri, struct MHD_Connection *c)
{
	struct request *r = calloc(1, sizeof(*r));

	(void)arg;
	(void)c;
	if (!r)
		return NULL;
	snprintf(r->target, sizeof(r->target), "%s", uri);
	return r;
}

static void on_end(void *arg, struct MHD_Connection *c, void **place,
		   enum MHD_RequestTerminationCode code)
{
	struct http *h = arg;
	struct request *r = *place;

	(void)code;
	conn_state(h, c, false, false);
	if (r && pool_done(&h->pool, r)) /* who asked is gone */
		answer_fini(&r->answer);
	free(r);
	*place = NULL;
}

static enum MHD_Result refuse(struct MHD_Connection *c, int status, const char *what,
			      const char *hint)
{
	struct answer a = { .fd = -1 };

	answer_error(&a, status, what, hint);
	return http_reply(c, &a);
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* The token in the address becomes a cookie, and leaves the address. */
static enum MHD_Result enter(struct http *h, struct MHD_Connection *c, const char *path)
{
	char cookie[TOKEN_BYTES + 96];
	struct MHD_Response *r =
		MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	http_heads(r);
	snprintf(cookie, sizeof(cookie), "%s=%s; HttpOnly; SameSite=Strict; Path=/",
		 h->guard.cookie, h->guard.token);
	MHD_add_response_header(r, "Set-Cookie", cookie);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Location", path);
	rc = MHD_queue_response(c, MHD_HTTP_SEE_OTHER, r);
	MHD_destroy_response(r);
	return rc;
}

enum entry { ENTRY_NO, ENTRY_YES, ENTRY_COOKIE };

/* Whether the asker may in; a token in the query is taken out of `target`. */
static enum entry entry_of(const struct http *h, const struct guard_heads *heads, char *target)
{
	char *query = strchr(target, '?'), *end;
	enum entry in = h->is_unix || guard_token(&h->guard, heads) ? ENTRY_YES : ENTRY_NO;
	char value[TOKEN_BYTES + 1];

	if (!query || strncmp(query + 1, "token=", 6) != 0)
		return in;
	end = query + 1 + strcspn(query + 1, "&");
	snprintf(value, sizeof(value), "%.*s", (int)(end - query - 7), query + 7);
	if (*end)
		memmove(query + 1, end + 1, strlen(end + 1) + 1);
	else
		*query = '\0';
	return guard_same(value, h->guard.token) ? ENTRY_COOKIE : in;
}

static const struct route *open_route(const char *target)
{
	size_t n = strcspn(target, "?");

	for (size_t i = 0; i < routes; i++)
		if (route_table[i].flags & ROUTE_OPEN && strlen(route_table[i].path) == n &&
		    !strncmp(route_table[i].path, target, n))
			return &route_table[i];
	return NULL;
}

static bool ends_in(const char *target, const char *word)
{
	size_t n = strcspn(target, "?"), len = strlen(word);

	return !strncmp(target, "/api/v1/", 8) && n >= len && !strncmp(target + n - len, word, len);
}

static enum MHD_Result answer(struct http *h, struct MHD_Connection *c, const struct viewer *who,
			      struct request *r, const char *method)
{
	const char *target = r->target;
	bool head = !strcmp(method, "HEAD");
	struct answer a;

	if (!head && strcmp(method, "GET") != 0) {
		serve_ask_by(h->s, who, method, target, &a);
		return http_reply(c, &a);
	}
	if (!head && ends_in(target, "/live")) {
		conn_state(h, c, true, true);
		return live_begin(h, c, who, target);
	}
	if (!head && ends_in(target, "/stream")) {
		conn_state(h, c, true, true);
		return stream_begin(h, c, who, target, header(c, "Last-Event-ID"));
	}
	if (!page_answer(&a, target)) {
		enum serve_slow slow = serve_ask_now(h->s, who, target, &a);

		if (slow)
			return pool_ask(&h->pool, c, r, who, slow);
	}
	return http_reply(c, &a);
}

/* Nobody sends us anything but heads. */
static bool has_body(struct MHD_Connection *c)
{
	const char *length = header(c, "Content-Length");

	return header(c, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static enum MHD_Result judge(struct http *h, struct MHD_Connection *c, const char *method,
			     struct request *r)
{
	char *target = r->target;
	struct guard_heads heads = {
		.host = header(c, "Host"),
		.origin = header(c, "Origin"),
		.fetch_site = header(c, "Sec-Fetch-Site"),
		.fetch_mode = header(c, "Sec-Fetch-Mode"),
		.cookie = header(c, "Cookie"),
		.authorization = header(c, "Authorization"),
	};
	struct viewer who = h->self;
	const char *why;
	enum entry in;
	int status = guard_site(&h->guard, &heads, &why);

	if (status)
		return refuse(c, status, why, "");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		status = guard_change(&h->guard, &heads, &why);
	if (status)
		return refuse(c, status, why, "");
	if (has_body(c))
		return refuse(c, 400, "A request has no body here.", "");
	if (strlen(target) >= URL_BYTES)
		return refuse(c, 414, "The address is too long.", "");
	if (h->is_unix && viewer_peer(&who, conn_of(c) ? conn_of(c)->fd : -1) < 0)
		return refuse(c, 403, "Who asks is not known.", "");
	in = entry_of(h, &heads, target);
	/* The page itself is no secret, and a link from a file (aon open) brings no cookie at first. */
	if (in == ENTRY_NO && !open_route(target) && !page_has(target))
		return refuse(c, 401, "This needs the token.",
			      "Open the address that aon serve printed: it carries the token.");
	if (in == ENTRY_COOKIE && strncmp(target, "/api/", 5) != 0)
		return enter(h, c, target);
	return answer(h, c, &who, r, method);
}

/* Called when the heads are there, and again when all of the request is: an answer to the first
 * call closes the connection, as what has a body deserves. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **place)
{
	struct http *h = arg;
	struct request *r = *place;

	(void)path;
	(void)version;
	(void)upload;
	(void)upload_len;
	if (!r)
		return MHD_NO;
	if (!r->begun && !has_body(c)) {
		r->begun = true;
		return MHD_YES;
	}
	if (pool_done(&h->pool, r))
		return http_reply(c, &r->answer);
	conn_state(h, c, true, false);
	return judge(h, c, method, r);
}

/* --- begin and end --- */

static int start_ticker(struct http *h)
{
	pthread_condattr_t attr;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&h->stop, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&h->lock, NULL);
	err = pthread_create(&h->ticker, NULL, ticker, h);
	h->ticking = !err;
	return -err;
}

int http_start(struct http **out, struct serve *s, const struct http_opts *o, char why[256])
{
	struct http *h = calloc(1, sizeof(*h));
	int fd, err;

	if (!h)
		return -ENOMEM;
	h->s = s;
	h->guard = o->guard;
	viewer_self(&h->self);
	fd = http_listen(h, o->listen, why);
	if (fd < 0) {
		free(h);
		return fd;
	}
	err = start_ticker(h);
	err = err ? err : pool_start(&h->pool, s);
	if (!err)
		h->mhd = MHD_start_daemon(
			MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
			on_request, h, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
			THREADS, MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS,
			MHD_OPTION_PER_IP_CONNECTION_LIMIT, HTTP_PER_ADDRESS,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_BYTES,
			MHD_OPTION_CONNECTION_TIMEOUT, HTTP_REQUEST_S, MHD_OPTION_URI_LOG_CALLBACK,
			on_target, h, MHD_OPTION_NOTIFY_COMPLETED, on_end, h,
			MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
	if (!h->mhd) {
		snprintf(why, 256, "the server cannot be started");
		close(fd);
		http_stop(h);
		return err ? err : -EIO;
	}
	timelines_ahead(s, &h->self);
	*out = h;
	return 0;
}

void http_stop(struct http *h)
{
	if (!h)
		return;
	if (h->ticking) {
		pthread_mutex_lock(&h->lock);
		h->stopping = true;
		pthread_cond_signal(&h->stop);
		pthread_mutex_unlock(&h->lock);
		pthread_join(h->ticker, NULL);
	}
	live_stop(h);
	stream_stop(h);
	pool_stop(&h->pool); /* wakes all that sleep, as MHD wants it */
	if (h->mhd)
		MHD_stop_daemon(h->mhd); /* closes the socket */
	pool_fini(&h->pool);
	stream_fini(h);
	if (*h->unix_path)
		unlink(h->unix_path);
	pthread_cond_destroy(&h->stop);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

const char *http_address(const struct http *h)
{
	return h->address;
}
