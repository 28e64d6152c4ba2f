/* SPDX-License-Identifier: Apache-2.0 */
/*
 * httpd.h - the HTTP server that aon serve and aon relay share: sockets, TLS, and every limit.
 *
 *	accept -> head() -> bytes of the body, if httpd_room() made room for them -> answer() -> end()
 *	                                        a connection that sleeps: answer() again when it wakes
 *
 * Bounded: connections in all and from one address, bytes of a head, bytes of a body and of all
 * bodies together, time until a request is there and until its answer is taken. libmicrohttpd's own
 * time limit is of silence; a client that sends a byte now and then is not silent. So each
 * connection is also in a list, and httpd_tick() shuts those that take too long.
 *
 * A pointer to a struct MHD_Connection is good from head() to end().
 */
#pragma once

#include <limits.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTPD_NAME 128u /* of a certificate's owner, with the NUL */

struct httpd;

/* A request: the first member of the server's own struct. */
struct httpd_request {
	char *target;        /* owned: path and query as they came */
	uint8_t *body;       /* owned: in memory, followed by a NUL; NULL: none, or in a file */
	size_t len;          /* of the body, so far */
	size_t most;         /* that there is room for */
	int fd;              /* owned: the body's file; -1: none */
	char path[PATH_MAX]; /* of that file, which is removed at the end while fd is open */
	bool begun;
};

struct httpd_ops {
	size_t request_bytes; /* of the server's own struct; it comes zeroed */
	/* The head is there. To refuse the request, queue an answer: it closes the connection. */
	enum MHD_Result (*head)(void *arg, struct MHD_Connection *c, struct httpd_request *q,
				const char *method, const char *path);
	/* The whole request is there, or its connection woke up. */
	enum MHD_Result (*answer)(void *arg, struct MHD_Connection *c, struct httpd_request *q,
				  const char *method);
	void (*end)(void *arg, struct httpd_request *q); /* answered, or the client has left */
};

struct httpd_opts {
	const char *listen; /* "127.0.0.1:0", "[::1]:8080", "unix:PATH", "fd:N" */
	unsigned threads;
	unsigned connections, per_address; /* per_address 0: any number */
	size_t head_bytes;
	size_t body_bytes;  /* of all bodies in memory */
	unsigned silent_s;  /* without a byte */
	unsigned request_s; /* until a request is there, from connecting or the last answer */
	unsigned answer_s;  /* until its answer is taken; 0: any time */
	const char *cert, *key, *ca; /* PEM texts, borrowed until the end; NULL: no TLS */
};

/* Listens; no request is answered yet. -errno; `why` then says what to do. */
int httpd_open(struct httpd **out, const struct httpd_opts *o, const struct httpd_ops *ops,
	       void *arg, char why[256]);
int httpd_run(struct httpd *h);    /* answers, on threads of its own. -EINVAL: bad certificates */
void httpd_tick(struct httpd *h);  /* once a second: shuts the slow ones */
void httpd_quiet(struct httpd *h); /* takes no new connections */
/* No connection may sleep any more. Ends what is under way; NULL is allowed. */
void httpd_stop(struct httpd *h);

/* What it is bound to; "" if it is a unix socket. */
const char *httpd_host(const struct httpd *h); /* as it was asked for */
const char *httpd_ip(const struct httpd *h);
const char *httpd_port(const struct httpd *h);
const char *httpd_unix(const struct httpd *h); /* the path; "": TCP */

/* --- of a connection --- */

int httpd_fd(struct MHD_Connection *c);
void httpd_live(struct httpd *h, struct MHD_Connection *c); /* this answer has no end */
/* The name in the client's certificate. -ENOKEY: it showed none; see tls.h for others. */
int httpd_peer(struct MHD_Connection *c, char name[HTTPD_NAME]);
const char *httpd_header(struct MHD_Connection *c, const char *name); /* NULL: absent */
bool httpd_query_u64(struct MHD_Connection *c, const char *key, uint64_t *out);

/* --- bodies --- */

/* The announced length of the body, at most `most`. 0; 411: not announced; 413: too long. */
unsigned httpd_length(struct MHD_Connection *c, size_t most, size_t *len);
/* Makes room for so many: in memory, or in a new file of `dir`. 0, 503 or 507. */
unsigned httpd_room(struct httpd *h, struct httpd_request *q, size_t len, const char *dir);

/* --- plain answers --- */

/* Owns `r` from here on; NULL is allowed. */
enum MHD_Result httpd_reply(struct MHD_Connection *c, unsigned status, struct MHD_Response *r,
			    const char *type);
/* `text` is copied; retry_s 0: does not say when to come again. */
enum MHD_Result httpd_text(struct MHD_Connection *c, unsigned status, unsigned retry_s,
			   const char *text);
