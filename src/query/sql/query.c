/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - runs statements on a read-only connection. */
#include "sql/sql.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sql/table.h"

#define EVENT_MEMORY  (256ull << 20)
#define SQLITE_MEMORY (1ll << 30) /* limit for the process, including the store's reader */
#define VALUE_MAX     (64 << 20)  /* limit for one value, in bytes */
/* operations of SQLite's virtual machine between two checks of the deadline */
#define OPS_BETWEEN 10000

struct sql {
	sqlite3 *db; /* owned */
	struct sql_source src;
	uint64_t timeout_ns;
	char denied[128]; /* what was not allowed */
};

static int on_progress(void *arg)
{
	return source_late(&((struct sql *)arg)->src) != 0;
}

/* Read-only pragmas. */
static bool may_ask(const char *pragma)
{
	static const char *const words[] = { "table_info",    "table_xinfo", "table_list",
					     "function_list", "module_list", "compile_options",
					     "collation_list" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (pragma && !strcmp(pragma, words[i]))
			return true;
	return false;
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *schema,
		     const char *trigger)
{
	struct sql *s = arg;

	(void)schema, (void)trigger;
	if (s->src.declaring)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		if (b && strcmp(b, "load_extension") && strcmp(b, "fts3_tokenizer"))
			return SQLITE_OK;
		break;
	case SQLITE_PRAGMA:
		if (may_ask(a))
			return SQLITE_OK;
		break;
	default:
		break;
	}
	if (!s->denied[0])
		snprintf(s->denied, sizeof(s->denied), "%.60s%s",
			 action == SQLITE_FUNCTION ? b
			 : action == SQLITE_PRAGMA ? a
						   : "writing",
			 action == SQLITE_PRAGMA ? " is not among the pragmas that only tell"
						 : " is not allowed: a query only reads");
	return SQLITE_DENY;
}

static int because(struct sql *s, int rc, struct sql_why *why)
{
	int at = sqlite3_error_offset(s->db);

	why->at = at;
	if (rc == SQLITE_INTERRUPT && source_late(&s->src)) {
		snprintf(why->text, sizeof(why->text), "out of time");
		return -ETIME;
	}
	if (rc == SQLITE_NOMEM) {
		snprintf(why->text, sizeof(why->text), "out of memory: ask for less at a time");
		return -ENOMEM;
	}
	snprintf(why->text, sizeof(why->text), "%s",
		 s->denied[0] ? s->denied : sqlite3_errmsg(s->db));
	return -EINVAL;
}

/* Tables of pragmas are created on first use, which the authorizer would refuse as a write. */
static const char warm_up[] = "SELECT 1 FROM pragma_table_list,pragma_table_info('x'),"
			      "pragma_table_xinfo('x'),pragma_function_list LIMIT 0";

int sql_open(struct sql **out, struct store *st, const struct sql_opts *o, struct sql_why *why)
{
	struct sql *s = calloc(1, sizeof(*s));
	char *text = NULL;
	int rc, err;

	why->at = -1;
	if (!s)
		return -ENOMEM;
	s->src.st = st;
	s->src.memory_bytes = o->memory_bytes ? o->memory_bytes : EVENT_MEMORY;
	s->timeout_ns = o->timeout_ns;
	err = dict_load(&s->src.dict, st);
	if (err < 0) {
		snprintf(why->text, sizeof(why->text), "%s", strerror(-err));
		sql_close(s);
		return err;
	}
	sqlite3_hard_heap_limit64(SQLITE_MEMORY);
	rc = sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = tables_create(s->db, &s->src, "", &text);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db, warm_up, NULL, NULL, &text);
	if (rc != SQLITE_OK) {
		snprintf(why->text, sizeof(why->text), "%s", text ? text : sqlite3_errstr(rc));
		sqlite3_free(text);
		sql_close(s);
		return -ENOMEM;
	}
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_progress_handler(s->db, OPS_BETWEEN, on_progress, s);
	sqlite3_set_authorizer(s->db, authorize, s);
	*out = s;
	return 0;
}

void sql_close(struct sql *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	dict_fini(&s->src.dict);
	free(s);
}

/* --- running --- */

static void get_row(sqlite3_stmt *stmt, struct sql_value *v, int cols)
{
	static const enum sql_type types[] = { [SQLITE_INTEGER] = SQL_INT,
					       [SQLITE_FLOAT] = SQL_REAL,
					       [SQLITE_TEXT] = SQL_TEXT,
					       [SQLITE_BLOB] = SQL_BYTES,
					       [SQLITE_NULL] = SQL_NULL };

	for (int i = 0; i < cols; i++) {
		v[i] = (struct sql_value){ .type = types[sqlite3_column_type(stmt, i)] };
		if (v[i].type == SQL_INT) {
			v[i].i = sqlite3_column_int64(stmt, i);
		} else if (v[i].type == SQL_REAL) {
			v[i].real = sqlite3_column_double(stmt, i);
		} else if (v[i].type != SQL_NULL) {
			v[i].text = v[i].type == SQL_TEXT
					    ? (const char *)sqlite3_column_text(stmt, i)
					    : sqlite3_column_blob(stmt, i);
			v[i].len = (size_t)sqlite3_column_bytes(stmt, i);
		}
	}
}

static int run_one(struct sql *s, sqlite3_stmt *stmt, const struct sql_sink *sink,
		   struct sql_why *why)
{
	int cols = sqlite3_column_count(stmt), err, rc;
	const char **names = calloc((size_t)cols + 1, sizeof(*names));
	struct sql_value *v = calloc((size_t)cols + 1, sizeof(*v));

	err = names && v ? 0 : -ENOMEM;
	for (int i = 0; err == 0 && i < cols; i++)
		names[i] = sqlite3_column_name(stmt, i);
	if (err == 0)
		err = sink->begin(sink->arg, names, cols);
	while (err == 0 && (rc = sqlite3_step(stmt)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW) {
			err = because(s, rc, why);
			break;
		}
		get_row(stmt, v, cols);
		err = sink->row(sink->arg, v, cols);
	}
	if (err == 0)
		err = sink->end(sink->arg);
	free(names);
	free(v);
	return err;
}

int sql_run(struct sql *s, const char *text, const struct sql_sink *sink, struct sql_why *why)
{
	sqlite3_stmt *stmt = NULL, *second = NULL;
	const char *rest;
	int err, rc;

	why->at = -1;
	s->src.deadline_ns = s->timeout_ns ? clock_mono_ns() + s->timeout_ns : 0;
	s->denied[0] = 0;
	rc = sqlite3_prepare_v2(s->db, text, -1, &stmt, &rest);
	if (rc != SQLITE_OK)
		return because(s, rc, why);
	if (!stmt || sqlite3_prepare_v2(s->db, rest, -1, &second, NULL) != SQLITE_OK || second) {
		snprintf(why->text, sizeof(why->text), stmt ? "one query at a time" : "no query");
		why->at = stmt ? (int)(rest - text) : -1;
		err = -EINVAL;
	} else {
		err = run_one(s, stmt, sink, why);
	}
	sqlite3_finalize(second);
	sqlite3_finalize(stmt);
	return err;
}
