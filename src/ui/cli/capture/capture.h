/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - captures of processes: finds them, orders, waits, and fetches their traces. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/core/cli.h"

#define CAPTURE_MAX   1024u
#define CAPTURE_BYTES (4ull << 30) /* of one trace, at most */

/* The length of a capture: the member that is not 0. */
struct profiler_want {
	uint64_t steps, ms;
	uint64_t timeout_ms;
};

enum target_state {
	CAPTURE_WAITS, /* until its process polls */
	CAPTURE_RUNS,  /* its process has the order */
	CAPTURE_DONE,  /* the trace is there */
	CAPTURE_FAILED,
};

struct target {
	pid_t pid;
	uid_t uid;
	char job[48];           /* "-": not known */
	int32_t rank;           /* -1: not known */
	uint64_t step, step_ns; /* where it was, how long its steps take; 0: not known */
	enum target_state state;
	int dir;             /* owned: where it writes; -1: not made */
	char name[256];      /* of the trace in it */
	uint64_t bytes;      /* so far */
	bool begun;          /* its file exists */
	uint64_t given_ms;   /* when it was seen to have its order */
	char why[160];       /* of the failure */
	char file[PATH_MAX]; /* where the trace went */
};

struct profiler_capture {
	const struct opts *o;
	struct profiler_want want;
	const char *framework; /* "kineto" or "jax" */
	const char *ending;    /* of a trace's name */
	int ask;               /* owned: socket of aond; -1: it is gone */
	uint64_t lost_ms;      /* since when */
	char root[160];        /* our directory for all files */
	struct target *target; /* owned */
	size_t n;
};

/* Asks aond which processes can be captured, and keeps those that the options name; waits a little
 * for those that have not polled yet. CLI_OK, or an exit status after an error message. */
int profiler_choose(struct profiler_capture *c);

/* Gives the orders and waits. Failures are in the targets. CLI_OK, or CLI_FAIL after an error
 * message if nothing could be ordered at all. */
int capture_run(struct profiler_capture *c);

/* The same for JAX: the processes of --pid; opens the socket, too. */
int capture_jax_choose(struct profiler_capture *c);
int capture_jax_run(struct profiler_capture *c);

/* The trace of a target that is done into `to`, which must not be there. 0 or -errno. */
int capture_fetch(const struct profiler_capture *c, struct target *t, const char *to);

/* Removes the directory, closes the socket: aond drops orders that were not handed out yet. */
void capture_fini(struct profiler_capture *c);

/* Checks how the options name processes. CLI_OK, or CLI_USAGE after an error message. */
int capture_check(const struct opts *o);
