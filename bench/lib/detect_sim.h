/* SPDX-License-Identifier: Apache-2.0 */
/* detect_sim.h - aond's detectors on the first node of a simulated job. */
#ifndef BENCH_DETECT_SIM_H
#define BENCH_DETECT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/detect.h"

struct heard {
	uint32_t n[ALARMS], all;
};

/* What tells of checkpoints. */
enum sim_saves {
	SAVES_UNSEEN,  /* nothing says that a checkpoint is written */
	SAVES_RANGE,   /* a range of rank 0 */
	SAVES_WRITTEN, /* what rank 0 writes */
};

/* One run. Times are of the job's own clock. */
struct sim_case {
	const char *word, *set, *fault; /* as of aon sim; fault NULL: none */
	uint32_t steps, from;           /* from: step in which the fault begins */
	double daily;                   /* how far a day's heat moves step times: 0.02 is 2 % */
	uint32_t eval_every;            /* steps; then a minute without any */
	bool quiet;                     /* it must raise no alarm */
	enum sim_saves saves;
};

struct sim_got {
	struct heard before, after;
	double slowdown; /* mean step with the fault, of that without it; 0: it hung */
	double tell_s;   /* from the fault to the first alarm; < 0: none */
	double hours;
	enum alarm_kind first;
};

extern const struct sim_case sim_faults[], sim_days[]; /* the last has no word */
extern const struct sim_case sim_unseen;

/* 0, or -errno after it said why on stderr. twin: find the slowdown, too. */
int sim_watch(const struct sim_case *c, uint64_t seed, bool twin, struct sim_got *got);

#endif /* BENCH_DETECT_SIM_H */
