/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext.c - aon_sqlite.so: the tables of a store in anybody's SQLite.
 *
 *	sqlite> .load aon_sqlite
 *	sqlite> select aon_open('aon-7f3a.db');          tables kernel, step, ...
 *	sqlite> select aon_open('aon-81c0.db', 'b_');    tables b_kernel, b_step, ...
 *
 * The tables are read-only and live in the schema temp; aon_open() makes no file. It returns how
 * many events the store holds. Not to be called from views or triggers of a database.
 */
#include "sql/sqlite.h"

SQLITE_EXTENSION_INIT1

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sql/table.h"

#define NEEDS        3038000 /* sqlite3_vtab_distinct(), sqlite3_vtab_in() */
#define EVENT_MEMORY (256ull << 20)
#define PREFIX_MAX   24

__attribute__((visibility("default"))) int sqlite3_aonsqlite_init(sqlite3 *db, char **why,
								  const sqlite3_api_routines *api);

/* Stores that were opened live as long as the connection. */
struct opened {
	struct opened *next;
	struct sql_source src;
};

struct library {
	struct opened *first;
};

static void forget(void *arg)
{
	struct library *lib = arg;
	struct opened *o;

	while ((o = lib->first)) {
		lib->first = o->next;
		dict_fini(&o->src.dict);
		store_close(o->src.st);
		free(o);
	}
	free(lib);
}

static bool good_prefix(const char *p)
{
	if (strlen(p) > PREFIX_MAX)
		return false;
	for (; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return true;
}

static void fail(sqlite3_context *ctx, const char *path, const char *text)
{
	char *all = sqlite3_mprintf("aon_open: %s: %s", path, text);

	sqlite3_result_error(ctx, all ? all : text, -1);
	sqlite3_free(all);
}

static void aon_open(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct library *lib = sqlite3_user_data(ctx);
	const char *path = argc > 0 ? (const char *)sqlite3_value_text(argv[0]) : NULL;
	const char *prefix = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : "";
	struct store_why why = { "" };
	struct opened *o;
	char *text = NULL;
	int err;

	if (!path || argc > 2 || !prefix || !good_prefix(prefix)) {
		sqlite3_result_error(ctx, "aon_open(FILE [, PREFIX]): PREFIX is of a-z 0-9 _", -1);
		return;
	}
	o = calloc(1, sizeof(*o));
	if (!o) {
		sqlite3_result_error_nomem(ctx);
		return;
	}
	o->src.memory_bytes = EVENT_MEMORY;
	err = store_open_ro(&o->src.st, path, &why);
	if (err == 0) {
		/* From here on it belongs to the connection: tables may point at it. */
		o->next = lib->first;
		lib->first = o;
		err = dict_load(&o->src.dict, o->src.st);
	} else {
		free(o);
	}
	if (err < 0) {
		fail(ctx, path, why.text[0] ? why.text : strerror(-err));
		return;
	}
	if (tables_create(sqlite3_context_db_handle(ctx), &o->src, prefix, &text) != SQLITE_OK)
		fail(ctx, path, text ? text : "the tables cannot be made");
	else
		sqlite3_result_int64(ctx, (sqlite3_int64)o->src.dict.events);
	sqlite3_free(text);
}

int sqlite3_aonsqlite_init(sqlite3 *db, char **why, const sqlite3_api_routines *api)
{
	struct library *lib;

	SQLITE_EXTENSION_INIT2(api);
	if (sqlite3_libversion_number() < NEEDS) {
		*why = sqlite3_mprintf("aon_sqlite needs SQLite 3.38 or newer, this is %s",
				       sqlite3_libversion());
		return SQLITE_ERROR;
	}
	lib = calloc(1, sizeof(*lib));
	if (!lib)
		return SQLITE_NOMEM;
	return sqlite3_create_function_v2(db, "aon_open", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, lib,
					  aon_open, NULL, NULL, forget);
}
