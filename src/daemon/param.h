/* SPDX-License-Identifier: Apache-2.0 */
/* param.h - aond's settings: one table, a file of `key = value`, and exact words on errors. */
#ifndef AON_PARAM_H
#define AON_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PARAM_FILE       "/etc/aon/aond.conf"
#define PARAM_FILE_BYTES 65536u /* a longer file is refused */
#define PARAM_PATH_BYTES 256u

#define PARAM_TYPE_NUM  int64_t
#define PARAM_TYPE_WORD int64_t /* index of the word */
struct param_path {
	char s[PARAM_PATH_BYTES];
};
#define PARAM_TYPE_PATH struct param_path

struct param {
#define PARAM(key, type, def, min, max, unit, live, help) PARAM_TYPE_##type key;
#include "daemon/param.tbl.h"
};

struct param_why {
	char text[512]; /* "file:line: key: expected ..." */
};

void param_defaults(struct param *p);

/* One setting. -EINVAL: *why says what was expected, *p is as before. */
int param_set(struct param *p, const char *key, const char *value, struct param_why *why);

/* Its value as text; the row, or NULL: no such setting. */
const struct param_row *param_get(const struct param *p, const char *key,
				  char out[PARAM_PATH_BYTES]);

/*
 * The lines of a file, over what *p holds. `name` stands in messages. On failure *p is as
 * before and *why names the first bad line. Any bytes are allowed as input.
 */
int param_parse(struct param *p, const char *name, const char *text, size_t len,
		struct param_why *why);

/* param_parse() of a file: -ENOENT and other errors of opening it, too. */
int param_load(struct param *p, const char *path, struct param_why *why);

/* What no single line can tell. */
int param_check(const struct param *p, struct param_why *why);

/*
 * Take over from `next` what may change while aond runs. Calls `kept` with each key that
 * differs but may not. Returns how many settings changed.
 */
typedef void param_key_fn(void *arg, const char *key);
int param_reload(struct param *p, const struct param *next, param_key_fn *kept, void *arg);

/* For --help, the man page and tests: the table itself. */
enum param_type { PARAM_NUM, PARAM_PATH, PARAM_WORD };
struct param_row {
	const char *key;
	enum param_type type;
	bool live;
	const char *def;
	int64_t min, max;
	const char *unit;
	const char *help;
	size_t off, size;
};
extern const struct param_row param_table[];
extern const size_t param_count;

void param_help(FILE *f);

#endif /* AON_PARAM_H */
