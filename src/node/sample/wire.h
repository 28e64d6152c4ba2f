/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - what aond and aon-sample say to each other, over a SOCK_SEQPACKET socket; a message is
 * one frame, little endian.
 *
 *	head     magic u32 "AONs", type u8, version u8, count u16
 *	to aon-sample
 *	TARGETS  count x { pid u32, tid u32, centihertz u32, 0 u32 }: all threads to sample from now
 *	         on; pid and tid are those of aond's PID namespace. Replaces the last list.
 *	BUDGET   { permille u32: of a CPU that it may use, 0: any, at most 1000; 0 u32 }
 *	to aond
 *	STACK    id u32, then count frames, innermost first: { kind u8, flags u8, name's length u16,
 *	         file's length u16, 0 u16, line u32, both texts }
 *	         Ids count up from 1: each is sent once, before the first sample that uses it.
 *	SAMPLES  count x { t_ns u64 (CLOCK_MONOTONIC), pid u32, tid u32, stack u32 (0: none),
 *	         centihertz u32 (the rate it was taken at), blame u32, state u8, flags u8, 0 u16,
 *	         detail u32, 0 u32 }
 *	         blame: index of the frame of its stack that is to blame, UINT32_MAX: none.
 *	STATUS   { cpu_ns u64 used so far, samples u64, missed u64 (ticks that came too late or could
 *	         not be read), reason: the rest, a text: why some cannot be sampled; "": all can }
 *
 * Neither side believes the other: swire_read() looks at a whole message before its parts are used.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/sample.h"

#define SWIRE_MAGIC   0x734e4f41u /* "AONs" */
#define SWIRE_VERSION 1u
#define SWIRE_BYTES   65536u /* of the longest message */
#define SWIRE_TARGETS 1024u  /* threads of one list */
#define SWIRE_STACKS  65536u /* stacks of one connection */
#define SWIRE_TEXT    511u   /* bytes of a name or a file */
#define SWIRE_REASON  255u
#define SWIRE_HZ_MAX  1000u

enum swire_type {
	SWIRE_TARGETS_OF = 1,
	SWIRE_STACK,
	SWIRE_SAMPLES,
	SWIRE_STATUS,
	SWIRE_BUDGET,
	SWIRE_TYPES
};

struct swire_target {
	uint32_t pid, tid, centihertz, zero;
};

struct swire_sample {
	uint64_t t_ns;
	uint32_t pid, tid, stack, centihertz, blame;
	uint8_t state, flags;
	uint16_t zero;
	uint32_t detail, zero2;
};

_Static_assert(sizeof(struct swire_target) == 16 && sizeof(struct swire_sample) == 40,
	       "both are on the wire as they are");

struct swire_frame {
	uint8_t kind, flags;
	uint32_t line;
	const char *name, *file; /* borrowed, not ended by NUL */
	uint16_t name_len, file_len;
};

struct swire_status {
	uint64_t cpu_ns, samples, missed;
	const char *reason; /* borrowed */
	size_t reason_len;
};

/* The frame to blame: the innermost of the program's own code, in Python if there is any; without, of
 * Python, else of all. */
uint32_t swire_blame(const struct swire_frame *f, size_t n);

/* Gets what a message says. Any may be NULL. Not 0: reading ends with that. */
struct swire_fns {
	int (*targets)(void *arg, const struct swire_target *t, size_t n);
	int (*stack)(void *arg, uint32_t id, const struct swire_frame *f, size_t n);
	int (*samples)(void *arg, const struct swire_sample *s, size_t n);
	int (*status)(void *arg, const struct swire_status *s);
	int (*budget)(void *arg, uint32_t permille);
};

/* Checks a message of `n` bytes as a whole, then hands it on. `msg` is aligned to 8 bytes. -EBADMSG: it
 * lies; else what the function returned. */
int swire_read(const void *msg, size_t n, const struct swire_fns *fns, void *arg);

/* Writers fill `out` (SWIRE_BYTES) and return the length, or -EMSGSIZE. */
int swire_put_targets(void *out, const struct swire_target *t, size_t n);
int swire_put_stack(void *out, uint32_t id, const struct swire_frame *f, size_t n);
int swire_put_samples(void *out, const struct swire_sample *s, size_t n);
int swire_put_status(void *out, const struct swire_status *s);
int swire_put_budget(void *out, uint32_t permille);
