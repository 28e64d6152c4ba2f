/* SPDX-License-Identifier: Apache-2.0 */
/* stacks.h - GPU time by the stack that launched it, for pprof and collapsed stacks. */
#pragma once

#include "export/walk.h"

#define STACKS_MADE 0x80000000u /* of a frame: not a name of the trace, but a text of ours */

/* A stack: frames from the top down, and what ended on it. */
typedef int stacks_fn(struct walk *w, void *arg, const uint32_t *frame, size_t depth,
		      const struct stack_node *leaf);
int stacks_each(struct walk *w, stacks_fn *fn, void *arg);

/* The text of a frame; `room` may hold it. */
const char *stacks_text(const struct walk *w, uint32_t frame, char *room, size_t cap);
uint32_t stacks_made(const struct trace *t); /* how many made ones there can be */
