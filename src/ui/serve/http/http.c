/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - see http.h: admits requests, and routes them. */
#include "serve/http/http.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/analysis.h"
#include "serve/http/http_priv.h"
#include "serve/http/page.h"
#include "serve/http/stream.h"
#include "serve/timeline.h"

#define THREADS 4u
#define SECOND  1000000000ull

/* --- the ticker --- */

static void *ticker(void *arg)
{
	struct http *h = arg;
	uint64_t seconds = 0;

	pthread_mutex_lock(&h->lock);
	while (!h->stopping) {
		struct timespec until = clock_after(CLOCK_MONOTONIC, SECOND);

		pthread_cond_timedwait(&h->stop, &h->lock, &until);
		if (h->stopping)
			break;
		pthread_mutex_unlock(&h->lock);
		httpd_tick(h->httpd);
		analysis_idle(h->s);
		if (++seconds % HTTP_LIVE_S == 0)
			live_tick(h);
		pthread_mutex_lock(&h->lock);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* --- requests --- */

static void on_end(void *arg, struct httpd_request *q)
{
	struct request *r = (struct request *)q;
	struct http *h = arg;

	if (pool_done(&h->pool, r)) /* the client is gone */
		answer_fini(&r->answer);
}

static enum MHD_Result refuse(struct MHD_Connection *c, int status, const char *what,
			      const char *hint)
{
	struct answer a = { .fd = -1 };

	answer_error(&a, status, what, hint);
	return http_reply(c, &a);
}

/* Redirects: the token moves from the address to a cookie. */
static enum MHD_Result enter(struct http *h, struct MHD_Connection *c, const char *path)
{
	char cookie[TOKEN_BYTES + 96];
	struct MHD_Response *r =
		MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);

	if (!r)
		return MHD_NO;
	http_heads(r);
	snprintf(cookie, sizeof(cookie), "%s=%s; HttpOnly; SameSite=Strict; Path=/",
		 h->guard.cookie, h->guard.token);
	MHD_add_response_header(r, "Set-Cookie", cookie);
	MHD_add_response_header(r, "Location", path);
	return httpd_reply(c, MHD_HTTP_SEE_OTHER, r, NULL);
}

enum entry { ENTRY_NO, ENTRY_YES, ENTRY_COOKIE };

/* Whether the client may enter. A token in the query is removed from `target`. */
static enum entry entry_of(const struct http *h, const struct auth_heads *heads, char *target)
{
	char *query = strchr(target, '?'), *end;
	enum entry in = h->is_unix || auth_token(&h->guard, heads) ? ENTRY_YES : ENTRY_NO;
	char value[TOKEN_BYTES + 1];

	if (!query || strncmp(query + 1, "token=", 6) != 0)
		return in;
	end = query + 1 + strcspn(query + 1, "&");
	snprintf(value, sizeof(value), "%.*s", (int)(end - query - 7), query + 7);
	if (*end)
		memmove(query + 1, end + 1, strlen(end + 1) + 1);
	else
		*query = '\0';
	return auth_same(value, h->guard.token) ? ENTRY_COOKIE : in;
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
	const char *target = r->http.target;
	bool head = !strcmp(method, "HEAD");
	struct answer a;

	if (!head && strcmp(method, "GET") != 0) {
		serve_ask_by(h->s, who, method, target, &a);
		return http_reply(c, &a);
	}
	if (!head && ends_in(target, "/live")) {
		httpd_live(h->httpd, c);
		return live_begin(h, c, who, target);
	}
	if (!head && ends_in(target, "/stream")) {
		httpd_live(h->httpd, c);
		return stream_begin(h, c, who, target, httpd_header(c, "Last-Event-ID"));
	}
	if (!page_answer(&a, target)) {
		enum serve_slow slow = serve_ask_now(h->s, who, target, &a);

		if (slow)
			return pool_ask(&h->pool, c, r, who, slow);
	}
	return http_reply(c, &a);
}

/* No client sends a body: every request consists of its headers. */
static bool has_body(struct MHD_Connection *c)
{
	size_t len;

	return httpd_length(c, 0, &len) != 0;
}

static enum MHD_Result judge(struct http *h, struct MHD_Connection *c, const char *method,
			     struct request *r)
{
	char *target = r->http.target;
	struct auth_heads heads = {
		.host = httpd_header(c, "Host"),
		.origin = httpd_header(c, "Origin"),
		.fetch_site = httpd_header(c, "Sec-Fetch-Site"),
		.fetch_mode = httpd_header(c, "Sec-Fetch-Mode"),
		.cookie = httpd_header(c, "Cookie"),
		.authorization = httpd_header(c, "Authorization"),
	};
	struct viewer who = h->self;
	const char *why;
	enum entry in;
	int status = auth_site(&h->guard, &heads, &why);

	if (status)
		return refuse(c, status, why, "");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		status = auth_change(&h->guard, &heads, &why);
	if (status)
		return refuse(c, status, why, "");
	if (has_body(c))
		return refuse(c, 400, "A request has no body here.", "");
	if (strlen(target) >= URL_BYTES)
		return refuse(c, 414, "The address is too long.", "");
	if (h->is_unix && viewer_peer(&who, httpd_fd(c)) < 0)
		return refuse(c, 403, "The client cannot be identified.", "");
	in = entry_of(h, &heads, target);
	/*
	 * The page itself is not secret. The link that `aon open` makes arrives without a cookie at
	 * first.
	 */
	if (in == ENTRY_NO && !open_route(target) && !page_has(target))
		return refuse(c, 401, "This needs the token.",
			      "Open the address that aon serve printed: it carries the token.");
	if (in == ENTRY_COOKIE && strncmp(target, "/api/", 5) != 0)
		return enter(h, c, target);
	return answer(h, c, &who, r, method);
}

/*
 * Answers when the headers are complete. A request with a body is refused and its connection
 * closed.
 */
static enum MHD_Result on_head(void *arg, struct MHD_Connection *c, struct httpd_request *q,
			       const char *method, const char *path)
{
	(void)path;
	return has_body(c) ? judge(arg, c, method, (struct request *)q) : MHD_YES;
}

static enum MHD_Result on_answer(void *arg, struct MHD_Connection *c, struct httpd_request *q,
				 const char *method)
{
	struct request *r = (struct request *)q;
	struct http *h = arg;

	return pool_done(&h->pool, r) ? http_reply(c, &r->answer) : judge(h, c, method, r);
}

/* --- start and stop --- */

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

/* The address to show to users, and the host name that requests must carry. */
static void name_address(struct http *h)
{
	const char *ip = httpd_ip(h->httpd), *host = httpd_host(h->httpd);
	struct auth *g = &h->guard;

	h->is_unix = g->any_host = *httpd_unix(h->httpd);
	if (h->is_unix) {
		snprintf(h->address, sizeof(h->address), "unix:%s", httpd_unix(h->httpd));
		return;
	}
	if (!strcmp(ip, "0.0.0.0") || !strcmp(ip, "::"))
		gethostname(g->host, sizeof(g->host) - 1);
	else
		snprintf(g->host, sizeof(g->host), strchr(host, ':') ? "[%.250s]" : "%.250s", host);
	snprintf(h->address, sizeof(h->address), "http://%s:%s/", g->host, httpd_port(h->httpd));
	snprintf(g->cookie, sizeof(g->cookie), "aon_%s", httpd_port(h->httpd));
}

static int open_server(struct http *h, const char *listen, char why[256])
{
	static const struct httpd_ops ops = { sizeof(struct request), on_head, on_answer, on_end };
	struct httpd_opts o = { .listen = listen,
				.threads = THREADS,
				.connections = HTTP_CONNECTIONS,
				.per_address = HTTP_PER_ADDRESS,
				.head_bytes = HTTP_HEAD_BYTES,
				.silent_s = HTTP_REQUEST_S,
				.request_s = HTTP_REQUEST_S,
				.answer_s = HTTP_ANSWER_S };
	int err = httpd_open(&h->httpd, &o, &ops, h, why);

	if (!err)
		name_address(h);
	return err;
}

int http_start(struct http **out, struct serve *s, const struct serve_opts *o, char why[256])
{
	struct http *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->s = s;
	h->guard = o->guard;
	viewer_self(&h->self);
	err = open_server(h, o->listen, why);
	if (err) {
		free(h);
		return err;
	}
	err = start_ticker(h);
	err = err ? err : pool_start(&h->pool, s);
	err = err ? err : httpd_run(h->httpd);
	if (err) {
		snprintf(why, 256, "the server cannot be started");
		http_stop(h);
		return err;
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
	pool_stop(&h->pool); /* wakes all sleeping connections, as MHD requires */
	httpd_stop(h->httpd);
	pool_fini(&h->pool);
	stream_fini(h);
	pthread_cond_destroy(&h->stop);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

const char *http_address(const struct http *h)
{
	return h->address;
}
