/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.h - open ranges and steps of a session: ranges on the stacks of threads, started ranges by
 * id, steps by number.
 *
 * Each of them is one record, counted by open_count() until it leaves as an event. All is bounded:
 * above a bound the oldest leaves early, as an event with EVENT_OPEN. A push that finds its stack
 * full is refused, and so is its pop.
 *
 * The calls that take a record return 1: *out is an event; 0: no event now; or minus the
 * AON_LOSS_* by which the record is lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

#define OPEN_DEPTH   256u   /* pushed ranges on one thread */
#define OPEN_PUSHED  65536u /* on all threads, with those that wait to leave */
#define OPEN_STARTED 4096u
#define OPEN_EARLY   4096u /* ends that were read before their starts */
#define OPEN_STEPS   64u
#define OPEN_THREADS 16384u

#define OPEN_EARLY_NS 5000000000ull /* how long such an end waits */

struct open;

struct open_thread {
	uint32_t track; /* the caller's: 0 on a new thread */
	uint32_t tid;
	uint32_t top; /* innermost pushed range, 0: none */
	uint32_t depth;
	uint64_t refused; /* pushes above `top` that were refused and not yet popped */
	uint64_t last_ns; /* the caller's: when the thread was last seen */
};

int open_new(struct open **out);
void open_free(struct open *o);

uint64_t open_count(const struct open *o);
/* Whether a range is open whose name `is` accepts. Checks each range: not for every event. */
bool open_any(const struct open *o, bool (*is)(void *arg, uint32_t name), void *arg);

/* The thread, new if need be; valid until the next call. The one unused for longest makes
 * room: its ranges leave through open_flush(). */
struct open_thread *open_thread(struct open *o, uint32_t tid);

/* `ev` is whole but for its dur_ns, depth and flags. A push of EVENT_NONE is lost as invalid
 * and so is its pop, but it nests: what it encloses keeps its right end. */
int open_push(struct open *o, struct open_thread *t, const struct event *ev);
/* How many later ones the innermost range of this name has inside; all, if there is none. */
uint32_t open_above(const struct open *o, const struct open_thread *t, uint32_t name);
/* `above`: how many later ones stay open. */
int open_pop(struct open *o, struct open_thread *t, uint32_t above, uint64_t now_ns,
	     struct event *out);

/* Records of two threads are not read in order of time: an end may come before its start, and waits
 * for it. open_given_up() returns, once, how many have waited in vain: unmatched. */
int open_start(struct open *o, const struct event *ev, struct event *out);
int open_end(struct open *o, uint64_t id, uint64_t now_ns, struct event *out);
uint64_t open_given_up(struct open *o);

/* A thread has one step open; it may be ended by another thread, whose end may be read first and
 * waits, too. */
int open_step_begin(struct open *o, uint32_t tid, const struct event *ev, struct event *out);
int open_step_end(struct open *o, uint32_t tid, uint64_t number, uint64_t now_ns,
		  struct event *out);

/* Events of what was pushed out of a bound: up to `max`. */
size_t open_flush(struct open *o, struct event *out, size_t max);
/* The same, after everything that is open was ended at end_ns. */
size_t open_close(struct open *o, uint64_t end_ns, struct event *out, size_t max);
