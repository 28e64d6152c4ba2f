/* SPDX-License-Identifier: Apache-2.0 */
/* conf.h - settings: one table, a file of `key = value`, and exact error messages. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fmt.h"

#define CONF_FILE_BYTES 65536u /* a longer file is refused */
#define CONF_PATH_BYTES 256u

struct conf_path {
	char s[CONF_PATH_BYTES];
};

/*
 * The type of a row's field: int64_t (for a WORD its index, for a SHARE thousandths, which files
 * give in percent), or struct conf_path.
 */
enum conf_type { CONF_NUM, CONF_SHARE, CONF_PATH, CONF_WORD, CONF_TEXT };

struct conf_row {
	const char *key;
	enum conf_type type;
	bool live;
	const char *def;
	int64_t min, max;
	const char *unit;
	const char *help;
	size_t off, size;
};

/* A former name, of a setting or of a word that one takes: accepted, documented nowhere. */
struct conf_alias {
	const char *old, *key;
	double scale; /* a share without a unit under the former name was so much of a percent; 0: 1 */
};

struct conf_why {
	char text[512]; /* "file:line: key: expected ..." */
};

struct conf {
	const struct conf_row *row;
	size_t n;
	const struct conf_alias *alias; /* ends with one without names; may be NULL */
	size_t size;                    /* of the struct that they are fields of */
	const char *help;               /* the command that lists them */
	/* Checks several settings together; may be NULL. */
	int (*check)(const void *p, struct conf_why *why);
};

/* The setting that `key`, or a former name, means; NULL: none. */
const struct conf_row *conf_find(const struct conf *t, const char *key);

void conf_defaults(const struct conf *t, void *p);

/* One setting. -EINVAL: *why says what was expected, *p is as before. */
int conf_set(const struct conf *t, void *p, const char *key, const char *value,
	     struct conf_why *why);

/* The value as text. Returns the row, or NULL: there is no such setting. */
const struct conf_row *conf_get(const struct conf *t, const void *p, const char *key,
				char out[CONF_PATH_BYTES]);

/*
 * Applies the lines of a file to *p. Messages contain `name`. On failure *p is unchanged and
 * *why names the first bad line. Any bytes are allowed as input.
 */
int conf_parse(const struct conf *t, void *p, const char *name, const char *text, size_t len,
	       struct conf_why *why);

/* conf_parse() of a file: -ENOENT and other errors of opening it, too. */
int conf_load(const struct conf *t, void *p, const char *path, struct conf_why *why);

/*
 * Copies from `next` the settings that may change at run time. Calls `kept` for each key that
 * differs but may not change. Returns how many settings changed.
 */
typedef void conf_key_fn(void *arg, const char *key);
int conf_reload(const struct conf *t, void *p, const void *next, conf_key_fn *kept, void *arg);

void conf_help(const struct conf *t, FILE *f);

/* Puts words into *why; returns -EINVAL. */
#define conf_say(why, ...) why_say(why, -EINVAL, __VA_ARGS__)
