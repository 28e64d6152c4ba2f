/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_recorder.h - writes the records of a process's steps (agg/stepper.h) to the store: the
 * meaning of names, the identity of the process. Used by the drain thread only.
 */
#pragma once

#include "agg/stepper.h"

struct names;
struct parts;
struct stream;

#define RECORDER_LATE_NS 1000000000ull /* CUPTI's buffers are flushed within it */

/* The meaning of the store's names, for all processes; names_max of them at most. */
struct recorder_names {
	struct step_names means;
	struct names *names; /* these two owned */
	struct parts *parts;
	uint32_t max;
};

int recorder_names_init(struct recorder_names *n, uint32_t max);
void recorder_names_fini(struct recorder_names *n);
void recorder_name(struct recorder_names *n, uint32_t id, const char *text);

/* Makes the records of steps that ended before, and hands them over. */
void recorder_make(struct stream *s, uint64_t before_ns);
/* The process hangs: writes a partial record of the step that does not end. */
void recorder_hang(struct stream *s, uint64_t now_ns);

/*
 * A rank that has ended, and its unfinished step. If other ranks of its job hang later, it is
 * reported; otherwise it is forgotten. One ring of them, of all users.
 */
#define RECORDER_GONE 32u
struct recorder_gone {
	uint64_t job;
	uint32_t uid, rank, process;
	uint32_t len; /* 0: nobody */
	uint64_t begin_ns, end_ns;
	uint8_t rec[STEP_MAX];
};
struct recorder_gones {
	struct recorder_gone gone[RECORDER_GONE];
	uint32_t next;
};
/* The rank has ended: keeps what is known of its last step. */
void recorder_ended(struct recorder_gones *g, struct stream *s, uint64_t now_ns);
/* A rank of their job hangs: reports them. */
void recorder_tell_gone(struct recorder_gones *g, const struct stream *s);
/* A rank has joined: forgets its predecessor. */
void recorder_came(struct recorder_gones *g, const struct stream *s);
