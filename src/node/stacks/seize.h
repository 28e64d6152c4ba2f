/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seize.h - the registers and the top of the stack of a thread that is stopped for a moment.
 *
 * PTRACE_SEIZE sends no signal, and a tracer that dies lets its tracees go: nothing that happens here
 * can leave a program stopped. Only seize() needs rights; a tracer may do the rest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stacks/native.h"

#define SEIZE_BYTES (128u << 10)
#define SEIZE_MS    200 /* for coming to a stop; who sleeps in the kernel does not */

struct snap {
	struct native_regs regs;
	uint64_t self; /* its pthread_t */
	int sig;       /* a signal that was on its way when it was stopped */
	size_t len;
	unsigned char mem[SEIZE_BYTES]; /* from SP on */
};

/* The thread goes on. -EPERM: may not; -ESRCH: gone. */
int seize(pid_t tid);
/* Stops it and copies. Pairs with seize_end(), also if it fails. -EBUSY: it sleeps in the kernel and
 * cannot be stopped. */
int seize_stop(pid_t tid, int mem_fd, struct snap *out);
/* Lets it go, with the signal that it would have got. */
void seize_end(pid_t tid, const struct snap *s);
