/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.h - after a hang alarm: where the job's ranks on this node stand.
 *
 * aon-stacks reads the stacks, as a process of its own, one at a time; its result goes into the
 * journal, a line for each group of ranks that stand at the same place. The loop never waits for
 * it.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "daemon/core/loop.h"

#define STACKS_AFTER_NS 2000000000ull  /* for the other ranks of the job to hang, too */
#define STACKS_LIFE_NS  10000000000ull /* then it is killed */
#define STACKS_QUIET_NS 60000000000ull /* of a job */
#define STACKS_RANKS    256u
#define STACKS_FRAMES   4096u /* bytes of a group that are kept */
#define STACKS_LINES    16u   /* groups of one hang that are reported */

/* Of the ranks that a session leads. */
struct stacks_due {
	uint64_t at_ns;   /* 0: none are due */
	uint64_t next_ns; /* not again before */
};

struct stacks {
	struct loop *loop; /* borrowed */
	struct watch out;  /* fd owned: what it says; -1: it is not running, or has said all */
	pid_t pid;         /* 0: none */
	uint64_t until_ns;
	uint64_t leader; /* id of the session that speaks for the job */
	char text[32768];
	size_t n;
};

struct roster;
struct sess;

void stacks_init(struct stacks *st, struct loop *l);
void stacks_fini(struct stacks *st); /* kills it, if it runs */

/* A hang of `s` was reported: its job's stacks are due. */
void stacks_want(struct sess *s, uint64_t now_ns);
/* Every second: begins what is due, ends what takes too long. */
void stacks_tick(struct roster *r, uint64_t now_ns);
