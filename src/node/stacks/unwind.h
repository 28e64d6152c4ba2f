/* SPDX-License-Identifier: Apache-2.0 */
/* unwind.h - where a thread that is seized stands, native and Python frames of one moment. */
#pragma once

#include <sys/types.h>

#include "stacks/native.h"
#include "stacks/stack.h"

struct unwind;

/* n: shared by all processes; mem_fd: its /proc/PID/mem; both borrowed. */
int unwind_new(struct unwind **out, struct native *n, pid_t pid, int mem_fd);
void unwind_free(struct unwind *u);
/*
 * Stops the thread, copies its stack, reads its Python frames, and lets it go; then the copy is
 * unwound. Python frames stand where the interpreter's loop runs them. Errors are seize_stop()'s.
 */
int unwind_stack(struct unwind *u, pid_t tid, struct stack *out);
