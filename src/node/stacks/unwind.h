/* SPDX-License-Identifier: Apache-2.0 */
/* unwind.h - from registers and bytes of a stack to frames, by elfutils, with no thread stopped. */
#pragma once

#include <sys/types.h>

#include "stacks/seize.h"
#include "stacks/stack.h"

struct unwind;

/* mem_fd: its /proc/PID/mem; borrowed. */
int unwind_new(struct unwind **out, pid_t pid, int mem_fd);
void unwind_free(struct unwind *u);
/* Native frames down to the interpreter, if the thread is in one, and then those of Python. */
void unwind_stack(struct unwind *u, pid_t tid, const struct snap *s, struct stack *out);
