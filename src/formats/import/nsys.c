/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsys.c - walks the tables of an nsys export.
 *
 * The file is untrusted: only real tables are read (no views, no virtual tables), and the columns of
 * each are checked first.
 */
#include "import/nsys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define ROWS_A_LOOK 65536u
#define PROCESS_MAX 65536u

int nsys_string(struct nsys *n, int64_t id, uint32_t *name)
{
	uint64_t have = map_get(&n->strings, (uint64_t)id);
	const char *text = "";
	size_t len = 0;
	int err;

	if (have) {
		*name = (uint32_t)(have - 1);
		return 0;
	}
	if (n->string) {
		sqlite3_reset(n->string);
		sqlite3_bind_int64(n->string, 1, id);
		if (sqlite3_step(n->string) == SQLITE_ROW && sqlite3_column_text(n->string, 0)) {
			text = (const char *)sqlite3_column_text(n->string, 0);
			len = (size_t)sqlite3_column_bytes(n->string, 0);
		}
	}
	err = trace_name(n->t, text, len, name);
	return err ? err : map_put(&n->strings, (uint64_t)id, (uint64_t)*name + 1);
}

int nsys_process(struct nsys *n, int64_t global, uint32_t *id)
{
	int err;

	for (size_t i = 0; i < n->processes; i++)
		if (n->process[i].global == global) {
			*id = n->process[i].id;
			return 0;
		}
	if (n->processes >= PROCESS_MAX)
		return -EBADMSG;
	if (vec_more(&n->process, n->processes, sizeof(*n->process)) < 0)
		return -ENOMEM;
	err = trace_process(n->t, n->im->file, (uint64_t)global, id);
	if (err)
		return err;
	n->process[n->processes++] = (struct nsys_process){ global, *id };
	return 0;
}

/* --- tables --- */

/* "SELECT start,end,NULL,... FROM t", of the columns that are there. 0: there is no such table. */
static int select_text(struct nsys *n, const struct nsys_table *t, char *out, size_t cap)
{
	char sql[128];
	sqlite3_stmt *s;
	unsigned have = 0; /* bit by column */
	size_t len = (size_t)snprintf(out, cap, "SELECT ");

	if (!sqlite_in_table(n->db, t->name))
		return 0;
	snprintf(sql, sizeof(sql), "PRAGMA table_info(%s)", t->name);
	if (sqlite3_prepare_v2(n->db, sql, -1, &s, NULL) != SQLITE_OK)
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

static int progress(const struct nsys *n, size_t table, uint64_t size)
{
	const struct import_opts *o = n->im->o;

	if (!o || !o->progress)
		return 0;
	return o->progress(o->arg, n->im->path, size * table / nsys_table_count, size);
}

static int walk(struct nsys *n, size_t index, uint64_t size)
{
	const struct nsys_table *t = &nsys_tables[index];
	struct trace_file *f = importing_file(n->im);
	char sql[1024];
	sqlite3_stmt *s;
	uint64_t rows = 0;
	int rc, r = 0;

	if (!select_text(n, t, sql, sizeof(sql)))
		return 0;
	if (sqlite3_prepare_v2(n->db, sql, -1, &s, NULL) != SQLITE_OK) {
		import_broke(n->im, 0, "table %s cannot be read: %s", t->name,
			     sqlite3_errmsg(n->db));
		return 0;
	}
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		r = t->fn(n, s);
		if (r < 0 && r != -EBADMSG)
			break;
		f->rows += t->counted;
		f->lost += t->counted && r < 0;
		f->imported += t->counted && r > 0;
		f->left += t->counted && r == 0;
		if (t->counted && r < 0)
			import_broke(n->im, 0, "row %llu of %s has no usable time or place",
				     (unsigned long long)rows, t->name);
		r = 0;
		if (++rows % ROWS_A_LOOK == 0 && (r = progress(n, index, size)) < 0)
			break;
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		import_broke(n->im, 0, "table %s breaks after %llu rows: %s", t->name,
			     (unsigned long long)rows, sqlite3_errmsg(n->db));
	sqlite3_finalize(s);
	return r;
}

/* Some exports have times before their zero; ours have no sign. */
static void find_bias(struct nsys *n)
{
	for (size_t i = 0; i < nsys_table_count; i++) {
		const struct nsys_table *t = &nsys_tables[i];
		char sql[1024];
		sqlite3_stmt *s;

		if (!t->counted || !select_text(n, t, sql, sizeof(sql)))
			continue;
		snprintf(sql, sizeof(sql),
			 "SELECT min(start) FROM %s WHERE typeof(start)='integer'", t->name);
		if (sqlite3_prepare_v2(n->db, sql, -1, &s, NULL) != SQLITE_OK)
			continue;
		if (sqlite3_step(s) == SQLITE_ROW) {
			int64_t min = sqlite3_column_int64(s, 0);

			if (min < 0 && min > -INT64_MAX / 4 && -min > n->bias)
				n->bias = -min;
		}
		sqlite3_finalize(s);
	}
}

/* --- the file --- */

static int read_all(struct nsys *n, uint64_t size)
{
	int err = 0;

	if (sqlite3_prepare_v2(n->db, "SELECT value FROM StringIds WHERE id=?1", -1, &n->string,
			       NULL) != SQLITE_OK)
		n->string = NULL;
	find_bias(n);
	for (size_t i = 0; i < nsys_table_count && !err; i++)
		err = walk(n, i, size);
	/* A pid stands in the middle of the number that is unique over machines. */
	for (size_t i = 0; i < n->processes; i++) {
		struct trace_process *p = &n->t->process[n->process[i].id];

		if (p->pid == (uint64_t)n->process[i].global)
			p->pid &= 0xffffff;
	}
	if (err)
		import_say(n->im->why, err, "%s: %s", n->im->path, strerror(-err));
	return err;
}

int nsys_import(const struct importing *im, sqlite3 *db, uint64_t size)
{
	struct nsys n = { .im = im,
			  .t = im->t,
			  .db = db,
			  .first_device = im->t->devices,
			  .first_track = im->t->tracks };
	int err = read_all(&n, size);

	sqlite3_finalize(n.string);
	map_fini(&n.strings);
	free(n.process);
	return err;
}
