/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - requests to one untrusted server, over a connection that is kept open.
 *
 * Everything is bounded: the time of an answer as a whole, its bytes, its headers. No redirect is
 * followed, no proxy and no .netrc of the environment is used. Secrets (password, token) appear in
 * no message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FETCH_WHY    256u
#define FETCH_HEADER 512u /* bytes of a header that is kept */
#define FETCH_PAD    64u  /* quotes behind a body: base/json_read.h */

struct fetch_opts {
	const char *base;    /* "https://10.0.0.7": before each path */
	const char *ca_file; /* NULL: the system's */
	const char *pin; /* "sha256//BASE64" of the public key: then no CA is asked. NULL: none */
	bool insecure;   /* trust whoever answers */
	uint32_t connect_ms, timeout_ms; /* of an answer as a whole */
	size_t body_max;
	const _Atomic bool *stop; /* ends what is under way, within a second; NULL: nothing does */
};

struct fetch_ask {
	const char *method; /* NULL: GET */
	const char *path;
	const char *user, *password; /* Basic; NULL: none */
	const char *token;           /* X-Auth-Token; NULL: none */
	const char *etag;            /* If-None-Match; NULL: none */
	const char *body;            /* JSON; NULL: none */
};

struct fetch_answer {
	long status;
	char *body; /* of the fetch, until the next; FETCH_PAD quotes follow */
	size_t len;
	char etag[FETCH_HEADER], token[FETCH_HEADER], location[FETCH_HEADER];
};

struct fetch;

int fetch_new(struct fetch **out, const struct fetch_opts *o);
void fetch_free(struct fetch *f); /* NULL is allowed */

/*
 * 0: there was an answer, whatever its status. -ETIMEDOUT, -EFBIG: too large, -EKEYREJECTED: its
 * certificate is not the one, -ECONNRESET: it broke off, -EPROTO: it is not HTTP, -ECONNREFUSED and others.
 */
int fetch_do(struct fetch *f, const struct fetch_ask *ask, struct fetch_answer *out);

/*
 * An answer without an end, passed on as it comes; a result other than 0 ends it. It also ends
 * after quiet_s without a byte (-ETIMEDOUT).
 */
typedef int fetch_bytes_fn(void *arg, const char *bytes, size_t n);
int fetch_stream(struct fetch *f, const struct fetch_ask *ask, uint32_t quiet_s, fetch_bytes_fn *fn,
		 void *arg);

/* From now on answers may take so long, and nothing stops them. */
void fetch_urgent(struct fetch *f, uint32_t timeout_ms);

const char *fetch_why(const struct fetch *f); /* of the last failure, in words */
