/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - the relay's server: connections, certificates, bodies that come in pieces.
 *
 * libmicrohttpd asks for a certificate and takes any, or none; who it belongs to is looked at with the
 * first request of a connection, before a byte of a body is kept. Its time limit is of silence, so a list
 * of connections shuts those that take too long for a request.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "relay/priv.h"
#include "relay/tls.h"
#include "ship/spool/batch.h"

#define THREADS     2u
#define IDLE_S      60u
#define HEAD_BYTES  (16u << 10)
#define PER_ADDRESS 0u /* relays see nodes behind one address, too */
#define BACKLOG     128

const struct route relay_routes[] = {
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

static uint64_t clock_ns(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

uint64_t relay_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t relay_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* --- answers --- */

enum MHD_Result relay_reply_with(struct MHD_Connection *c, unsigned status,
				 struct MHD_Response *resp, const char *type)
{
	enum MHD_Result rc;

	if (!resp)
		return MHD_NO;
	MHD_add_response_header(resp, "Content-Type", type);
	MHD_add_response_header(resp, "Cache-Control", "no-store");
	rc = MHD_queue_response(c, status, resp);
	MHD_destroy_response(resp);
	return rc;
}

enum MHD_Result relay_reply(struct MHD_Connection *c, unsigned status, const char *text)
{
	return relay_reply_with(c, status,
				MHD_create_response_from_buffer(strlen(text),
								(void *)(uintptr_t)text,
								MHD_RESPMEM_MUST_COPY),
				"text/plain; charset=utf-8");
}

enum MHD_Result relay_refuse(struct MHD_Connection *c, unsigned status, unsigned retry_s,
			     const char *text)
{
	struct MHD_Response *resp = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	char seconds[16];

	snprintf(seconds, sizeof(seconds), "%u", retry_s);
	if (resp && retry_s)
		MHD_add_response_header(resp, "Retry-After", seconds);
	return relay_reply_with(c, status, resp, "text/plain; charset=utf-8");
}

bool relay_query_u64(struct MHD_Connection *c, const char *key, uint64_t *out)
{
	const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, key);
	char *end;
	uint64_t v;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (*end || errno)
		return false;
	*out = v;
	return true;
}

/* --- connections --- */

static void on_connection(void *arg, struct MHD_Connection *c, void **place,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct relay *r = arg;
	struct conn *x = *place;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		x = info ? calloc(1, sizeof(*x)) : NULL;
		*place = x;
		if (!x)
			return;
		x->fd = info->connect_fd;
		x->since_ns = relay_now_ns();
		pthread_mutex_lock(&r->lock);
		x->next = r->conns;
		x->link = &r->conns;
		if (x->next)
			x->next->link = &x->next;
		r->conns = x;
		pthread_mutex_unlock(&r->lock);
	} else if (x) {
		pthread_mutex_lock(&r->lock);
		*x->link = x->next;
		if (x->next)
			x->next->link = x->link;
		pthread_mutex_unlock(&r->lock);
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

static void conn_waits(struct relay *r, struct MHD_Connection *c, bool waits)
{
	struct conn *x = conn_of(c);

	if (!x)
		return;
	pthread_mutex_lock(&r->lock);
	x->since_ns = relay_now_ns();
	x->waits = waits;
	pthread_mutex_unlock(&r->lock);
}

/* The name, asked of the certificate once. */
static int who_is(struct MHD_Connection *c, char who[ACCESS_NAME])
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	struct conn *x = conn_of(c);

	if (!x)
		return -ENOKEY;
	if (!x->known) {
		x->err = tls_peer_name(info ? info->tls_session : NULL, x->name, sizeof(x->name));
		x->known = true;
	}
	strcpy(who, x->err ? "" : x->name);
	return x->err;
}

/* --- sleep --- */

void relay_sleep(struct relay *r, struct MHD_Connection *c, struct request *q)
{
	(void)r;
	q->mhd = c;
	q->asleep = true;
	MHD_suspend_connection(c);
}

void relay_wake(struct relay *r, struct request *q)
{
	(void)r;
	if (!q->asleep)
		return;
	q->asleep = false;
	q->done = true;
	MHD_resume_connection(q->mhd);
}

/* --- requests --- */

static const struct route *find_route(const char *method, const char *path, bool *known)
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
		return relay_refuse(c, 401, 0, "Show a certificate.\n");
	if (err == -EKEYEXPIRED)
		return relay_refuse(c, 401, 0, "Your certificate has expired.\n");
	if (err)
		return relay_refuse(c, 401, 0, "Your certificate is not one of ours.\n");
	snprintf(text, sizeof(text), "The access list does not allow this to '%s'.\n", who);
	log_warn("'%s' is not allowed to", who);
	return relay_refuse(c, 403, 0, text);
}

