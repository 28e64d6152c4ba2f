/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h - the records of a process's steps (agg/stepper.h): what names mean, who the process is,
 * and the way to the store. All of the drain thread.
 */
#ifndef AON_DAEMON_RECORDER_H
#define AON_DAEMON_RECORDER_H

#include "agg/stepper.h"

struct names;
struct stream;

#define RECORDER_LATE_NS 1000000000ull /* CUPTI's buffers are flushed within it */

/* What names of the store mean, for all processes; names_max of them at most. */
struct recorder_names {
	struct step_names means;
	struct names *names; /* owned */
	uint32_t max;
};

int recorder_names_init(struct recorder_names *n, uint32_t max);
void recorder_names_fini(struct recorder_names *n);
void recorder_name(struct recorder_names *n, uint32_t id, const char *text);

/* Makes the records of steps that ended before, and hands them over. */
void recorder_make(struct stream *s, uint64_t before_ns);
/* The process stands still: what is seen of the step that does not end. */
void recorder_hang(struct stream *s, uint64_t now_ns, bool gone);

#endif /* AON_DAEMON_RECORDER_H */
