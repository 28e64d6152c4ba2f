/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl_source.h - the work of a kernel, from its OpenCL C source. Pure; no heap, no unbounded
 * recursion, time bounded by CL_SOURCE_TOKENS.
 *
 * It counts the floating-point operations of one work-item (loops of constant length as often as
 * they run) and the bytes of global memory that all work-items touch, each once: an access touches
 * as many places as the ids in its address have values. That depends on the launch, so the count is
 * stored per set of ids. Branches count as taken. A kernel with constructs that are not understood
 * (other loops, calls of the program's functions, macros) has no work: nothing is guessed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CL_SOURCE_TEXT   65536u /* bytes of a program that are looked at */
#define CL_SOURCE_TOKENS 32768u
#define CL_SOURCE_VARS   1024u
#define CL_SOURCE_LOOPS  16u
#define CL_SOURCE_MEM    6u
#define CL_SOURCE_NAME   128u

/* Ids that an address depends on. */
#define CL_SOURCE_GROUP(d) (1u << (d))
#define CL_SOURCE_LOCAL(d) (8u << (d))

struct cl_var {
	uint32_t hash, deps;
	uint8_t space, flt, width, bytes;
};

struct cl_mem {
	uint32_t ids;
	uint64_t bytes; /* for each combination of their values */
};

struct cl_kernel {
	char name[CL_SOURCE_NAME];
	uint64_t flops;       /* of a work-item */
	uint64_t by_bytes[9]; /* of these, by the bytes of the type: 2, 4, 8 */
	struct cl_mem mem[CL_SOURCE_MEM];
	uint32_t mems;
	bool branches; /* it is at most so much */
};

struct cl_text {
	const char *at, *end;
	/* the token */
	const char *word;
	uint32_t len, hash, tokens, depth;
	uint8_t kind;
	bool bad;
	int64_t number;
	uint8_t number_flt;
	/* the kernel */
	struct cl_kernel k;
	struct cl_var var[CL_SOURCE_VARS];
	uint32_t vars, loops;
	uint64_t turns[CL_SOURCE_LOOPS]; /* of loops that are open */
	uint64_t times;                  /* all of them together */
};

/* Begins with a program's text, which is borrowed. */
void cl_source_begin(struct cl_text *s, const char *text, size_t len);
/* The next kernel that is understood, in s->k; false: no more. */
bool cl_source_next(struct cl_text *s);
/* "flops=12 type=6 mem=9:4,0:8", "at most" behind it. Bytes without the NUL; 0: no room. */
size_t cl_source_text(char *out, size_t cap, const struct cl_kernel *k);
