/* SPDX-License-Identifier: Apache-2.0 */
/* attach.h - a running process, sampled from outside by aon-sample, as a trace that grows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/core/cli.h"
#include "model/trace.h"

struct attach {
	pid_t pid;
	double hz, seconds; /* seconds 0: until it is stopped */
	bool threads;       /* all of them */
	struct trace *t;    /* owned: its samples */
	uint32_t process;
	/* What aon-sample said last: */
	uint64_t cpu_ns, missed;
	uint64_t wall_ns; /* how long it has run */
	char reason[256]; /* why it could not sample; "": it could */
	bool gone;        /* the process has ended meanwhile */
	/* Of attach_stream.c: */
	pid_t child;
	int fd;
	uint64_t began_ns;
	uint32_t *stack; /* owned: by its number for a stack, that of the trace */
	size_t stack_room;
	uint8_t *buf, *message; /* owned */
	size_t len;
	int err;
};

/* Why this user may not look into the process; "": it may. */
void attach_denied(pid_t pid, char *why, size_t cap);

/* Starts aon-sample. 0, -ENOENT: it is not installed, or -errno. attach_fini() it in any case. */
int attach_start(struct attach *a);
/* Takes what has come; false: no more will. */
bool attach_read(struct attach *a);
void attach_stop(struct attach *a); /* takes what is still on its way, too */
void attach_fini(struct attach *a);

/* Samples until the time is over, or somebody presses q or Ctrl-C; meanwhile draws on a terminal.
 * CLI_OK, or what to exit with after it said why. */
int attach_watch(struct attach *a, const struct opts *o, const char *command);
