/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seize.h - the registers and the top of the stack of a thread that is stopped for a moment.
 *
 * PTRACE_SEIZE sends no signal, and a tracer that dies lets its tracees go: nothing that happens here
 * can leave a program stopped. The thread goes on before its stack is looked at.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SEIZE_REGS  17u /* in DWARF's order, the last is the program counter */
#define SEIZE_BYTES (128u << 10)
#define SEIZE_MS    200 /* for coming to a stop; who sleeps in the kernel does not */

struct snap {
	uint64_t reg[SEIZE_REGS];
	uint64_t self; /* its pthread_t */
	uint64_t sp;   /* where `mem` is from */
	size_t len;
	unsigned char *mem; /* owned; SEIZE_BYTES */
};

/* -EPERM: may not; -ESRCH: gone; -EBUSY: it sleeps in the kernel and cannot be stopped. */
int seize(pid_t tid, int mem_fd, struct snap *out);
void snap_fini(struct snap *s);
