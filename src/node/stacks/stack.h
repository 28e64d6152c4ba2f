/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.h - where a thread stands, as text that is the same for all ranks that stand there.
 *
 * Names come from strangers' files and memory: they are bounded and printable from here on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_FRAMES  48u
#define STACK_TEXT    1600u
#define STACK_SHOWN   16u    /* frames in a text; the outermost are only counted */
#define STACK_BETWEEN " <- " /* innermost first */

struct frame {
	char name[96];
	char file[64]; /* its source, where known; else the library */
	uint32_t line; /* 0: none */
	bool entry;    /* of Python: the outermost one that its interpreter's loop runs */
	bool inlined;  /* into the next one */
};

struct stack {
	struct frame frame[STACK_FRAMES];
	size_t n;
	char why[200]; /* there is none, because; "": there is */
};

/* Appends one; what does not fit is left out, what is not printable is escaped. */
void stack_add(struct stack *s, const char *name, const char *file, uint32_t line);
/* "train (train.py:31)", "dot (blas.c:7, inlined)" */
#define FRAME_TEXT 208u
void frame_text(const struct frame *f, char out[FRAME_TEXT]);
/* "at::f (libx.so) <- train (train.py:31) <- 4 more". */
void stack_text(const struct stack *s, char out[STACK_TEXT]);
/* Without arguments of functions and templates: "a::b<int>(float)" is "a::b". */
void stack_short(const char *name, char *out, size_t cap);

/* --- those of many --- */

struct stacked {
	uint32_t number; /* of its rank, process or thread */
	struct stack stack;
	char text[STACK_TEXT];
	size_t group; /* how many have the same text */
};

/* Orders them so that who has the same text stands together: the largest group first, in it by
 * number. */
void stacks_merge(struct stacked *s, size_t n);
/* "0-2,4" of `n` in order. */
void stacks_who(const struct stacked *s, size_t n, char *out, size_t cap);
