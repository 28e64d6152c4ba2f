/* SPDX-License-Identifier: Apache-2.0 */
/*
 * govern.h - keeps the cost of recording a process within its budget: it lowers the fidelity level
 * when the cost is too high, and raises it when there is room. Pure; called once a second.
 *
 * It uses two figures: the accounted cost (records x the cost of one here: exact and immediate, but
 * only a part of the whole) and the measured cost (estimate.h: the whole, with an interval, but
 * slow). Down: either is above the budget, the measured one with its entire interval; by as many
 * levels as fidelity.tbl.h says are needed. Also down: after a while the interval still reaches far
 * beyond the budget, so that compliance cannot be shown. Up: one level, when both figures have left
 * room for it for a while, which doubles with every wrong attempt. So a burst is answered within a
 * second, and noise moves nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "govern/estimate.h"
#include "model/process.h"

enum fidelity {
#define FIDELITY(NAME, word, tier, duty, ops, counters, cost, what) FIDELITY_##NAME,
#include "govern/fidelity.tbl.h"
	FIDELITY_LEVELS,
};

struct fidelity_row {
	const char *word;
	enum tier tier;
	uint8_t duty;
	bool ops, counters;
	double cost;
	const char *what;
};

extern const struct fidelity_row fidelity_table[FIDELITY_LEVELS];

/* Whether a recorded step is the same on both levels: a measurement of one holds for the other. */
static inline bool fidelity_alike(enum fidelity a, enum fidelity b)
{
	return fidelity_table[a].ops == fidelity_table[b].ops &&
	       fidelity_table[a].counters == fidelity_table[b].counters &&
	       fidelity_table[a].tier == fidelity_table[b].tier;
}

/* Values of a process over time, in windows of the store, in millionths. */
#define OVERHEAD_MID       "[aon] slowdown, ppm"
#define OVERHEAD_LO        "[aon] slowdown at least, ppm"
#define OVERHEAD_HI        "[aon] slowdown at most, ppm"
#define OVERHEAD_ACCOUNTED "[aon] accounted cost, ppm"
#define OVERHEAD_FIDELITY  "[aon] fidelity level"

#define GOVERN_SETTLE_S   2u    /* after a move: the accounted cost is still the old one */
#define GOVERN_CALM_MIN_S 5u    /* up again after an accounted excess, */
#define GOVERN_SURE_MIN_S 60u   /* after a measured one; */
#define GOVERN_CALM_MAX_S 1920u /* and after many */
#define GOVERN_SHOW_S     600u  /* in so long the interval has to end below */
#define GOVERN_SHOWN      1.3   /* so many budgets */

enum govern_why {
	GOVERN_STAY,
	GOVERN_ACCOUNTED,
	GOVERN_CPU,
	GOVERN_MEASURED,
	GOVERN_UNSHOWN,
	GOVERN_CALM,
	GOVERN_LIMIT,
};

extern const char *const govern_word[];

struct govern {
	enum fidelity fidelity;
	uint32_t calm_s; /* how long there has been room for the next fidelity level up */
	uint32_t need_s; /* how long there must be; 0: never came down */
	uint32_t good_s; /* how long since it last moved, */
	bool moved;      /* if it ever did */
};

struct govern_in {
	double budget;            /* share of the time of a step; 0: no limit */
	double cpu;               /* share of a core that its probes may use; 0: no limit */
	bool stepless;            /* it has no steps that could be unsampled */
	double accounted;         /* share of this second, of the busiest thread */
	struct interval measured; /* of steps that are recorded, against those that are not */
	double residual;          /* residual overhead: the share that is paid in those, too */
	enum fidelity top;        /* as far up as settings allow */
};

/* Whether the whole measured interval fits the budget, if one of `duty` blocks is recorded. */
static inline bool govern_shown(const struct govern_in *in, double duty)
{
	return in->budget <= 0 || (in->measured.known && in->measured.hi / duty + in->residual <=
								 GOVERN_SHOWN * in->budget);
}

/* A second has passed. Returns why it moved; g->fidelity is the new level. */
enum govern_why govern_look(struct govern *g, const struct govern_in *in);
