/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - steps that have begun and not yet ended, by number.
 *
 * A thread has one step open, which another thread may end. Records of two threads are not read in
 * order of time, so an end may come before its begin, and then waits for it. Both are bounded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agg/open.h"

struct open_step {
	struct event ev; /* EVENT_NONE: free */
	uint32_t tid;
};

struct step_end {
	uint64_t number, ns; /* ns 0: free */
};

struct steps {
	struct open_step step[OPEN_STEPS];
	struct step_end ended[OPEN_STEPS]; /* before their begin was read */
	uint64_t count;                    /* of both */
};

/* As those of open.h. */
int steps_begin(struct steps *s, uint32_t tid, const struct event *ev, struct event *out);
int steps_end(struct steps *s, uint32_t tid, uint64_t number, uint64_t now_ns, struct event *out);
/* Ends older than that have waited in vain: how many. */
uint64_t steps_give_up(struct steps *s, uint64_t before_ns);
/* One that is open, ended at end_ns; false: there is none. */
bool steps_take(struct steps *s, uint64_t end_ns, struct event *out);

/* Clocks of two threads may differ a little: no range is shorter than nothing. */
static inline void end_at(struct event *ev, uint64_t now_ns, uint8_t flags)
{
	ev->dur_ns = now_ns > ev->start_ns ? now_ns - ev->start_ns : 0;
	ev->flags = flags;
}
