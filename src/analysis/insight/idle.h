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
 * Of the host's part, what the launching thread spent in a range or call that is known (input, a
 * compilation, ...) is that. While a thread waits for the GPU it could launch: without the wait it
 * would be ahead by so much, and each later gap in which it comes too late would be shorter, until
 * that lead is used up. So much of these gaps is due to the wait.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "names/class.h"

#define IDLE_LAG_NS 20000u /* from a call to the start of work that waits for nothing */
/* A launch takes 2 to 10 us, and 50 under a profiler; loading the code of a kernel on its first use
 * takes milliseconds. */
#define IDLE_FIRST_USE_NS 1000000u
/* A queue of the driver holds so many launches: no thread is further ahead. */
#define IDLE_QUEUE 1024u

/* Why a GPU was idle. The parts sum to its idle time. */
enum idle_cause {
	IDLE_INPUT,      /* the launching thread waited for its next batch */
	IDLE_SYNC,       /* it had waited for the GPU and had nothing queued behind */
	IDLE_HOST,       /* it was busy with something else before it launched */
	IDLE_LAUNCH,     /* launching itself: the call, and from the call to the start */
	IDLE_DEPENDENCY, /* launched in time, but waited for something that is not on this GPU */
	IDLE_OTHER,      /* the launch was not seen */
	IDLE_COMPILE,    /* the thread compiled, */
	IDLE_CHECKPOINT, /* wrote a checkpoint, */
	IDLE_GC,         /* collected garbage, */
	IDLE_ALLOC,      /* allocated memory of the device, */
	IDLE_CAPTURE,    /* captured a graph, */
	IDLE_WARM_UP,    /* loaded code, */
	IDLE_PROFILER,   /* served its profiler */
	IDLE_CAUSES,
};

extern const char *const idle_word[IDLE_CAUSES];

/* A time of a thread. */
struct insight_span {
	uint64_t start_ns, end_ns;
	uint32_t event;
	uint8_t cause; /* of marks: enum idle_cause */
};

/* Those of one thread, or of one process: in order, none begins before another ends. */
struct idle_spans {
	const struct insight_span *span; /* borrowed */
	size_t n;
};

/* The call that launched what ended a gap, and what its thread did. */
struct idle_launch {
	uint64_t start_ns, end_ns;
	struct idle_spans mark; /* of known causes */
	uint64_t lead_ns;       /* by how much it would be ahead without its waits */
};

/* The lead of the threads that launch a device's work. */
#define IDLE_THREADS 4u

struct idle_lead {
	uint64_t ns, begin_ns;  /* begin: of the first work */
	uint64_t works, earned; /* how much work came, and had when something was added */
	struct {
		uint32_t track; /* + 1 */
		uint64_t until_ns;
	} seen[IDLE_THREADS];
};

/* A piece of work comes. */
static inline void idle_lead_work(struct idle_lead *x, uint64_t start_ns)
{
	if (!x->works++)
		x->begin_ns = start_ns;
}

/* Adds the waits of a thread up to the gap from..to: a wait for a GPU that is idle brings nothing. */
void idle_lead_add(struct idle_lead *x, uint32_t track, struct idle_spans sync, uint64_t from_ns,
		   uint64_t to_ns);

/* A call that neither launches nor waits takes 10 us to 1 ms. The first one of a process sets the
 * device up, too, whatever its name is: once. What takes so long again does so by itself. */
#define IDLE_SET_UP_NS 10000000u

/* The cause that an event of a thread names by itself; IDLE_CAUSES: none. first_ns: how long it took
 * if no other of its name and thread took IDLE_SET_UP_NS before, else 0. */
enum idle_cause idle_mark(uint32_t kind, enum call call, enum range_kind range, uint64_t first_ns);
/* Adds one to the marks of a thread, of which the outer ones count. `call` tells where graphs are
 * captured: *capture is the begin of that + 1, 0: none. Room for one more is there. Returns how
 * many there are. */
size_t idle_mark_add(struct insight_span *mark, size_t n, struct insight_span s, enum call call,
		     uint64_t *capture);

/* Whether such a call waited for a GPU. */
bool idle_is_sync(uint32_t kind, enum call call);

/* The pieces of the gap from..to, in order. l is NULL: the launch was not seen. Returns how much of
 * the lead was used. */
typedef void idle_piece_fn(void *arg, enum idle_cause c, uint64_t from_ns, uint64_t to_ns);
uint64_t idle_walk(uint64_t from, uint64_t to, const struct idle_launch *l, idle_piece_fn *fn,
		   void *arg);
/* The parts of the gap from..to; they sum to its length. Returns what idle_walk() does. */
uint64_t idle_parts(uint64_t part[IDLE_CAUSES], uint64_t from, uint64_t to,
		    const struct idle_launch *l);
enum idle_cause idle_most(const uint64_t part[IDLE_CAUSES]); /* the cause of the longest part */

/* Where a gap begins if unsampled steps touch it: at the end of the last of them, because nothing
 * was recorded before. */
uint64_t idle_seen_from(struct idle_spans unsampled, uint64_t from, uint64_t to);
