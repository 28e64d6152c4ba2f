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

/* Frames that are one place in code: those of functions that are inlined, and of the one that has it. */
struct host_place {
	size_t first, n;
};

struct host {
	struct host_row *row; /* owned */
	size_t rows;
	uint64_t period_ns; /* that the first one stands for; 0: there are none */
	/* A place or a function is written when it is first met: its number. */
	struct lookup place, function;
	struct host_place *place_of; /* owned, by number */
	size_t places;
	struct stack_frame *place_frame; /* owned: of all places */
	size_t place_frames;
	struct stack_frame *function_of; /* owned, by number */
	size_t functions;
};

/* Reads all samples of the walk's files, and counts them as written. */
int host_init(struct host *h, struct walk *w);
void host_fini(struct host *h);

/* How many of the frames from here on, at most n, are one place. */
uint32_t host_inlined(const struct stack_frame *f, uint32_t n);
/* The number of a place (function, file and line of its n frames) or of a frame's function (line is not looked
 * at), from 0 on; *first: it was not met before. UINT32_MAX: no memory. */
uint32_t host_place(struct host *h, const struct stack_frame *f, uint32_t n, bool *first);
uint32_t host_function(struct host *h, const struct stack_frame *f, bool *first);

/* "train.py 4711": the thread's name, if it has one, and its id. */
char *host_thread(const struct trace *t, uint32_t track, char *out, size_t cap);
const char *host_name(const struct trace *t, uint32_t name); /* "?" if it has none */
