/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - samples of threads, equal ones together, for formats of stacks. */
#pragma once

#include "export/walk.h"

/* Samples of one thread with one stack in one state. */
struct host_row {
	uint32_t track, stack;
	uint8_t state;
	uint64_t count, ns;
};

struct host {
	struct host_row *row; /* owned */
	size_t rows;
	uint64_t period_ns; /* that the first one stands for; 0: there are none */
	/* A frame or a function is written when it is first met: its number. */
	struct lookup place, function;
	struct stack_frame *place_of, *function_of; /* owned, by number */
	size_t places, functions;
};

/* Reads all samples of the walk's files, and counts them as written. */
int host_init(struct host *h, struct walk *w);
void host_fini(struct host *h);

/* The number of a frame's place (function, file and line) or of its function (line is not looked at), from 0 on;
 * *first: it was not met before. UINT32_MAX: no memory. */
uint32_t host_place(struct host *h, const struct stack_frame *f, bool *first);
uint32_t host_function(struct host *h, const struct stack_frame *f, bool *first);

/* "train.py 4711": the thread's name, if it has one, and its id. */
char *host_thread(const struct trace *t, uint32_t track, char *out, size_t cap);
const char *host_name(const struct trace *t, uint32_t name); /* "?" if it has none */
