/* SPDX-License-Identifier: Apache-2.0 */
/* url.h - parses the target of a request: strictly, in place, without guessing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define URL_BYTES 8192u /* limit for a target */
#define URL_ARGS  32u

struct url_arg {
	char *key, *value;
};

struct url {
	char *path; /* decoded; begins with a slash, has no segment "." or ".." */
	struct url_arg arg[URL_ARGS];
	size_t args;
	char why[96]; /* what is wrong with the target */
};

/*
 * Splits `text`; the url points into it. -EINVAL: it is not a path and a query in UTF-8 with
 * complete percent escapes. Decoded text has no control characters, and a segment has no slash.
 */
int url_parse(struct url *u, char *text);

/* The value of a key, or NULL. */
const char *url_get(const struct url *u, const char *key);

/*
 * url_listed(): whether `rank` is in a list like "0,2,4-7" (NULL: always). url_list(): whether it
 * is a valid list.
 */
int url_list(const char *text);
bool url_listed(const char *text, int64_t number);
