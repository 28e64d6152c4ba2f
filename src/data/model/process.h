/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - a recorded process, its tracks, and the account of its records. Data only. */
#pragma once

#include <stdint.h>

#define ACCOUNT_LOSSES 16u /* by reason; numbers of abi/loss.tbl.h */

/* emitted = stored + sum(lost) + overwritten + in_flight, always. Counted in records. */
struct account {
	uint64_t emitted;
	uint64_t stored;      /* of these, `overwritten` were aged out since */
	uint64_t overwritten; /* by the flight recorder's cap; `stored` no longer has them */
	uint64_t in_flight;
	uint64_t lost[ACCOUNT_LOSSES];
	uint64_t untold;  /* lost for an unknown reason; only in a cluster */
	uint64_t samples; /* of `emitted`: taken from outside, so that no pool ever had them */
};

static inline uint64_t account_lost(const struct account *a)
{
	uint64_t sum = a->untold;

	for (uint32_t i = 0; i < ACCOUNT_LOSSES; i++)
		sum += a->lost[i];
	return sum;
}

enum tier { TIER_OFF, TIER_HEARTBEAT, TIER_ROLLUP, TIER_FLIGHT, TIER_FULL };

/*
 * The origin of an imported process, and how its file was read. Everything except rank and world is
 * 0 for a process that aon recorded itself. The path is in the process's exe, the damage in its
 * note.
 */
struct origin {
	uint32_t file;    /* which of the import, from 1; 0: none */
	uint32_t rank;    /* + 1; 0: not known */
	uint32_t world;   /* ranks of the job; 0: not said */
	uint32_t tick_ns; /* resolution of its times */
	/* The file's rows; in the first process of a file alone. */
	uint64_t rows, imported, left, lost, mended;
	uint64_t broke_at; /* + 1; 0: whole */
};

/*
 * The cost of recording at the last look, in millionths of the time of a step. All 0: never
 * measured. Slowdowns are the current cost: that of a recorded step times the share of steps that
 * are recorded.
 */
struct overhead {
	uint64_t pairs;            /* compared blocks of steps, recorded and unsampled */
	int32_t lo, mid, hi;       /* slowdown: 95 % interval, estimate; of typical steps */
	int32_t mean;              /* the same of mean ones: rare long steps, too */
	uint32_t accounted;        /* records x the cost of one: only a part, but immediate */
	uint32_t budget;           /* 0: no limit */
	uint32_t fidelity;         /* fidelity level; 0: everything is recorded */
	uint32_t moves;            /* between them */
	uint64_t steps, unsampled; /* all steps, and the unsampled ones; by launches: time slots */
	uint32_t by;               /* OVERHEAD_BY_*: what was measured */
	uint32_t emit_ps;          /* calibrated cost of a record; 0: unknown */
	uint32_t residual;         /* estimated residual overhead: included in lo, mid and hi */
};

enum { OVERHEAD_BY_STEPS, OVERHEAD_BY_LAUNCHES, OVERHEAD_BYS };

/* The best known value: measured, else accounted. */
static inline int64_t overhead_share(const struct overhead *o)
{
	return o->pairs ? o->mid : (int64_t)o->accounted;
}

/* The identity of a process in the cluster; see ident.tbl.h. */
struct ident {
#define IDENT(name, bytes, what, who) char name[bytes];
#include "model/ident.tbl.h"
};

struct process {
	uint32_t id; /* in the store */
	uint32_t pid;
	uint64_t pid_start; /* clock ticks since boot: with boot_id and pid, the identity */
	uint64_t boot_id[2];
	uint64_t pool_id[2];
	uint32_t uid;
	uint32_t gid;
	uint32_t tier;          /* enum tier */
	uint32_t connected;     /* 1 while it has a session */
	uint64_t first_ns;      /* joined */
	uint64_t last_ns;       /* last heard of */
	int64_t wall_offset_ns; /* add to CLOCK_MONOTONIC for wall time */
	char comm[16];
	char exe[256];
	char run[16]; /* label of `aon run`, may be empty */
	char library[32];
	char note[160]; /* last note of its probes: "cuda off: no driver" */
	struct account account;
	struct origin origin;
	uint32_t local_rank; /* + 1; 0: not known */
	uint32_t parent;     /* pid of the process that started it; 0: not known */
	char job[48];        /* as its environment says, may be empty */
	char node[32];       /* the same, else the machine's; of a rank or job alone */
	struct overhead overhead;
	struct ident ident;
};

#define TRACK_HOST 0xffffffffu

struct track {
	uint32_t id; /* in the store */
	uint32_t process;
	uint32_t device; /* TRACK_HOST: a thread */
	uint32_t context;
	uint64_t stream; /* or the thread's id */
	uint32_t name;
};

struct geo {
	uint32_t id; /* in the store */
	uint32_t grid[3], block[3];
	uint32_t regs, smem_static, smem_dynamic;
};
