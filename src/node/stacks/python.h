/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - where a thread of CPython stands, read from outside.
 *
 * Nothing runs in the process: its interpreter's structures are followed by reading its memory, so
 * that it works for one that hangs in C with the GIL held. What is read may change meanwhile, and
 * may be made up: every pointer, length and loop is bounded, and a text is at worst wrong.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stacks/stack.h"

/* All `n` bytes, or -errno. */
typedef int python_read_fn(void *arg, uint64_t addr, void *out, size_t n);

struct python {
	python_read_fn *read;
	void *arg;
	uint64_t runtime; /* where its _PyRuntime is */
	uint32_t version; /* its Py_Version: 0x030b02f0; what is behind the minor is not needed */
};

/* Is the layout of this version known? */
bool python_known(uint32_t version);
/* Appends the frames of the thread, innermost first; self: its pthread_t. -ENOENT: it runs no Python. */
int python_stack(const struct python *p, pid_t tid, uint64_t self, struct stack *out);
