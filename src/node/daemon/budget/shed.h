/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shed.h - keeps aond within its CPU budget by shedding load.
 *
 * Once a second: above the budget it goes up one level, in a fixed order. First events are only
 * rolled up, then records are only taken and counted, so that programs never wait. After some time
 * well below the budget it comes down again; each relapse makes that time longer.
 */
#pragma once

#include <stdint.h>

enum shed_level { SHED_NOTHING, SHED_EVENTS, SHED_ALL };

#define SHED_CALM_MIN_S 5u
#define SHED_CALM_MAX_S 80u

struct shed {
	enum shed_level level;
	uint64_t at_ns, cpu_ns; /* of the last look; at_ns 0: none yet */
	uint32_t calm_s;        /* how long it has been well under the budget */
	uint32_t need_s;        /* how long it must be, to come down */
	uint32_t good_s;        /* at SHED_NOTHING: how long */
};

/* A second has passed; cpu_ns is what aond has used since it started. percent of one core; 0:
 * no limit. Returns the level from here on. */
enum shed_level shed_look(struct shed *s, uint64_t now_ns, uint64_t cpu_ns, uint32_t percent);

/* The automatic limit, in percent of one core: 1 for each GPU, but never less than aond needs for
 * itself (docs/decisions/0034-default-limits-of-aond.md). */
#define SHED_CPU_MIN  5u
#define SHED_CPU_HOST 15u /* where there are no GPUs */
static inline uint32_t shed_percent(uint32_t gpus)
{
	if (!gpus)
		return SHED_CPU_HOST;
	return gpus > SHED_CPU_MIN ? gpus : SHED_CPU_MIN;
}

/* The level for that much memory of `limit` (0: none): up at once, down below 3/4 of `limit`. */
enum shed_level shed_memory(enum shed_level was, uint64_t used, uint64_t limit);
