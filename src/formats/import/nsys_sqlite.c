/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsys_sqlite.c - the tables of an SQLite file (nsys export --type sqlite). Only real tables are read
 * (no views, no virtual tables), and the columns of each are checked first.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "import/nsys.h"
#include "import/sqlite_in.h"

struct nsys_sqlite {
	sqlite3 *db;
	sqlite3_stmt *string; /* NULL: the export has none */
	sqlite3_stmt *rows;   /* of the table that was begun */
	unsigned cols;
};

/* "SELECT start,end,NULL,... FROM t", of the columns that are there. 0: there is no such table. */
static int select_text(sqlite3 *db, const struct nsys_table *t, char *out, size_t cap)
{
	char sql[128];
	sqlite3_stmt *s;
	unsigned have = 0; /* bit by column */
	size_t len = (size_t)snprintf(out, cap, "SELECT ");

	if (!sqlite_in_table(db, t->name))
		return 0;
	snprintf(sql, sizeof(sql), "PRAGMA table_info(%s)", t->name);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return 0;
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 1);

		for (unsigned i = 0; name && i < NSYS_COLS && t->col[i]; i++)
			if (!strcmp(name, t->col[i]))
				have |= 1u << i;
	}
	sqlite3_finalize(s);
	if ((have & ((1u << t->must) - 1)) != (1u << t->must) - 1)
		return 0;
	for (unsigned i = 0; i < NSYS_COLS && t->col[i] && len < cap; i++)
		len += (size_t)snprintf(
			out + len, cap - len, "%s%s%s%s", i ? "," : "", have >> i & 1 ? "\"" : "",
			have >> i & 1 ? t->col[i] : "NULL", have >> i & 1 ? "\"" : "");
	snprintf(out + len, cap - len, " FROM %s", t->name);
	return 1;
}

static int begin(void *arg, const struct nsys_table *t)
{
	struct nsys_sqlite *q = arg;
	char sql[1024];

	if (!select_text(q->db, t, sql, sizeof(sql)))
		return 0;
	if (sqlite3_prepare_v2(q->db, sql, -1, &q->rows, NULL) != SQLITE_OK)
		return -EBADMSG;
	q->cols = (unsigned)sqlite3_column_count(q->rows);
	return 1;
}

static void read_cell(sqlite3_stmt *s, int col, struct import_cell *out)
{
	*out = (struct import_cell){ .type = CELL_NULL };
	switch (sqlite3_column_type(s, col)) {
	case SQLITE_NULL:
		return;
	case SQLITE_INTEGER:
		out->type = CELL_INT;
		break;
	case SQLITE_FLOAT:
		out->type = CELL_REAL;
		break;
	default:
		out->type = CELL_TEXT;
		out->s = (const char *)sqlite3_column_text(s, col);
		out->len = out->s ? strlen(out->s) : 0;
	}
	out->i = sqlite3_column_int64(s, col);
}

static int next_row(void *arg, struct import_cell *row)
{
	struct nsys_sqlite *q = arg;
	int rc = sqlite3_step(q->rows);

	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? 0 : -EBADMSG;
	for (unsigned i = 0; i < q->cols; i++)
		read_cell(q->rows, (int)i, &row[i]);
	return 1;
}

static void end(void *arg)
{
	struct nsys_sqlite *q = arg;

	sqlite3_finalize(q->rows);
	q->rows = NULL;
}

static const char *why(void *arg)
{
	return sqlite3_errmsg(((struct nsys_sqlite *)arg)->db);
}

static int64_t first_ns(void *arg, const struct nsys_table *t)
{
	struct nsys_sqlite *q = arg;
	char sql[1024];
	sqlite3_stmt *s;
	int64_t min = 0;

	if (!select_text(q->db, t, sql, sizeof(sql)))
		return 0;
	snprintf(sql, sizeof(sql), "SELECT min(start) FROM %s WHERE typeof(start)='integer'",
		 t->name);
	if (sqlite3_prepare_v2(q->db, sql, -1, &s, NULL) != SQLITE_OK)
		return 0;
	if (sqlite3_step(s) == SQLITE_ROW)
		min = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return min;
}

static bool string(void *arg, int64_t id, const char **s, size_t *len)
{
	struct nsys_sqlite *q = arg;

	if (!q->string)
		return false;
	sqlite3_reset(q->string);
	sqlite3_bind_int64(q->string, 1, id);
	if (sqlite3_step(q->string) != SQLITE_ROW)
		return false;
	*s = (const char *)sqlite3_column_text(q->string, 0);
	*len = (size_t)sqlite3_column_bytes(q->string, 0);
	return *s != NULL;
}

int nsys_import(const struct importing *im, sqlite3 *db, uint64_t size)
{
	struct nsys_sqlite q = { .db = db };
	const struct nsys_source src = { .arg = &q,
					 .size = size,
					 .begin = begin,
					 .row = next_row,
					 .end = end,
					 .why = why,
					 .first_ns = first_ns,
					 .string = string };
	int err;

	if (sqlite3_prepare_v2(db, "SELECT value FROM StringIds WHERE id=?1", -1, &q.string,
			       NULL) != SQLITE_OK)
		q.string = NULL;
	err = nsys_walk(im, &src);
	sqlite3_finalize(q.string);
	return err;
}
