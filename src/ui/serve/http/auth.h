/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth.h - checks who may ask: the headers of a request, before anything is looked up.
 *
 * Another site's page can make a browser send us requests (and, by rebinding its name to 127.0.0.1,
 * even read the answer). So a request must name us as its host, must not come from another origin,
 * and must carry the token, which no other page knows.
 */
#pragma once

#include <stdbool.h>

#define TOKEN_BYTES 129u /* with the NUL */

struct guard {
	char token[TOKEN_BYTES];
	char cookie[24]; /* its name: cookies of a host are seen by all its ports */
	char host[256];  /* a host name of the server besides those of loopback; "": none */
	bool any_host;   /* of a unix socket: no browser speaks to it */
};

/* As they stood in the request; NULL: absent. */
struct guard_heads {
	const char *host, *origin, *fetch_site, *fetch_mode, *cookie, *authorization;
};

/* 0, or the status to refuse it with; *why says what to do. */
int guard_site(const struct guard *g, const struct guard_heads *h, const char **why);

/* For requests that change something: one without an origin proves that no other site made it. */
int guard_change(const struct guard *g, const struct guard_heads *h, const char **why);

bool guard_token(const struct guard *g, const struct guard_heads *h);
bool guard_same(const char *a, const char *b); /* in a time that does not tell where they differ */

/* 16 to 128 letters, digits, - and _. */
bool guard_good_token(const char *token);
int guard_new_token(char token[TOKEN_BYTES]);
