/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.h - why a GPU was idle: the one rule, for reports, findings and timelines. Pure.
 *
 * A gap is judged by the call that launched what ended the gap:
 *
 *	   gap begins     the call        the call ends    gap ends: the work starts
 *	   |--- host -----|---- launch ---+-- LAG -|------ dependency ------|
 *	   |--- launch, or dependency if longer than LAG: called before the gap began ---|
 *
 * Of the host's part, what the launching thread spent on input is input. If the GPU ran dry
 * while that thread waited for the GPU, the thread could have used the wait to launch: so much of
 * the rest, and no more than it waited, is due to the wait.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "names/class.h"

#define IDLE_LAG_NS 20000u /* from a call to the start of work that waits for nothing */

/* Why a GPU was idle. The parts sum to its idle time. */
enum idle_cause {
	IDLE_INPUT,      /* the launching thread waited for its next batch */
	IDLE_SYNC,       /* it had waited for the GPU and had nothing queued behind */
	IDLE_HOST,       /* it was busy with something else before it launched */
	IDLE_LAUNCH,     /* launching itself: the call, and from the call to the start */
	IDLE_DEPENDENCY, /* launched in time, but waited for something that is not on this GPU */
	IDLE_OTHER,      /* the launch was not seen */
	IDLE_CAUSES,
};

extern const char *const idle_word[IDLE_CAUSES];

/* A time of a thread. */
struct insight_span {
	uint64_t start_ns, end_ns;
	uint32_t event;
};

/* Those of one thread, or of one process: in order, none begins before another ends. */
struct idle_spans {
	const struct insight_span *span; /* borrowed */
	size_t n;
};

/* The call that launched what ended a gap, and what its thread did. */
struct idle_launch {
	uint64_t start_ns, end_ns;
	struct idle_spans sync, input;
};

/* Whether such a call waited for a GPU. */
bool idle_is_sync(uint32_t kind, enum call call);

/* The pieces of the gap from..to, in order. l is NULL: the launch was not seen. */
typedef void idle_piece_fn(void *arg, enum idle_cause c, uint64_t from_ns, uint64_t to_ns);
void idle_walk(uint64_t from, uint64_t to, const struct idle_launch *l, idle_piece_fn *fn,
	       void *arg);
/* The parts of the gap from..to; they sum to its length. l is NULL: the launch was not seen. */
void idle_parts(uint64_t part[IDLE_CAUSES], uint64_t from, uint64_t to,
		const struct idle_launch *l);
enum idle_cause idle_most(const uint64_t part[IDLE_CAUSES]); /* the cause of the longest part */

/* Where a gap begins if unsampled steps touch it: at the end of the last of them, because nothing
 * was recorded before. */
uint64_t idle_seen_from(struct idle_spans unsampled, uint64_t from, uint64_t to);
