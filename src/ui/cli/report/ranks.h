/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.h - compares the ranks of a job, from one or several stores.
 *
 * Collectives are matched by their number in their group. All ranks leave one together, so the rank
 * that was in it for the shortest time came last, that time is the transfer, and the additional
 * time of the others is waiting. No clocks are compared: the stores may be of several nodes. Only
 * collectives in steps count, without the first step: ranks do not start together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insight/offset.h"
#include "read/procs.h"
#include "model/process.h"
#include "store/store.h"

struct rank_step {
	uint64_t number, start_ns, end_ns;
};

struct rank {
	struct process p;
	uint64_t steps, p50_ns, mean_ns;
	uint64_t comm_ns, wait_ns, late_ns, data_ns; /* a step; late: waiting for the slow rank */
	uint64_t last;                               /* collectives it came last to */
	struct rank_step *step;                      /* owned, by number */
	size_t held, step_cap;                       /* steps whose events are still there */
	uint32_t store;                              /* which of them it is from: its node */
	struct offset clock;                         /* that node's, against the first one's */
};

struct ranks {
	struct rank *r; /* owned, by rank */
	size_t n, cap;
	struct wait_share *share; /* owned */
	size_t shares, share_cap;
	uint64_t matched;   /* collectives that all of their group have */
	size_t late;        /* the rank that is waited for most; if matched > 0 */
	uint64_t common;    /* steps that all ranks have */
	uint64_t spread_ns; /* of their ends, p50; where all ranks have */
	uint32_t stores;
	bool one_clock; /* or clocks whose differences are known */
};

/* Adds those of `ps` that are ranks of its first job and run: the latest of a store. */
int ranks_add(struct ranks *rs, struct store *st, const struct procs *ps);
/* When all were added: sorts and compares. */
int ranks_compare(struct ranks *rs);
void ranks_fini(struct ranks *rs);
