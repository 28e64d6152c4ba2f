/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.h - a process that ran out of memory: what held it, since when it grew, what would fit.
 *
 * The facts are the table that the process has written (abi/memory.h), its cgroup, and its resident memory. The kernel
 * does not say how a process that is not our child ended: it was killed for want of memory if its cgroup has counted
 * one more such kill, and it has not ended by itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/memory.h"
#include "ident/memcg.h"
#include "model/entry.h"

struct sess;
struct roster;

/* Of one process. */
struct sess_oom {
	struct memcg group;
	uint64_t kills;                      /* in its cgroup, of others */
	uint64_t limit;                      /* bytes; 0: none */
	uint64_t rss, rss_at;                /* the last that was seen, and the first */
	uint64_t outside;                    /* its own memory that is not in tensors, at most */
	uint64_t fails[AON_MEMORY_SPACES];   /* that were reported, */
	uint64_t fail_ns[AON_MEMORY_SPACES]; /* and since when there is another */
};

void oom_joined(struct sess *s);
void oom_tick(struct sess *s, uint64_t now_ns);
void oom_ended(struct sess *s, uint64_t now_ns); /* the process is gone */

/* --- what the table tells: pure --- */

struct oom_facts {
	uint64_t limit, rss, rss_at, outside; /* 0: not known */
	bool killed;
	bool caught;
};

/* The site that the words are about, and the growth of all that grow with it. */
struct oom_site {
	uint32_t site;          /* 0: none */
	uint64_t held;          /* by all */
	uint64_t growth, since; /* bytes a step, from that step on; growth 0: it does not grow */
};

struct oom_site oom_site(const struct aon_memory *m, enum aon_memory_space space);
/* The largest batch that would have fitted; 0: not known. */
uint64_t oom_fits(const struct aon_memory *m, enum aon_memory_space space,
		  const struct oom_facts *f);
/* What one site holds. */
void oom_put_site(struct journal_entry *e, const struct aon_memory *m,
		  const struct aon_memory_site *s);
/* The fields of an entry of kind OOM_KILLED or OOM_FAILED; texts are borrowed from *m. */
void oom_entry(struct journal_entry *e, const struct aon_memory *m, enum aon_memory_space space,
	       const struct oom_facts *f);
