/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - one process cannot hold the sampler.
 *
 * To read a page of another process can take as long as that process likes: a page may be made by a
 * program (userfaultfd, FUSE), and whoever reads it waits in the kernel, where only a signal that
 * kills ends it. So a worker samples, and a parent waits for it. A worker whose look hangs is killed
 * by its own alarm; the parent starts the next one, which goes on with what they share: the
 * connection, the list of threads, the numbers of stacks and the sums. The process that it hung in
 * is left alone for a while, twice as long each time.
 */
#pragma once

#include <stdbool.h>

#include "sample/wire.h"

#define GUARD_LOOK_NS 200000000ull /* a look that takes longer is given up, and its process rests */
#define GUARD_HUNG_NS 1000000000ull /* a worker that is killed in so long a look hung in it */
#define GUARD_STUCK_S 3
#define GUARD_SLOW    64u

struct guard_slow {
	uint32_t pid;
	uint64_t until_ns, wait_ns;
};

/* What workers leave to the next one, in memory that all of them share. */
struct look_guard {
	uint32_t pid; /* whose memory is looked at now; 0: nobody's */
	uint64_t since_ns;
	struct guard_slow slow[GUARD_SLOW];
	uint32_t slows;
	uint32_t stacks; /* numbers that are given away */
	uint64_t cpu_ns; /* of workers that are gone */
	uint64_t samples, missed;
	uint32_t permille; /* of a CPU, as aond says; UINT32_MAX: it has not */
	uint32_t targets;
	struct swire_target target[SWIRE_TARGETS];
};

struct look_guard *guard_new(bool shared); /* NULL: no memory */
void guard_free(struct look_guard *g);

void guard_begin(struct look_guard *g, uint32_t pid, uint64_t now_ns);
void guard_end(struct look_guard *g);
/* Its memory takes too long: it is left alone for a while. hung: it has cost a worker. */
void guard_slow(struct look_guard *g, uint32_t pid, uint64_t now_ns, bool hung);
bool guard_rests(const struct look_guard *g, uint32_t pid, uint64_t now_ns);

/* Runs work(g, arg) in a child, again and again while one hangs. Returns what it returned. */
int guard_run(struct look_guard *g, int (*work)(struct look_guard *g, void *arg), void *arg);
