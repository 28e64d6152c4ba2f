/* SPDX-License-Identifier: Apache-2.0 */
/* static_tables.h - the tables whose rows are computed on demand: rows of cells. */
#pragma once

#include "sql/table.h"

enum cell_type { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT };

struct sql_cell {
	enum cell_type type;
	union {
		int64_t i;
		double real;
		char *text; /* owned */
	};
};

struct cells {
	struct sql_cell *cell; /* owned */
	size_t n, cap, max;
	int err; /* -E2BIG: more than the memory allows */
};

void cell_int(struct cells *c, int64_t v);
void cell_list(struct cells *c, const int64_t *v, size_t n);
#define cell_ints(c, ...)                              \
	cell_list(c, (const int64_t[]){ __VA_ARGS__ }, \
		  sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
void cell_real(struct cells *c, double v);
void cell_text(struct cells *c, const char *text); /* copied; NULL is NULL */
void cell_null(struct cells *c);
void cell_maybe(struct cells *c, bool is, int64_t v); /* NULL unless `is` */

/* A query of a table: columns (a bit mask) and time range. */
struct small_ask {
	uint64_t used;
	int64_t from, to;
};

struct small_def {
	const char *name, *columns; /* the first column is `ts` if `timed` */
	bool timed;
	int (*fill)(struct cells *c, struct sql_source *src, const struct small_ask *ask);
};

struct insight;
struct trace;

/* Analyses the whole store. Free both results, even after a failure. */
int source_insight(struct sql_source *src, struct trace **out, struct insight **in);

int fill_work(struct cells *c, struct sql_source *src, const struct small_ask *ask);
int fill_finding(struct cells *c, struct sql_source *src, const struct small_ask *ask);
int fill_telemetry(struct cells *c, struct sql_source *src, const struct small_ask *ask);
int fill_step_record(struct cells *c, struct sql_source *src, const struct small_ask *ask);
int fill_exchange(struct cells *c, struct sql_source *src, const struct small_ask *ask);
int fill_sample(struct cells *c, struct sql_source *src, const struct small_ask *ask);
int fill_sample_window(struct cells *c, struct sql_source *src, const struct small_ask *ask);
int fill_stack(struct cells *c, struct sql_source *src, const struct small_ask *ask);
int fill_summary(struct cells *c, struct sql_source *src, const struct small_ask *ask);
