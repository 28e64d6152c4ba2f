/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - two runs, ranks or windows of steps side by side. Pure.
 *
 * A profile splits the mean step (or, without steps, the mean base of a GPU) into parts that sum to
 * it: compute by class, exposed communication and copies, idle time by cause. They are those of the
 * account (account.h); of a window of steps, for which there is none, of these steps.
 *
 * Without steps two recordings of equal length always take "the same time". So the second is scaled
 * to the work of the first: to the calls of the kernels, or operators, that both have.
 */
#pragma once

#include "insight/find/finding.h"

/* Classes, then what is not hidden, then why it was idle. */
enum {
	PART_COMM_EXPOSED = CLASSES,
	PART_COPY_EXPOSED,
	PART_IDLE,
	PROFILE_PARTS = PART_IDLE + IDLE_CAUSES
};

struct profile_row {
	const char *name; /* of the trace */
	enum kclass class;
	double count, ns; /* a step */
};

/* GPU time by name of kernel, or of the op or module that launched it. */
struct profile_table {
	struct profile_row *row; /* owned, by name */
	size_t rows;
};

struct profile {
	uint64_t steps; /* 0: none, all is of the mean base */
	uint64_t devices, ranks;
	double step_ns, sd_ns; /* mean and standard deviation of the steps */
	double part_ns[PROFILE_PARTS];
	double busy_ns;
	const char *gpu; /* its name; NULL: unknown, or several */
	struct profile_table roll[ROLLS];
	const struct findings *fs; /* borrowed */
};

/* Which part of a run. */
struct profile_of {
	int32_t rank;         /* TRACE_NO_RANK: all */
	uint64_t first, last; /* numbers of steps */
};

#define PROFILE_ALL ((struct profile_of){ TRACE_NO_RANK, 0, UINT64_MAX })

int profile_init(struct profile *p, const struct insight *in, const struct findings *fs,
		 struct profile_of of);
void profile_fini(struct profile *p);
const char *profile_part(size_t part, const char **word); /* for people; *word for programs */

struct diff_row {
	const char *name;
	enum kclass class;
	double a_ns, b_ns, a_count, b_count; /* a step */
};

struct diff_table {
	struct diff_row *row; /* owned, the greatest change first */
	size_t rows;
};

struct diff {
	struct profile *a, *b; /* borrowed */
	char why_not[160];     /* empty: they can be compared */
	double delta_ns;       /* of the mean step */
	bool sure;             /* the interval is known: */
	double lo_ns, hi_ns;   /* 95 % of the difference */
	double explained;      /* share of what changed that has a name */
	double likeness;       /* similarity of the classes of kernels, 0 to 1 */
	double work; /* without steps: b's common work / a's, and b is divided by it; else 1 */
	enum insight_by work_by; /* whose calls say so, */
	size_t work_names;       /* how many, */
	double work_share;       /* and their share of the time; 0: none are common */
	struct diff_table roll[ROLLS];
};

int diff_init(struct diff *d, struct profile *a, struct profile *b);
void diff_fini(struct diff *d);
