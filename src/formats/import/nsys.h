/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsys.h - the reader of Nsight Systems' sqlite exports, in two parts: nsys.c walks the tables,
 * nsys_row.c makes events of their rows.
 */
#pragma once

#include "base/map.h"
#include "import/sqlite_in.h"

#define NSYS_COLS 20

struct nsys_process {
	int64_t global; /* vm, host and pid, without the thread: correlation ids are its own */
	uint32_t id;
};

struct nsys {
	const struct importing *im;
	struct trace *t;
	sqlite3 *db;
	sqlite3_stmt *string; /* NULL: the export has none */
	struct map strings;   /* id: name + 1 */
	struct nsys_process *process;
	size_t processes;
	int64_t bias; /* added to every time: some begin before the session's zero */
	int64_t last_ns;
	size_t first_device, first_track;
};

typedef int nsys_row_fn(struct nsys *n, sqlite3_stmt *row);

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

int nsys_string(struct nsys *n, int64_t id, uint32_t *name);
int nsys_process(struct nsys *n, int64_t global, uint32_t *id);
