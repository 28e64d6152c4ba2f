/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.h - where a thread was at one moment: a state and a stack of frames.
 *
 * A sample is an event of kind SAMPLE on the track of its thread (event.h): `a` is the id of its
 * stack in the store, `dur_ns` the time that it stands for (one over the rate), `name` the frame
 * that is to blame, as text, and `b` packs the rest (sample_b()). It is a moment and no work: walks of
 * events and of windows have samples only where they ask for them (store_filter.kinds).
 *
 * In a window (rollup.h) the samples of a thread that share stack and sample_key() are a row of kind
 * SAMPLE: `name` is the stack's id + 1, total_ns the time that they stand for, min_ns and max_ns the
 * min and max of one of them, and bytes is sample_rolled().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sample_state {
	SAMPLE_NONE = 0,
#define STATE(num, NAME, word, means) SAMPLE_##NAME = num,
#include "model/sample.tbl.h"
	SAMPLE_STATES,
};

_Static_assert(SAMPLE_STATES <= 16, "sample_key() has four bits for them");

#define SAMPLE_TICK_NS 8192u /* starts are its multiples: what is finer is noise, a byte each */

#define SAMPLE_GC        0x01u /* Python's garbage collector ran */
#define SAMPLE_UNCERTAIN 0x02u /* the stack changed while it was read: inner frames may be wrong */
#define SAMPLE_HOLDER    0x04u /* it held the GIL that a launching thread waited for */
#define SAMPLE_CUT       0x08u /* outer frames are missing */

/* detail: of SYSCALL, IO, WAIT and SLEEP the number of the system call; of GIL the holder's thread id; of
 * RUNNABLE the name of the process that ran on its CPUs meanwhile. 0: not known. */
static inline uint64_t sample_b(enum sample_state state, uint8_t flags, uint32_t detail)
{
	return (uint64_t)detail << 16 | (uint64_t)flags << 8 | (uint64_t)state;
}
static inline enum sample_state sample_state(uint64_t b)
{
	return (b & 255) < SAMPLE_STATES ? (enum sample_state)(b & 255) : SAMPLE_NONE;
}
static inline uint8_t sample_flags(uint64_t b)
{
	return (uint8_t)(b >> 8);
}
static inline uint32_t sample_detail(uint64_t b)
{
	return (uint32_t)(b >> 16);
}

/* Did a GPU of the process work then? */
enum sample_gpu { SAMPLE_GPU_UNKNOWN /* or it has none */, SAMPLE_GPU_IDLE, SAMPLE_GPU_BUSY };

#define SAMPLE_KEY_BITS     11u
#define SAMPLE_ROLLED_OTHER 0u /* as name: of several stacks */

/* What tells rows of one stack apart. part: enum host_part + 1, of the step; 0: not known. */
struct sample_key {
	enum sample_state state;
	enum sample_gpu gpu;
	bool holder; /* SAMPLE_HOLDER */
	uint8_t part;
};

static inline uint32_t sample_key(struct sample_key k)
{
	return (uint32_t)k.state | (uint32_t)k.gpu << 4 | (uint32_t)k.holder << 6 |
	       (uint32_t)(k.part & 15) << 7;
}
/* holder: of GIL the holder's stack, of RUNNABLE the name of what ran instead, of the last such sample. */
static inline uint64_t sample_rolled(uint32_t key, uint64_t holder)
{
	return key | holder << SAMPLE_KEY_BITS;
}
static inline struct sample_key sample_rolled_key(uint64_t rolled)
{
	return (struct sample_key){ .state = (rolled & 15) < SAMPLE_STATES
						     ? (enum sample_state)(rolled & 15)
						     : SAMPLE_NONE,
				    .gpu = (rolled >> 4 & 3) <= SAMPLE_GPU_BUSY
						   ? (enum sample_gpu)(rolled >> 4 & 3)
						   : SAMPLE_GPU_UNKNOWN,
				    .holder = rolled >> 6 & 1,
				    .part = (uint8_t)(rolled >> 7 & 15) };
}
static inline uint32_t sample_rolled_holder(uint64_t rolled)
{
	return (uint32_t)(rolled >> SAMPLE_KEY_BITS);
}

const char *sample_state_word(enum sample_state s); /* "running"; "?" for none */

#define STACK_FRAMES_MAX 128u /* frames of a stored stack; outer ones are cut (SAMPLE_CUT) */

enum frame_kind { FRAME_PYTHON, FRAME_NATIVE, FRAME_TASK /* of asyncio */, FRAME_KINDS };

#define FRAME_USER    0x1u /* code of the program: in no site-packages and not the standard library */
#define FRAME_SCANNED 0x2u /* found by a scan of the stack for return addresses, not by unwinding */
#define FRAME_INLINE  0x4u /* inlined into the next one */

/* Ids of names are the store's. */
struct stack_frame {
	uint32_t name; /* the function */
	uint32_t
		file; /* Python: its path. Native: the source where known, of a library behind its name
			* ("libx.so:/src/x.c"); else the library or program */
	uint32_t line; /* 0: not known */
	uint8_t kind;  /* enum frame_kind */
	uint8_t flags;
};

/* A stack, innermost frame first. */
struct stack_row {
	uint32_t id;
	uint32_t n;
	const struct stack_frame *frame; /* borrowed */
};

/* The frame to blame: the innermost of the program's own Python code; without any, of its own native
 * code, of Python, of all. UINT32_MAX: there are none. */
uint32_t stack_blame(const struct stack_frame *f, uint32_t n);
