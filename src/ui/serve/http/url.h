/* SPDX-License-Identifier: Apache-2.0 */
/* url.h - parses the target of a request: strict, in place, nothing is guessed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define URL_BYTES 8192u /* of a target */
#define URL_ARGS  32u

struct url_arg {
	char *key, *value;
};

struct url {
	char *path; /* decoded; begins with a slash, has no segment "." or ".." */
	struct url_arg arg[URL_ARGS];
	size_t args;
	char why[96]; /* what is wrong with it */
};

/*
 * Takes `text` apart; the url points into it. -EINVAL: not a path and a query of UTF-8 text with
 * whole percent signs; no text holds a control character, no segment a slash.
 */
int url_parse(struct url *u, char *text);

/* The value of a key, or NULL. */
const char *url_get(const struct url *u, const char *key);

/* Whether `rank` is in a list like "0,2,4-7" (NULL: any is). url_list() says if it is one. */
int url_list(const char *text);
bool url_listed(const char *text, int64_t number);
