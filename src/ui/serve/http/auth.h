/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth.h - decides who may ask, from the headers of a request, before anything is looked up.
 *
 * A page of another site can make a browser send us requests. By rebinding its name to 127.0.0.1 it
 * can even read the answers. So a request must name us as its host, must not come from another
 * origin, and must carry the token, which no other page knows.
 */
#pragma once

#include <stdbool.h>

#define TOKEN_BYTES 129u /* with the NUL */

struct auth {
	char token[TOKEN_BYTES];
	/*
	 * name of the cookie, different for each port: browsers send cookies to all ports of a host
	 */
	char cookie[24];
	char host[256]; /* host name of the server, besides the loopback names; "": none */
	bool any_host;  /* on a unix socket, which browsers cannot reach */
};

/* Headers of the request; NULL: absent. */
struct auth_heads {
	const char *host, *origin, *fetch_site, *fetch_mode, *cookie, *authorization;
};

/* 0, or the HTTP status to refuse with; *why says what to do. */
int auth_site(const struct auth *g, const struct auth_heads *h, const char **why);

/* The same for requests that change something: they need our own origin or the token as a header. */
int auth_change(const struct auth *g, const struct auth_heads *h, const char **why);

bool auth_token(const struct auth *g, const struct auth_heads *h);
/* constant time: it does not reveal where they differ */
bool auth_same(const char *a, const char *b);

/* Whether it is 16 to 128 letters, digits, - and _. */
bool auth_good_token(const char *token);
int auth_new_token(char token[TOKEN_BYTES]);
