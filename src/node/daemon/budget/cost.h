/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost.h - the cost of recording one process, and the fidelity level that the budget allows.
 *
 * Steps come in (cost_step()); once a second the governor decides (cost_tick()). The results are
 * the fidelity level and the unsampled steps, for the process's gate. Nothing here knows gates or
 * sessions.
 */
#pragma once

#include "govern/govern.h"
#include "model/event.h"

#define COST_STEPS     64u         /* steps of a process before its first unsampled one */
#define COST_BLOCK_NS  50000000ull /* a block lasts so long at least: costs may lag behind */
#define COST_BLOCK     5u          /* and has so many steps */
#define COST_GUARD     1u
#define COST_DENSE     200u          /* pairs, one behind the other; then they become rare: */
#define COST_ROUND     (1u << 16)    /* steps of a round, where nothing is measured */
#define COST_RARE      18u           /* blocks of steps from one pair to the next: 5 % are off, */
#define COST_SEEK      4u            /* and 17 % while the budget is not shown to be kept */
#define COST_SETTLE_NS 3000000000ull /* until all ranks know of a change */
#define COST_ALPHA     0.05
#define COST_SLOT_NS   50000000ull /* of programs without steps */
#define COST_FIRST     24u         /* COST_DENSE of these: nothing marks unsampled slots */
#define COST_LAG       0.001       /* if the whole interval is above it, blocks are too short */
#define COST_NOISY     0.05 /* noise of pairs from which on the 20 % quantile has less noise */

struct cost_sums; /* of pairs; from COST_STEPS steps on */

struct cost {
	struct govern govern;
	struct aon_trial trial, was; /* of the gate now, and before since_ns */
	uint64_t seed, since_ns;
	bool by_rate;                  /* no steps, but slots, and launches in them: slot.c */
	uint64_t first_ns;             /* the first step's beginning */
	uint64_t steps, step, last_ns; /* seen; the last one's number and end */
	double step_ns;                /* mean of the last ones */
	uint32_t track;                /* whose steps count, + 1: one thread's; 0: none yet */
	uint64_t records, at_ns;       /* of the last look; at_ns 0: none yet */
	double accounted;              /* share of the last second */
	uint64_t residual_ns;          /* at the last look: residual overhead of probes, */
	double residual;               /* and as a share of the last seconds */
	struct interval typical, mean; /* slowdown of steps that are recorded */
	uint64_t pairs, thrown;
	uint8_t block;          /* steps of one; 0: not chosen yet */
	bool shown;             /* shown to be within the budget: measured less often since */
	bool lagging;           /* the cost of recording lasts into the next block, */
	uint32_t lags;          /* and so often blocks were made longer for it */
	struct cost_sums *sums; /* owned; NULL: not yet */
};

struct cost_limits {
	double budget;     /* share of a step's time; 0: no limit */
	double cpu;        /* share of a core; 0: no limit */
	enum fidelity top; /* no further up than this */
	bool leave;        /* steps can be unsampled, */
	bool measure;      /* and may be, to measure the cost, */
	uint64_t after_ns; /* so long after the first */
	bool steady; /* something else needs every step: a capture, a tier that was asked for */
};

void cost_init(struct cost *c, uint64_t seed);
void cost_fini(struct cost *c);
/* A step has ended. True: it is unsampled. */
bool cost_step(struct cost *c, const struct event *step);
/* The weight of a recorded step: how many it stands for; 0: it is unsampled. */
uint32_t cost_weight(const struct cost *c, uint64_t number, uint64_t start_ns);
/* The same for a slot with so many launches, of a program without steps. */
bool cost_slot(struct cost *c, uint64_t number, uint64_t start_ns, uint64_t end_ns,
	       uint64_t launches);
/* A second has passed; `records` were emitted since the process joined. */
void cost_account(struct cost *c, uint64_t now_ns, uint64_t records, double emit_ns);
/* Before it: the total residual overhead that probes report. */
void cost_residual(struct cost *c, uint64_t now_ns, uint64_t total_ns);
/* Then the governor decides; `accounted`: the most of the job's ranks here. Returns its reason. */
enum govern_why cost_tick(struct cost *c, uint64_t now_ns, double accounted,
			  const struct cost_limits *l);
/* Or, for the job's other ranks: follows the first one. */
void cost_follow(struct cost *c, const struct cost *leader, uint64_t now_ns);
/* No step is unsampled until the governor decides again: a capture needs every step. */
void cost_hold(struct cost *c, uint64_t now_ns);
/* Whether no step came for so long that the program does something else now, which is recorded. */
bool cost_stepless(const struct cost *c, uint64_t now_ns);
/* The cost now: the measured one times the share that the level records, plus the residual. */
struct interval cost_now(const struct cost *c);

/* The cost of writing a record on this machine: the best of a few thousand. Takes 1 ms. */
double cost_calibrate(void);
