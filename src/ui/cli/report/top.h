/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.h - one snapshot of a store: which processes run, how fast, and what they spend time in.
 *
 * A snapshot reads the windows of the last minute and the newest samples: it costs the same however
 * much is stored.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "read/gather.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "read/procs.h"

#define TOP_SPARK 60u /* seconds */

enum top_sort { TOP_TOTAL, TOP_COUNT_, TOP_AVG, TOP_MAX, TOP_NAME, TOP_SORTS };

struct top_proc {
	const struct process *p; /* in look.procs */
	bool live;
	bool steps;                /* the sparkline is of steps, else of events */
	uint64_t spark[TOP_SPARK]; /* mean step in ns, or events, of each second; 0: none */
	uint64_t step_ns, step_count, events, seconds;
	/* Where its launching threads were most in the newest five seconds of samples, and how old the
	 * newest is; code_samples 0: not sampled. */
	char code[160];
	enum sample_state code_state;
	double code_share;
	uint64_t code_samples, code_age_ns;
};

struct top_job {
	char run[16];
	char text[480]; /* its first finding in a sentence */
};

#define TOP_JOBS 8u

struct top_look {
	struct top_job job[TOP_JOBS];
	size_t jobs;
	struct store *st; /* owned; NULL: nothing was looked at */
	char path[PATH_MAX];
	struct procs procs;
	struct top_proc *proc; /* owned */
	struct gather g;
	uint64_t now_ns;
	struct account account;
};

struct top_view {
	enum top_sort sort;
	char filter[64];
	size_t scroll;
	bool help, paused, typing;
	double delay_s;
	size_t rows; /* of the terminal; 0: print all once */
};

/* CLI_OK, or CLI_FAIL after an error message. */
int top_look(struct top_look *l, const char *store, bool all);
void top_look_fini(struct top_look *l);
/* What its processes do now, as aond says; else what the newest stored samples say. Of a look. */
int top_code(struct top_look *l);
void top_jobs(struct top_look *l);

void top_draw(const struct top_look *l, const struct top_view *v, const struct out *out);
void top_json(const struct top_look *l);
