/* SPDX-License-Identifier: Apache-2.0 */
/* param.h - aond's settings: one table, a file of `key = value`, and exact error messages. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/conf.h"

#define PARAM_FILE       "/etc/aon/aond.conf"
#define PARAM_FILE_BYTES CONF_FILE_BYTES
#define PARAM_PATH_BYTES CONF_PATH_BYTES

#define PARAM_TYPE_NUM   int64_t
#define PARAM_TYPE_WORD  int64_t /* index of the word */
#define PARAM_TYPE_SHARE int64_t /* thousandths */
#define PARAM_TYPE_PATH  struct conf_path

#define param_why conf_why
#define param_row conf_row

struct param {
#define PARAM(key, type, def, min, max, unit, live, help) PARAM_TYPE_##type key;
#include "daemon/core/param.tbl.h"
};

/* For --help, the man page and tests: the table itself. */
#define PARAM_NUM   CONF_NUM
#define PARAM_SHARE CONF_SHARE
#define PARAM_PATH  CONF_PATH
#define PARAM_WORD  CONF_WORD
extern const struct param_row param_table[];
extern const size_t param_count;
extern const struct conf param_conf;

/* Checks that involve several settings. */
int param_check(const struct param *p, struct param_why *why);

/* Of base/conf.h, for this table: */
static inline void param_defaults(struct param *p)
{
	conf_defaults(&param_conf, p);
}

static inline int param_set(struct param *p, const char *key, const char *value,
			    struct param_why *why)
{
	return conf_set(&param_conf, p, key, value, why);
}

static inline const struct param_row *param_get(const struct param *p, const char *key,
						char out[PARAM_PATH_BYTES])
{
	return conf_get(&param_conf, p, key, out);
}

static inline int param_parse(struct param *p, const char *name, const char *text, size_t len,
			      struct param_why *why)
{
	return conf_parse(&param_conf, p, name, text, len, why);
}

static inline int param_load(struct param *p, const char *path, struct param_why *why)
{
	return conf_load(&param_conf, p, path, why);
}

#define param_key_fn conf_key_fn
static inline int param_reload(struct param *p, const struct param *next, param_key_fn *kept,
			       void *arg)
{
	return conf_reload(&param_conf, p, next, kept, arg);
}

static inline void param_help(FILE *f)
{
	conf_help(&param_conf, f);
}
