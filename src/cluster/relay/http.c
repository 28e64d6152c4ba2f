/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - the relay's server: certificates, routes, and how much a node may send.
 *
 * The server asks for a client certificate and accepts any, or none. The first request of a
 * connection checks whose certificate it is, before a byte of a body is kept.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "relay/priv.h"
#include "ship/spool/batch.h"

#define THREADS    2u
#define SILENT_S   60u
#define REQUEST_S  120u /* for a complete request: 4 MiB at 300 kbit/s */
#define HEAD_BYTES (16u << 10)

static const struct relay_route relay_routes[] = {
	/* clang-format off */
	{ "POST", "/v1/batch",   ACCESS_NODE,                BATCH_MAX,      false, batch_answer },
	{ "POST", "/v1/orders",  ACCESS_NODE,                WORDS_MAX,      false, orders_answer },
	{ "POST", "/v1/trace",   ACCESS_NODE,                TRACE_MAX,      true,  trace_answer },
	{ "POST", "/v1/capture", ACCESS_USER,                WORDS_MAX,      false, capture_answer },
	{ "GET",  "/v1/capture", ACCESS_USER,                0,              false, capture_state_answer },
	{ "GET",  "/v1/trace",   ACCESS_USER,                0,              false, trace_give_answer },
	{ "GET",  "/v1/status",  ACCESS_USER | ACCESS_WATCH, 0,              false, status_answer },
	{ "GET",  "/metrics",    ACCESS_USER | ACCESS_WATCH, 0,              false, metrics_answer },
	/* clang-format on */
};

/* --- suspended connections --- */

void relay_sleep(struct MHD_Connection *c, struct relay_request *q)
{
	q->mhd = c;
	q->asleep = true;
	MHD_suspend_connection(c);
}

void relay_wake(struct relay_request *q)
{
	if (!q->asleep)
		return;
	q->asleep = false;
	q->done = true;
	MHD_resume_connection(q->mhd);
}

/* --- requests --- */

static const struct relay_route *find_route(const char *method, const char *path, bool *known)
{
	*known = false;
	for (size_t i = 0; i < sizeof(relay_routes) / sizeof(relay_routes[0]); i++) {
		if (strcmp(relay_routes[i].path, path) != 0)
			continue;
		*known = true;
		if (!strcmp(relay_routes[i].method, method))
			return &relay_routes[i];
	}
	return NULL;
}

static enum MHD_Result stranger(struct relay *r, struct MHD_Connection *c, int err, const char *who)
{
	char text[ACCESS_NAME + 80];

	relay_add(r, COUNT_strangers, 1);
	if (err == -ENOKEY)
		return httpd_text(c, 401, 0, "Show a certificate.\n");
	if (err == -EKEYEXPIRED)
		return httpd_text(c, 401, 0, "Your certificate has expired.\n");
	if (err)
		return httpd_text(c, 401, 0, "Your certificate is not one of ours.\n");
	snprintf(text, sizeof(text), "The access list does not allow this to '%s'.\n", who);
	log_warn("'%s' is not allowed to", who);
	return httpd_text(c, 403, 0, text);
}

/*
 * Whether the node may send this much now; if so, counts the upload. Otherwise the status to refuse
 * with.
 */
static unsigned count_upload(struct relay *r, struct relay_request *q, size_t len,
			     unsigned *retry_s)
{
	unsigned status = 0;

	pthread_mutex_lock(&r->lock);
	q->node = node_of(r, q->who);
	if (!q->node)
		status = 503;
	else if (q->node->uploads >= UPLOADS_NODE || !node_may(r, q->node, len, retry_s))
		status = 429;
	if (status == 429)
		q->node->held_back++;
	if (status)
		q->node = NULL;
	else
		q->node->uploads++;
	pthread_mutex_unlock(&r->lock);
	return status;
}