/* How much will come; SIZE_MAX: it does not say. */
static size_t body_length(struct MHD_Connection *c)
{
	const char *text = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");

	if (MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding"))
		return SIZE_MAX;
	return text ? strtoull(text, NULL, 10) : 0;
}

static int open_file(struct relay *r, struct request *q)
{
	snprintf(q->path, sizeof(q->path), "%s/trace.XXXXXX", r->o.dir);
	q->fd = mkostemp(q->path, O_CLOEXEC);
	return q->fd < 0 ? -errno : 0;
}

/* Room for the body; else the answer's status. */
static unsigned make_room(struct relay *r, struct request *q, size_t len, unsigned *retry_s)
{
	unsigned status = 0;

	*retry_s = 0;
	if (len == SIZE_MAX)
		return 411;
	if (len > q->route->body_max)
		return 413;
	if (!len)
		return 0;
	if (q->route->roles & ACCESS_NODE) {
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
		if (status)
			return status;
	}
	if (q->route->to_file)
		return open_file(r, q) < 0 ? 507 : 0;
	if (atomic_fetch_add_explicit(&r->uploading, len, memory_order_relaxed) + len >
	    UPLOAD_BYTES) {
		atomic_fetch_sub_explicit(&r->uploading, len, memory_order_relaxed);
		return 503;
	}
	q->cap = len;
	q->body = malloc(len + 1);
	return q->body ? 0 : 503;
}

static enum MHD_Result no_room(struct relay *r, struct MHD_Connection *c, unsigned status,
			       unsigned retry_s)
{
	relay_add(r, status == 429 ? COUNT_held_back : COUNT_no_room, 1);
	switch (status) {
	case 411:
		return relay_refuse(c, 411, 0, "Say how long the body is.\n");
	case 413:
		return relay_refuse(c, 413, 0, "That is too much.\n");
	case 429:
		return relay_refuse(c, 429, retry_s ? retry_s : 1,
				    "This node sends too much: wait.\n");
	case 507:
		return relay_refuse(c, 507, 5, "The relay's disk is full.\n");
	}
	return relay_refuse(c, 503, 2, "The relay has too much to do.\n");
}

/* The head is there. */
static enum MHD_Result on_head(struct relay *r, struct MHD_Connection *c, const char *path,
			       const char *method, void **place)
{
	const struct access_rule *rule;
	struct request *q;
	char who[ACCESS_NAME];
	unsigned status, retry_s;
	bool known;
	const struct route *route = find_route(method, path, &known);
	int err = who_is(c, who);

	if (err)
		return stranger(r, c, err, who);
	if (!route)
		return relay_refuse(c, known ? 405 : 404, 0, "There is no such thing here.\n");
	q = calloc(1, sizeof(*q));
	if (!q)
		return MHD_NO;
	*q = (struct request){ .route = route, .came_ns = relay_wall_ns(), .fd = -1 };
	strcpy(q->who, who);
	*place = q; /* on_end() frees it */
	pthread_mutex_lock(&r->lock);
	rule = access_find(&r->access, who, route->roles);
	if (rule)
		q->rule = *rule;
	pthread_mutex_unlock(&r->lock);
	if (!rule)
		return stranger(r, c, 0, who);
	status = make_room(r, q, body_length(c), &retry_s);
	return status ? no_room(r, c, status, retry_s) : MHD_YES;
}

static enum MHD_Result on_body(struct request *q, const char *data, size_t *len)
{
	size_t n = *len;

	*len = 0;
	if (q->len + n > (q->fd >= 0 ? q->route->body_max : q->cap))
		return MHD_NO;
	if (q->fd >= 0) {
		for (size_t at = 0; at < n;) {
			ssize_t w = write(q->fd, data + at, n - at);

			if (w < 0)
				return MHD_NO;
			at += (size_t)w;
		}
	} else {
		memcpy(q->body + q->len, data, n);
	}
	q->len += n;
	return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **place)
{
	struct relay *r = arg;
	struct request *q = *place;

	(void)version;
	if (!q)
		return on_head(r, c, path, method, place);
	if (*upload_len)
		return on_body(q, upload, upload_len);
	if (q->body)
		q->body[q->len] = '\0';
	conn_waits(r, c, true);
	return q->route->answer(r, c, q);
}

static void on_end(void *arg, struct MHD_Connection *c, void **place,
		   enum MHD_RequestTerminationCode code)
{
	struct relay *r = arg;
	struct request *q = *place;

	(void)code;
	conn_waits(r, c, false);
	if (!q)
		return;
	pthread_mutex_lock(&r->lock);
	if (q->node)
		q->node->uploads--;
	orders_gone(r, q);
	pthread_mutex_unlock(&r->lock);
	atomic_fetch_sub_explicit(&r->uploading, q->cap, memory_order_relaxed);
	if (q->fd >= 0) {
		close(q->fd);
		unlink(q->path);
	}
	free(q->body);
	free(q);
	*place = NULL;
}

/* --- begin --- */

static int split_address(const char *listen, char host[128], char port[16])
{
	const char *colon = strrchr(listen, ':');
	size_t len = colon ? (size_t)(colon - listen) : 0;

	if (!colon || !len || len > 127 || strlen(colon + 1) > 15)
		return -EINVAL;
	if (*listen == '[' && listen[len - 1] == ']') {
		listen++;
		len -= 2;
	}
	snprintf(host, 128, "%.*s", (int)len, listen);
	strcpy(port, colon + 1);
	return 0;
}

static int bind_socket(const struct addrinfo *ai)
{
	int one = 1, fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* What it is bound to; also of one that whoever started us has opened. */
static int name_socket(struct relay *r, int fd, char why[256])
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	char host[128], port[16];

	if (getsockname(fd, (struct sockaddr *)&sa, &len) < 0 ||
	    getnameinfo((struct sockaddr *)&sa, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV)) {
		snprintf(why, 256, "%.80s: not a listening socket", r->o.listen);
		return -ENOTSOCK;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	snprintf(r->address, sizeof(r->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
		 port);
	return fd;
}

static int open_socket(struct relay *r, char why[256])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICHOST },
			*ai;
	char host[128], port[16];
	int fd;

	if (sscanf(r->o.listen, "fd:%d", &fd) == 1)
		return name_socket(r, fd, why);
	if (split_address(r->o.listen, host, port) || getaddrinfo(host, port, &hints, &ai)) {
		snprintf(why, 256, "--listen takes ADDRESS:PORT, as 0.0.0.0:8417, not '%.80s'",
			 r->o.listen);
		return -EINVAL;
	}
	fd = bind_socket(ai);
	freeaddrinfo(ai);
	if (fd < 0) {
		snprintf(why, 256, "%.80s: %s", r->o.listen, strerror(-fd));
		return fd;
	}
	return name_socket(r, fd, why);
}

int relay_listen(struct relay *r, char why[256])
{
	int fd = open_socket(r, why);

	if (fd < 0)
		return fd;
	r->mhd = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TLS, 0, NULL,
		NULL, on_request, r, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE,
		THREADS, MHD_OPTION_CONNECTION_LIMIT, r->o.connections,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, PER_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HEAD_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, r, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
		r, MHD_OPTION_HTTPS_MEM_KEY, r->key, MHD_OPTION_HTTPS_MEM_CERT, r->cert,
		MHD_OPTION_HTTPS_MEM_TRUST, r->ca, MHD_OPTION_HTTPS_PRIORITIES,
		"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2", MHD_OPTION_END);
	if (r->mhd)
		return 0;
	close(fd);
	snprintf(why, 256,
		 "the server cannot be started: are %.50s and %.50s a certificate and its "
		 "key, and %.40s one of whom to trust?",
		 r->o.cert, r->o.key, r->o.ca);
	return -EINVAL;
}
