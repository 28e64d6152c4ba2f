/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - shared by the queries: names of the roll-ups, the filter for this cluster, growing
 * answers.
 *
 * Queries are written in the SQL that ClickHouse 18.16 and current releases both understand: joins
 * by USING, no window functions. Answers are RowBinary.
 */
#pragma once

#include "fleet/question.h"
#include "fleet/sql.h"

/* "cluster = '...'", and for a job "... AND job = '...'" (NULL: any job). */
void ask_where(struct sql *q, const struct fleet *f, const char *job);

/* A query, and the callback for the rows of its answer. */
struct question {
	struct fleet *f;
	const char *job;        /* replaces {job}; NULL: any */
	struct fleet_span span; /* replaces {hours} */
	const char *types;      /* types of the columns: rowin.h */
	uint64_t most;          /* limit on rows */
	rowin_fn *fn;
	void *arg;
	struct store_why *why;
};

/*
 * Runs a query whose text is `fmt`. {job} stands for ask_where() of the job, {cluster} for
 * ask_where() of any job, {hours} for " AND hour_ns >= ... AND hour_ns < ...": the hours of
 * roll-ups that overlap the span.
 */
int ask_rows(const struct question *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Runs a query that was written piece by piece, and frees it. -ENOMEM if writing it failed. */
int ask_sql(struct fleet *f, struct sql *q, const char *types, uint64_t most, rowin_fn *fn,
	    void *arg, struct store_why *why);

/*
 * Appends a zeroed element of `size` bytes; NULL: out of memory. *array and *n belong to the
 * caller.
 */
void *ask_grow(void *array, size_t *n, size_t size);

/* Copies a text, cut to fit. */
void ask_word(char *out, size_t cap, const struct rowin_field *f);

/* The columns of a sum: steps, step, compute, exposed, idle, lost. */
#define ASK_SUM_TYPES "qddddd"
void ask_sum(struct fleet_sum *s, const struct rowin_field *f);
void ask_sum_add(struct fleet_sum *into, const struct fleet_sum *s);

/* ask_overview.c: the jobs of o->span, from their processes, sorted by name; then their sums. */
int ask_jobs(struct fleet_overview *o, struct fleet *f, const char *job, struct store_why *why);
int ask_job_sums(struct fleet_overview *o, struct fleet *f, const char *job, struct store_why *why);

/* ask_name.c: the texts of hashes, owned by the caller. An unknown hash becomes "#1a2b...". */
struct ask_name {
	uint64_t hash;
	char **text;
};
int ask_names(struct fleet *f, const struct ask_name *n, size_t names, struct store_why *why);
