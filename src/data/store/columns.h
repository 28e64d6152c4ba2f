/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - the columns of an event blob: what encoder, packer and decoder agree on.
 *
 * The body is a list of columns, each
 *
 *	id u8, codec u8, raw length varint, stored length varint, stored bytes
 *
 * in any order; an empty column is omitted, and one with an unknown id is skipped.
 * Every event but a sample has a byte in TAG, GAP0 and DUR0, a varint in NAME and A, and more where its
 * tag says so. A time or duration is a folded difference of which the first seven bits go to
 * the column ..0, the next seven to ..1 and the rest to ..2: jitter in the low bits, which
 * nothing can compress, then does not spoil the statistics of the high ones.
 *
 * Both ends keep the same struct column_state and move it on after each event:
 *
 *	GAP   start minus the end of the track's last event (a range that encloses the last one,
 *	      and a step: its end minus that end). A track's first: the last event's end.
 *	DUR   minus the last duration of the same name and, for GPU work, the same A
 *	CORR  minus the track's last one
 *	A     GPU work: as it is. Else minus the last A of the same name.
 *	B     minus the last B
 *	TRACK  minus the last track
 *
 * Samples (model/sample.h) have columns and predictions of their own, so that they and the other events
 * do not disturb each other, and who does not ask for samples does not unpack them. Their flags, depth
 * and corr are not stored: they are 0.
 *
 *	S_TICK   start in ticks, minus the end of the track's last sample: the first seven bits in ..0,
 *	         the rest in ..1. A track's first: the last sample's end.
 *	S_DUR    minus that of the last sample
 *	S_A S_B  minus those of the last sample of the same name
 *	S_TRACK  minus the last sample's
 *
 * Tables are indexed by low bits without a check: two tracks or names that share a slot
 * predict each other badly, at both ends alike, which costs only bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/event.h"
#include "model/sample.h"

/* Numbers are on disk: never reused. WIDTH: bytes that one event may need. */
#define COLUMNS(X)        \
	X(0, TAG, 1)      \
	X(1, GAP0, 1)     \
	X(2, GAP1, 1)     \
	X(3, GAP2, 8)     \
	X(4, DUR0, 1)     \
	X(5, DUR1, 1)     \
	X(6, DUR2, 8)     \
	X(7, CORR, 5)     \
	X(8, NAME, 5)     \
	X(9, A, 10)       \
	X(10, B, 10)      \
	X(11, TRACK, 5)   \
	X(12, FLAGS, 1)   \
	X(13, DEPTH, 3)   \
	X(14, S_TICK0, 1) \
	X(15, S_TICK1, 9) \
	X(16, S_DUR, 10)  \
	X(17, S_NAME, 5)  \
	X(18, S_A, 10)    \
	X(19, S_B, 10)    \
	X(20, S_TRACK, 5)

enum column {
#define X(num, NAME, width) COL_##NAME = num,
	COLUMNS(X)
#undef X
		COLS,
};

#define X(num, NAME, width) +(width)
enum { COLUMNS_WIDTH = 0 COLUMNS(X) }; /* bytes that one event may need, in all */
#undef X

enum column_codec { CODEC_RAW = 0, CODEC_CONST = 1, CODEC_ZSTD = 2 };

/* TAG: the kind in the low bits, and which rarer columns the event has. */
#define TAG_KIND  0x1fu
#define TAG_TRACK 0x20u /* not the last event's track: TRACK */
#define TAG_EXTRA 0x40u /* FLAGS, DEPTH, B */
#define TAG_CORR  0x80u /* not the track's last correlation: CORR */

_Static_assert(EVENT_MAX <= TAG_KIND + 1, "every kind fits a tag");

#define STATE_TRACKS 256u
#define STATE_DURS   4096u
#define STATE_NAMES  256u

struct column_track {
	uint64_t end_ns; /* of its last event; 0: none yet */
	uint32_t corr;
	uint16_t depth;
	uint16_t reserved;
};

struct column_samples {
	uint64_t end_ns[STATE_TRACKS]; /* of the track's last one; 0: none yet */
	uint64_t a[STATE_NAMES], b[STATE_NAMES];
	uint64_t last_ns; /* end of the last one */
	uint64_t dur_ns;
	uint32_t track;
	uint32_t reserved;
};

/* The tick at which a sample of that track is expected. */
static inline uint64_t column_tick(const struct column_samples *s, uint32_t track)
{
	uint64_t end_ns = s->end_ns[track % STATE_TRACKS];

	return (end_ns ? end_ns : s->last_ns) / SAMPLE_TICK_NS;
}

struct column_state {
	uint64_t end_ns; /* of the last event on any track */
	uint64_t b;
	uint32_t track;
	uint32_t reserved;
	struct column_track tracks[STATE_TRACKS];
	uint64_t a[STATE_NAMES]; /* last A of a name, for what is not GPU work */
	uint32_t dur[STATE_DURS];
	struct column_samples samples;
};

static inline bool column_gpu(uint32_t kind)
{
	return kind >= EVENT_KERNEL;
}

/* The slot of "same name and A". */
static inline uint32_t column_dur(uint32_t kind, uint32_t name, uint64_t a)
{
	uint32_t x = name * 0x9e3779b1u;

	if (column_gpu(kind))
		x ^= (uint32_t)a * 0x85ebca6bu;
	return x >> 20;
}

/* Is the event's end, and not its start, what follows the track's last end? */
static inline bool column_from_end(const struct column_track *l, uint32_t kind, uint32_t depth)
{
	return kind == EVENT_STEP || (kind == EVENT_RANGE && depth < l->depth);
}
