/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - a decoded record: what happened, where, when. Data only.
 *
 * Times are nanoseconds of the node's CLOCK_MONOTONIC (struct process holds the offset to
 * wall time). Names, geometries, tracks and processes are ids of the store they live in.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum event_kind {
	EVENT_NONE = 0,
#define EVENT(num, NAME, word, has) EVENT_##NAME = num,
#include "model/event.tbl.h"
	EVENT_MAX = 32,
};

#define EVENT_OPEN      0x01u /* RANGE, STEP: its end was never seen; dur runs to the last sight */
#define EVENT_FLOAT     0x02u /* COUNTER: `a` holds the bits of a double */
#define EVENT_ONE       0x04u /* STEP: of one record, which a probe wrote at its end */
#define EVENT_UNSAMPLED 0x08u /* STEP: unsampled, only its ranges were recorded (abi/trial.h) */
/* COPY: direction in the high nibble, as AON_COPY_* of provider.h */
#define EVENT_COPY_SHIFT 4u

struct event {
	uint64_t start_ns;
	uint64_t dur_ns; /* 0 for a moment */
	uint64_t a;      /* see event.tbl.h */
	uint64_t b;
	uint32_t name; /* 0: none */
	uint32_t corr; /* correlation id, or MARK's x */
	uint32_t track;
	uint8_t kind;
	uint8_t flags;
	uint16_t depth; /* RANGE: how many ranges enclose it on its track */
};

_Static_assert(sizeof(struct event) == 48, "batches of events are sized by this");

/* "?": none of ours. */
static inline const char *event_word(uint32_t kind)
{
	static const char *const word[EVENT_MAX] = {
#define EVENT(num, NAME, text, has) [num] = text,
#include "model/event.tbl.h"
	};

	return kind < EVENT_MAX && word[kind] ? word[kind] : "?";
}

/* How many records went into an event, for the accounting. */
static inline uint32_t event_records(const struct event *e)
{
	return (e->kind == EVENT_RANGE || e->kind == EVENT_STEP) &&
			       !(e->flags & (EVENT_OPEN | EVENT_ONE))
		       ? 2
		       : 1;
}
