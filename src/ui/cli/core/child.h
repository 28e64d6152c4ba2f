/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - runs a program as if aon were not there.
 *
 * It shares our input, output, terminal and process group. Signals sent to aon are forwarded; those
 * that the terminal sends reach the program directly and are not duplicated. When it stops, aon
 * stops; when a signal ends it, aon ends by the same signal.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int status;    /* of waitpid(), when it ended */
	sigset_t old;  /* the mask that was, and that the program gets */
	sigset_t sent; /* what is sent on */
	struct sigaction old_chld, old_pipe;
};

/* From here on signals wait for child_wait(). */
void child_prepare(struct child *c);

/* Whether a signal that would end aon is pending, since then or since child_wait(). */
bool child_interrupted(void);

/* Starts it. 0, or -errno of exec: nothing was started then. */
int child_start(struct child *c, char *const argv[]);

/* Sends signals on until it ends. */
void child_wait(struct child *c);

/* Ends aon as the program ended. */
_Noreturn void child_mimic(const struct child *c);
