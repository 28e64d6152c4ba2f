/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - the virtual tables over one store, and what their files share.
 *
 *	plan.c    what SQLite asks for: conditions, order, columns -> struct plan, as text
 *	filter.c  a plan with its values -> what to read, and which events of a batch are meant
 *	group.c   events in the order of dictionary columns, for GROUP BY, DISTINCT, ORDER BY
 *	rowset.c  events copied out; found by correlation or start, for joins
 *	event.c   the cursor over events
 *	static_tables.c  the other tables: process, device, track, window ...
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/columns.h"
#include "model/event.h"
#include "sql/dict.h"
#include "sql/sqlite.h"
#include "store/blob.h"

enum table_id {
#define TABLE(ID, name, kinds) TABLE_##ID,
#include "sql/event.tbl.h"
	TABLES,
};

enum col_id {
#define COL(ID, name, type, domain, needs, tables) COL_##ID,
#include "sql/event.tbl.h"
	COLUMNS_N,
};

enum domain { DOMAIN_ROW, DOMAIN_NAME, DOMAIN_TRACK, DOMAIN_KIND };

struct col_def {
	const char *name, *type;
	enum domain domain;
	uint32_t needs;  /* enum event_column */
	uint32_t tables; /* bits of enum table_id */
};

extern const struct col_def col_defs[COLUMNS_N];

/* One open store behind the tables of a connection. */
struct sql_source {
	struct store *st; /* borrowed */
	struct dict dict;
	uint64_t memory_bytes; /* limit for the events of one cursor */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
	/* a table is being declared, which the authorizer would refuse as a write */
	bool declaring;
	int cursors; /* open cursors; the dictionary stays while there are any */
};

/* -ETIME after the deadline. */
int source_late(const struct sql_source *s);
/* Sets an error text for `err`; returns SQLITE_ERROR. */
int source_fail(sqlite3_vtab *tab, int err);
/* sqlite3_declare_vtab(). */
int source_declare(struct sql_source *s, sqlite3 *db, const char *text);
int source_disconnect(sqlite3_vtab *tab);
/* Opens a cursor of that size; closes one. The first cursor looks for new data in the store. */
int source_cursor(struct sql_source *s, sqlite3_vtab *tab, size_t size, sqlite3_vtab_cursor **out);
void source_leave(struct sql_source *s);

struct event_table {
	sqlite3_vtab base;
	struct sql_source *src; /* borrowed */
	enum table_id id;
	uint32_t kinds;
	int cols;
	uint8_t col[COLUMNS_N]; /* enum col_id of each column */
};

/* --- plan.c --- */

#define PLAN_TERMS 16
#define PLAN_KEYS  6

struct plan {
	uint64_t used; /* bits of enum col_id */
	struct {
		uint8_t col, op;
		bool in; /* receives all values of an IN at once */
	} term[PLAN_TERMS];
	struct {
		uint8_t col;
		bool desc;
	} key[PLAN_KEYS];
	uint8_t terms, keys;
	bool once;    /* one row of each key is enough */
	int8_t index; /* the term that rows are looked up by, repeatedly; -1: none */
};

int plan_best(sqlite3_vtab *tab, sqlite3_index_info *info);
int plan_read(struct plan *p, const char *text);

/* --- values --- */

/* The value of a numeric column; `a` unless the column names another one. */
int64_t row_value(const struct event_columns *c, size_t i, enum col_id col);

/* The value of a dictionary column; false: NULL. */
bool track_value(const struct dict *d, uint32_t track, enum col_id col, int64_t *out);
/* Compares two entries; NULL is the smallest. */
int track_compare(const struct dict *d, uint32_t a, uint32_t b, enum col_id col);
int name_compare(const struct dict *d, uint32_t a, uint32_t b);
int class_compare(const struct dict *d, uint32_t a, uint32_t b);

/* --- filter.c --- */

struct filter {
	struct store_filter read;
	uint32_t kinds;
	uint32_t needs;    /* event columns that the conditions need */
	uint8_t *name_ok;  /* owned, by index; NULL: all */
	uint8_t *track_ok; /* owned, by index; NULL: all */
	uint32_t *process; /* owned: the processes in `read` */
	struct {
		uint8_t col;
		int64_t lo, hi;
	} range[PLAN_TERMS];
	int ranges;
	bool none; /* nothing can match */
};

int filter_init(struct filter *f, const struct event_table *t, const struct plan *p,
		sqlite3_value **argv);
void filter_fini(struct filter *f);
/* Selects the events of `c` that match; returns how many. `sel` has room for BLOB_EVENTS. */
size_t filter_select(const struct filter *f, const struct dict *d, const struct event_columns *c,
		     uint16_t *sel);

/* --- batches: filtered blobs, one after the other --- */

struct batch {
	struct sql_source *src;  /* borrowed */
	const struct filter *f;  /* borrowed */
	struct store_scan *scan; /* owned */
	struct event_columns c;
	uint64_t blob;
	size_t n; /* number of entries in sel */
	uint16_t sel[BLOB_EVENTS];
};

int batch_open(struct batch *b, struct sql_source *src, const struct filter *f, uint32_t cols);
int batch_next(struct batch *b); /* 1, 0 at the end, -errno */
void batch_close(struct batch *b);

/* --- rows copied out of blobs, column by column --- */

struct rowset {
	size_t n;               /* rows */
	struct event_columns c; /* points into mem */
	uint64_t *id;           /* NULL: not requested */
	void *mem;              /* owned */
};

size_t rowset_bytes(uint32_t cols, bool id); /* size of one row */
int rowset_init(struct rowset *r, size_t n, uint32_t cols, bool id);
void rowset_fini(struct rowset *r);
/* Copies event sel[i] of the batch to row at[i]. */
void rowset_put(struct rowset *r, const uint32_t *at, const struct batch *b);

static inline uint64_t event_id(uint64_t blob, size_t i)
{
	return blob << 14 | i;
}

/* --- group.c --- */

struct group;
/* The current rows of a cursor: [i, n) of c, all of one key. */
struct group_part {
	struct event_columns c;
	const uint64_t *id;
	size_t first, n;
	uint32_t name, track, kind; /* indices of the key's values */
};

int group_new(struct group **out, struct sql_source *src, const struct filter *f,
	      const struct plan *p, uint32_t cols, bool id);
int group_next(struct group *g, struct group_part *out); /* 1, 0 at the end, -errno */
void group_free(struct group *g);
bool group_can(const struct dict *d, const uint8_t *cols, int n);

/* --- rowset.c: found by correlation or start --- */

struct index;
/* -E2BIG: it would exceed the memory limit. */
int index_new(struct index **out, struct sql_source *src, uint32_t kinds, enum col_id by,
	      uint32_t cols, bool id);
/* The rows [*first, *end) whose column is in [lo, hi]. */
const struct rowset *index_find(const struct index *x, int64_t lo, int64_t hi, size_t *first,
				size_t *end);
void index_free(struct index *x);

/* --- modules --- */

extern const sqlite3_module event_module; /* client data: struct sql_source */
extern const sqlite3_module small_module;

const char *small_name(size_t i); /* name of a table of static_tables.c; NULL after the last */

/* Creates all tables and views of a source in the schema temp; their names begin with `prefix`. */
int tables_create(sqlite3 *db, struct sql_source *src, const char *prefix, char **why);
