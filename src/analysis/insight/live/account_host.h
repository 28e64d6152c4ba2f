/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account_host.h - where the time of a process without a GPU goes: of the thread that has its steps,
 * else of its first thread. Pure.
 *
 * The base is the time from the first step to the last (the first of many steps is left out: it has
 * what is done once), without unsampled steps; of a process without steps, all that was seen of the
 * thread. Each nanosecond of the base is in one part by the innermost range that tells a part
 * (names/part.tbl.h). Samples split each part by state, and what is in no range by their stacks:
 *
 *	range DataLoader ... ---+
 *	no range ---------------+--> part --(samples in it: state, stack)--> cause
 *
 * So causes sum to the base exactly, and a cause that no sample splits is as exact as its range.
 */
#pragma once

#include "insight/insight.h"

/* Causes of work: no cost as such. */
#define HOST_WORK                                                                   \
	(1u << ACCOUNT_FORWARD | 1u << ACCOUNT_BACKWARD | 1u << ACCOUNT_OPTIMIZER | \
	 1u << ACCOUNT_COMPUTE)

#define HOST_QUARTERS 4u /* of the steps of the base, in order */
#define HOST_HITS     16u

/* Samples that are alike. */
struct host_sample {
	uint32_t stack, holder; /* as of struct sample_row */
	uint32_t range;         /* name of the innermost range that tells no part; 0: none */
	uint32_t
		called; /* name of a function that compiled code called on another thread then; 0: none */
	uint8_t part; /* enum host_part by ranges; HOST_PARTS: none tells */
	uint8_t state, flags;
	bool in_collective; /* one of the process was under way */
	bool writes;        /* it was in write() */
	uint8_t cause;      /* set at the end */
	uint64_t count;
	double ns, ns2;
	double quarter[HOST_QUARTERS]; /* ns, by when */
	uint64_t hit[HOST_HITS];       /* bits of the steps that it was seen in, by their hash */
};

struct host_range {
	uint32_t name;
	uint64_t ns; /* as the innermost, of ranges that tell no part */
};

struct host_account {
	uint32_t process, track;  /* track UINT32_MAX: the process has no thread that was seen */
	struct insight_device on; /* the thread as a device: rank, account */
	uint64_t part_ns[HOST_PARTS + 1]; /* by ranges; the last: in none */
	uint64_t window_ns[HOST_PARTS + 1], op_ns[HOST_PARTS + 1]; /* of steps with operators */
	uint64_t ops[HOST_PARTS + 1];    /* outermost operators, by part */
	uint64_t windows;                /* steps that had any */
	double error_ns[ACCOUNT_CAUSES]; /* standard error, of what rests on samples */
	uint64_t count[ACCOUNT_CAUSES];  /* samples */
	uint64_t samples;
	uint64_t comm_ns[HOST_PARTS + 1];             /* by part: it only communicates */
	uint64_t comms, comm_all_ns, comm_longest_ns; /* collectives of all its threads */
	uint32_t comm_name;                           /* of the longest */
	uint64_t holders;   /* samples of threads that held the GIL meanwhile */
	uint64_t workers;   /* of its DataLoader, that were seen; fetches of its own: 0 workers */
	uint64_t fetches;   /* on this thread */
	uint64_t works_for; /* pid of the process whose DataLoader's worker this is; 0: none */
	uint64_t quarter_ns[HOST_QUARTERS], quarter_steps[HOST_QUARTERS];
	struct host_sample *row; /* owned */
	size_t rows;
	struct host_range *range; /* owned, the longest first */
	size_t ranges;
	struct host_live *x; /* of account_host.c while it is built */
};

void host_accounts_fini(struct host_accounts *a);

/* How many steps are in these bits. */
double host_hit_steps(const uint64_t hit[HOST_HITS]);

/* What rows of these causes (bits) blame most: as samples_blame() does. samples_fini() it. */
int host_blame(struct samples_sum *out, const struct insight *in, const struct host_account *a,
	       uint32_t causes);
