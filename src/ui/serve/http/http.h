/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - the server: sockets, headers, authentication, and answers on the wire.
 *
 * Bounded: connections in total and per address, bytes of a request's header, time until a request
 * is complete and until its answer is read, clients of the live stream.
 */
#pragma once

#include "serve/http/auth.h"

#define HTTP_CONNECTIONS 256u
#define HTTP_PER_ADDRESS 192u
#define HTTP_HEAD_BYTES  (32u << 10)
#define HTTP_REQUEST_S   10u /* for a complete request, from the connect or the last answer */
#define HTTP_ANSWER_S    120u
#define HTTP_LIVE        64u /* clients of the live stream */
#define HTTP_LIVE_S      2u  /* seconds between ticks */

struct http;
struct serve;

struct serve_opts {
	const char *listen; /* "127.0.0.1:0", "[::1]:8080", "unix:PATH" */
	struct auth guard;  /* only the token is set; http_start() fills the rest */
};

/* Starts the server on its own threads. -errno: `why` then says what to do. */
int http_start(struct http **out, struct serve *s, const struct serve_opts *o, char why[256]);
void http_stop(struct http *h); /* aborts running requests; NULL is allowed */

/* "http://127.0.0.1:43211/" or "unix:PATH". */
const char *http_address(const struct http *h);
