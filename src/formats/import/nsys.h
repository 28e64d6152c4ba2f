/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsys.h - the reader of Nsight Systems' exports:
 *
 *	nsys_sqlite.c   tables of an SQLite file
 *	nsys_parquet.c  tables of a folder of Parquet files
 *	nsys.c          walks the tables of either
 *	nsys_row.c      makes events of their rows
 */
#pragma once

#include "base/map.h"
#include "import/cell.h"
#include "import/priv.h"

#define NSYS_COLS 20

struct nsys;

typedef int nsys_row_fn(struct nsys *n, const struct import_cell *row);

/* Columns that an export lacks are NULL; `must` are those without which it is no such table. */
struct nsys_table {
	const char *name;
	nsys_row_fn *fn; /* 1 an event, 0 none, -EBADMSG damaged, else -errno */
	unsigned must;   /* how many of the first columns */
	bool counted;    /* its rows are events */
	const char *col[NSYS_COLS];
};

extern const struct nsys_table nsys_tables[];
extern const size_t nsys_table_count;

/* Where the tables are. */
struct nsys_source {
	void *arg;
	uint64_t size; /* bytes; 0: not known */
	/* Goes before a table's first row: 1, 0: there is no such table, -EBADMSG: see why(). */
	int (*begin)(void *arg, const struct nsys_table *t);
	int (*row)(void *arg, struct import_cell *row); /* 1, 0 at the end, -EBADMSG: see why() */
	void (*end)(void *arg);
	const char *(*why)(void *arg);
	int64_t (*first_ns)(void *arg, const struct nsys_table *t); /* least start, or 0 */
	/* A text of StringIds; false: it has none. */
	bool (*string)(void *arg, int64_t id, const char **s, size_t *len);
};

struct nsys_process {
	int64_t global; /* vm, host and pid, without the thread: correlation ids are its own */
	uint32_t id;
};

struct nsys {
	const struct importing *im;
	struct trace *t;
	const struct nsys_source *src;
	struct map strings; /* id: name + 1 */
	struct nsys_process *process;
	size_t processes;
	int64_t bias; /* added to every time: some begin before the session's zero */
	int64_t last_ns;
	size_t first_device, first_track;
};

/* The text itself, or the number of one in StringIds. */
int nsys_string(struct nsys *n, const struct import_cell *cell, uint32_t *name);
int nsys_process(struct nsys *n, int64_t global, uint32_t *id);

int nsys_walk(const struct importing *im, const struct nsys_source *src);
