/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - requests over HTTP or HTTPS, one at a time. Only this folder uses libcurl.
 *
 * Everything is bounded: the answer in bytes, the whole request in time. No proxy, no redirect, no
 * cookie. Certificates are checked against the system's CAs or a given file; in addition a public
 * key may be pinned. Secrets come from files that nobody else can read.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/cluster_url.h"

/* Paths; NULL or "": none. All are read when the client is made. */
struct http_files {
	const char *ca;          /* PEM: the CAs of the server's certificate */
	const char *cert, *key;  /* PEM: the client's certificate */
	const char *credentials; /* lines `user = NAME`, `password = SECRET`; mode 0600 */
	const char *pin;         /* no path: "sha256//BASE64" of the server's public key */
};

struct http_opts {
	struct http_files files;
	const char *user; /* if the credentials name none */
	bool tls;
	uint32_t connect_ms, timeout_ms; /* 0: 5 s, 30 s */
	size_t answer_max;               /* 0: 1 MiB */
	uint64_t bytes_s;                /* bytes that may be sent per second; 0: no limit */
};

struct http;

/* -EINVAL, -EACCES, -ENOENT ...: *why names the file and what is wrong with it. */
int http_new(struct http **out, const struct http_opts *o, struct net_why *why);
void http_free(struct http *h); /* NULL is allowed */

#define HTTP_HEADERS 8u
struct http_ask {
	const struct cluster_server *server;
	const char *target;               /* path and query, escaped */
	const char *header[HTTP_HEADERS]; /* "Name: value" */
	const void *body;                 /* NULL: GET */
	size_t len;
	uint32_t timeout_ms; /* 0: that of the client */
};

struct http_answer {
	int status;
	const char *data; /* NUL behind it; the client's, until the next question */
	size_t len;
	char code[16];      /* X-ClickHouse-Exception-Code, "" if none */
	uint64_t sent, got; /* bytes on the wire, heads with them */
	double seconds;
};

/*
 * 0: there is an answer, whatever its status. -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -ECONNRESET: no
 * server, or it went away; -EKEYREJECTED: a certificate was not accepted, theirs or ours; -EMSGSIZE: it said more
 * than answer_max; -EPROTO: something else. *why is for people.
 */
int http_do(struct http *h, const struct http_ask *q, struct http_answer *a, struct net_why *why);

/* Whether the same question may have been carried out although no answer came. */
static inline bool http_in_doubt(int err)
{
	return err && err != -ECONNREFUSED && err != -EHOSTUNREACH && err != -EKEYREJECTED;
}

/* `text` as part of a query: into `out`, which is cut. How long it would be. */
size_t http_escape(char *out, size_t cap, const char *text);
