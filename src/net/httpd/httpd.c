/* SPDX-License-Identifier: Apache-2.0 */
/* httpd.c - see httpd.h: connections and their time limits, requests and their bodies. */
#include "net/httpd/httpd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "net/httpd/priv.h"
#include "net/httpd/tls.h"

#define SECOND UINT64_C(1000000000)

/* --- connections --- */

int httpd_fd(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static void conn_begin(struct httpd *h, struct MHD_Connection *c, void **place)
{
	struct conn *x = calloc(1, sizeof(*x));

	*place = x;
	if (!x)
		return;
	x->fd = httpd_fd(c);
	x->since_ns = clock_mono_ns();
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
	struct httpd *h = arg;
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

static void conn_state(struct httpd *h, struct MHD_Connection *c, bool answering, bool live)
{
	struct conn *x = conn_of(c);

	if (!x)
		return;
	pthread_mutex_lock(&h->lock);
	if (!answering || !x->answering)
		x->since_ns = clock_mono_ns();
	x->answering = answering;
	x->live = answering && (live || x->live);
	pthread_mutex_unlock(&h->lock);
}

void httpd_live(struct httpd *h, struct MHD_Connection *c)
{
	conn_state(h, c, true, true);
}

/* The descriptor is good while its connection is in the list. */
void httpd_tick(struct httpd *h)
{
	uint64_t now = clock_mono_ns();

	pthread_mutex_lock(&h->lock);
	for (struct conn *x = h->conns; x; x = x->next) {
		unsigned most_s = x->answering ? h->o.answer_s : h->o.request_s;

		if (!x->live && most_s && x->fd >= 0 && now - x->since_ns > most_s * SECOND)
			shutdown(x->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&h->lock);
}

int httpd_peer(struct MHD_Connection *c, char name[HTTPD_NAME])
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	struct conn *x = conn_of(c);

	*name = '\0';
	if (!x)
		return -ENOKEY;
	if (!x->known) {
		x->err = tls_peer_name(info ? info->tls_session : NULL, x->name, sizeof(x->name));
		x->known = true;
	}
	strcpy(name, x->err ? "" : x->name);
	return x->err;
}

/* --- bodies --- */

unsigned httpd_length(struct MHD_Connection *c, size_t most, size_t *len)
{
	const char *text = httpd_header(c, "Content-Length");

	if (httpd_header(c, "Transfer-Encoding"))
		return 411;
	*len = text ? num_front(text, NULL) : 0;
	return *len > most ? 413 : 0;
}

unsigned httpd_room(struct httpd *h, struct httpd_request *q, size_t len, const char *dir)
{
	if (dir) {
		snprintf(q->path, sizeof(q->path), "%s/trace.XXXXXX", dir);
		q->fd = mkostemp(q->path, O_CLOEXEC);
		q->most = q->fd < 0 ? 0 : len;
		return q->fd < 0 ? 507 : 0;
	}
	if (atomic_fetch_add_explicit(&h->uploading, len, memory_order_relaxed) + len >
	    h->o.body_bytes) {
		atomic_fetch_sub_explicit(&h->uploading, len, memory_order_relaxed);
		return 503;
	}
	q->body = malloc(len + 1);
	if (!q->body) {
		atomic_fetch_sub_explicit(&h->uploading, len, memory_order_relaxed);
		return 503;
	}
	q->most = len;
	return 0;
}

static enum MHD_Result on_body(struct httpd_request *q, const char *data, size_t *len)
{
	size_t n = *len;

	*len = 0;
	if (n > q->most - q->len || (q->fd < 0 && !q->body))
		return MHD_NO;
	for (size_t at = 0; q->fd >= 0 && at < n;) {
		ssize_t w = write(q->fd, data + at, n - at);

		if (w < 0)
			return MHD_NO;
		at += (size_t)w;
	}
	if (q->fd < 0)
		memcpy(q->body + q->len, data, n);
	q->len += n;
	return MHD_YES;
}

/* --- requests --- */

static void *on_target(void *arg, const char *uri, struct MHD_Connection *c)
{
	struct httpd *h = arg;
	struct httpd_request *q = calloc(1, h->ops->request_bytes);

	(void)c;
	if (!q)
		return NULL;
	q->fd = -1;
	q->target = strdup(uri);
	if (q->target)
		return q;
	free(q);
	return NULL;
}

/* Called when the head is there, with every piece of a body, and when the whole request is there. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **place)
{
	struct httpd *h = arg;
	struct httpd_request *q = *place;

	(void)version;
	if (!q)
		return MHD_NO;
	if (!q->begun) {
		q->begun = true;
		return h->ops->head(h->arg, c, q, method, path);
	}
	if (*upload_len)
		return on_body(q, upload, upload_len);
	if (q->body)
		q->body[q->len] = '\0';
	conn_state(h, c, true, false);
	return h->ops->answer(h->arg, c, q, method);
}

static void on_end(void *arg, struct MHD_Connection *c, void **place,
		   enum MHD_RequestTerminationCode code)
{
	struct httpd *h = arg;
	struct httpd_request *q = *place;

	(void)code;
	conn_state(h, c, false, false);
	if (!q)
		return;
	h->ops->end(h->arg, q);
	if (q->fd >= 0) {
		close(q->fd);
		unlink(q->path);
	} else if (q->body) {
		atomic_fetch_sub_explicit(&h->uploading, q->most, memory_order_relaxed);
	}
	free(q->body);
	free(q->target);
	free(q);
	*place = NULL;
}

/* --- begin and end --- */

int httpd_open(struct httpd **out, const struct httpd_opts *o, const struct httpd_ops *ops,
	       void *arg, char why[256])
{
	struct httpd *h = calloc(1, sizeof(*h));
	int fd;

	if (!h) {
		snprintf(why, 256, "out of memory");
		return -ENOMEM;
	}
	*h = (struct httpd){ .o = *o, .ops = ops, .arg = arg, .quiet_fd = -1 };
	fd = httpd_listen(h, why);
	if (fd < 0) {
		free(h);
		return fd;
	}
	h->fd = fd;
	pthread_mutex_init(&h->lock, NULL);
	*out = h;
	return 0;
}

int httpd_run(struct httpd *h)
{
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)h->o.key },
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)h->o.cert },
		{ MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)(uintptr_t)h->o.ca },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0,
		  (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;

	h->mhd = MHD_start_daemon(
		flags | (h->o.cert ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, h,
		MHD_OPTION_LISTEN_SOCKET, h->fd, MHD_OPTION_THREAD_POOL_SIZE, h->o.threads,
		MHD_OPTION_CONNECTION_LIMIT, h->o.connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		h->o.per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT, h->o.head_bytes,
		MHD_OPTION_CONNECTION_TIMEOUT, h->o.silent_s, MHD_OPTION_URI_LOG_CALLBACK,
		on_target, h, MHD_OPTION_NOTIFY_COMPLETED, on_end, h, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, h, MHD_OPTION_ARRAY, h->o.cert ? tls : none, MHD_OPTION_END);
	if (!h->mhd)
		return -EINVAL;
	h->fd = -1; /* MHD's own from here on */
	return 0;
}

void httpd_quiet(struct httpd *h)
{
	if (h->mhd && h->quiet_fd < 0)
		h->quiet_fd = MHD_quiesce_daemon(h->mhd);
}

void httpd_stop(struct httpd *h)
{
	if (!h)
		return;
	if (h->mhd)
		MHD_stop_daemon(h->mhd); /* closes the socket */
	if (h->fd >= 0)
		close(h->fd);
	if (h->quiet_fd >= 0)
		close(h->quiet_fd);
	if (*h->unix_path)
		unlink(h->unix_path);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

const char *httpd_host(const struct httpd *h)
{
	return h->host;
}

const char *httpd_ip(const struct httpd *h)
{
	return h->ip;
}

const char *httpd_port(const struct httpd *h)
{
	return h->port;
}

const char *httpd_unix(const struct httpd *h)
{
	return h->unix_path;
}
