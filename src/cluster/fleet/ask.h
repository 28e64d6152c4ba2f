/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - shared by the questions: names of the roll-ups, the filter for this cluster, growing
 * answers.
 *
 * The text of a question is SQL that ClickHouse 18.16 and current releases both understand: joins by
 * USING, no window functions. Its answer is RowBinary.
 */
#pragma once

#include "fleet/question.h"
#include "fleet/sql.h"

/* "cluster = '...'", and of a job: "... AND job = '...'" (NULL: any). */
void ask_where(struct sql *q, const struct fleet *f, const char *job);

/* A question, and the callback for the rows of its answer. */
struct question {
	struct fleet *f;
	const char *job;        /* of {job}; NULL: any */
	struct fleet_span span; /* of {hours} */
	const char *types;      /* rowin.h */
	uint64_t most;          /* rows */
	rowin_fn *fn;
	void *arg;
	struct store_why *why;
};

/*
 * Asks it in one piece: {job} in `fmt` stands for ask_where(), {cluster} for that of any job, {hours}
 * for " AND hour_ns >= ... AND hour_ns < ...", of roll-ups: the hours that overlap the span.
 */
int ask_rows(const struct question *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Asks what was written piece by piece, and ends it. -ENOMEM if it could not be written. */
int ask_sql(struct fleet *f, struct sql *q, const char *types, uint64_t most, rowin_fn *fn,
	    void *arg, struct store_why *why);

/* One more of `size` bytes, zeroed; NULL: no memory. *array and *n are of the caller's list. */
void *ask_grow(void *array, size_t *n, size_t size);

/* A text that is cut where it does not fit. */
void ask_word(char *out, size_t cap, const struct rowin_field *f);

/* The numbers of a sum, from six columns: steps, step, compute, exposed, idle, lost. */
#define ASK_SUM_TYPES "qddddd"
void ask_sum(struct fleet_sum *s, const struct rowin_field *f);
void ask_sum_add(struct fleet_sum *into, const struct fleet_sum *s);

/* ask_overview.c: the jobs of o->span by their processes, in order of their names; then their sums. */
int ask_jobs(struct fleet_overview *o, struct fleet *f, const char *job, struct store_why *why);
int ask_job_sums(struct fleet_overview *o, struct fleet *f, const char *job, struct store_why *why);

/* ask_name.c: the texts of hashes; those that are not known become "#1a2b...". Owned by the caller. */
struct ask_name {
	uint64_t hash;
	char **text;
};
int ask_names(struct fleet *f, const struct ask_name *n, size_t names, struct store_why *why);