/* Reserves memory for the body; 0, or the status to refuse with. */
static unsigned make_room(struct relay *r, struct MHD_Connection *c, struct relay_request *q,
			  unsigned *retry_s)
{
	size_t len = 0;
	unsigned status = httpd_length(c, q->route->body_max, &len);

	*retry_s = 0;
	if (!status && len && q->route->roles & ACCESS_NODE)
		status = count_upload(r, q, len, retry_s);
	if (!status && len)
		status = httpd_room(r->httpd, &q->http, len, q->route->to_file ? r->o.dir : NULL);
	return status;
}

static enum MHD_Result no_room(struct relay *r, struct MHD_Connection *c, unsigned status,
			       unsigned retry_s)
{
	relay_add(r, status == 429 ? COUNT_held_back : COUNT_no_room, 1);
	switch (status) {
	case 411:
		return httpd_text(c, 411, 0, "Say how long the body is.\n");
	case 413:
		return httpd_text(c, 413, 0, "That is too much.\n");
	case 429:
		return httpd_text(c, 429, retry_s ? retry_s : 1,
				  "This node sends too much: wait.\n");
	case 507:
		return httpd_text(c, 507, 5, "The relay's disk is full.\n");
	}
	return httpd_text(c, 503, 2, "The relay has too much to do.\n");
}

static enum MHD_Result on_head(void *arg, struct MHD_Connection *c, struct httpd_request *http,
			       const char *method, const char *path)
{
	struct relay_request *q = (struct relay_request *)http;
	const struct access_rule *rule;
	struct relay *r = arg;
	unsigned status, retry_s;
	bool known;
	int err = httpd_peer(c, q->who);

	if (err)
		return stranger(r, c, err, q->who);
	q->route = find_route(method, path, &known);
	if (!q->route)
		return httpd_text(c, known ? 405 : 404, 0, "There is no such thing here.\n");
	q->came_ns = clock_wall_ns();
	pthread_mutex_lock(&r->lock);
	rule = access_find(&r->access, q->who, q->route->roles);
	if (rule)
		q->rule = *rule;
	pthread_mutex_unlock(&r->lock);
	if (!rule)
		return stranger(r, c, 0, q->who);
	status = make_room(r, c, q, &retry_s);
	return status ? no_room(r, c, status, retry_s) : MHD_YES;
}

static enum MHD_Result on_answer(void *arg, struct MHD_Connection *c, struct httpd_request *http,
				 const char *method)
{
	struct relay_request *q = (struct relay_request *)http;

	(void)method;
	return q->route->answer(arg, c, q);
}

static void on_end(void *arg, struct httpd_request *http)
{
	struct relay_request *q = (struct relay_request *)http;
	struct relay *r = arg;

	pthread_mutex_lock(&r->lock);
	if (q->node)
		q->node->uploads--;
	orders_gone(r, q);
	pthread_mutex_unlock(&r->lock);
}

/* --- begin --- */

int relay_listen(struct relay *r, char why[256])
{
	static const struct httpd_ops ops = { sizeof(struct relay_request), on_head, on_answer,
					      on_end };
	struct httpd_opts o = { .listen = r->o.listen,
				.threads = THREADS,
				.connections = r->o.connections,
				.per_address = 0, /* no limit: nodes may share one address */
				.head_bytes = HEAD_BYTES,
				.body_bytes = UPLOAD_BYTES,
				.silent_s = SILENT_S,
				.request_s = REQUEST_S,
				.cert = r->cert,
				.key = r->key,
				.ca = r->ca };
	int err = httpd_open(&r->httpd, &o, &ops, r, why);

	if (err)
		return err;
	snprintf(r->address, sizeof(r->address),
		 strchr(httpd_ip(r->httpd), ':') ? "[%s]:%s" : "%s:%s", httpd_ip(r->httpd),
		 httpd_port(r->httpd));
	err = httpd_run(r->httpd);
	if (err)
		snprintf(why, 256,
			 "the server cannot be started: are %.50s and %.50s a certificate and its "
			 "key, and %.40s one of whom to trust?",
			 r->o.cert, r->o.key, r->o.ca);
	return err;
}
