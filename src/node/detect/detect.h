/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect.h - detects problems of a process as they happen: slower steps and kernels, a hang, idle
 * GPUs, memory growth, a rank that others wait for. Pure and bounded: steps, windows and one check
 * per second in, alarms out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/level.h"
#include "model/entry.h"
#include "model/rollup.h"

enum alarm_kind {
#define ALARM(ID, quiet_s) ALARM_##ID,
#include "detect/detect.tbl.h"
	ALARMS,
};

struct alarm_row {
	enum entry_kind entry;
	uint32_t quiet_s;
};

extern const struct alarm_row alarm_table[ALARMS];

struct alarm {
	enum alarm_kind kind;
	uint32_t name;     /* of a kernel; 0: none */
	double was, is;    /* ns, bytes or shares: the usual value, and the current one */
	uint64_t since_ns; /* HANG: no progress since */
	bool saving;       /* HANG: while a checkpoint was written */
};

typedef void alarm_fn(void *arg, const struct alarm *a);

/* --- one process --- */

#define DETECT_KERNELS 64u /* the first ones that are met */
#define DETECT_IDLE_S  10u /* GPU time is judged in pieces of so long */
#define DETECT_PIECE   16u /* steps, and what is between them: throughput is judged by such */
#define DETECT_BLOCK   32u /* steps, or a window of more: the least allocated after one counts */
#define DETECT_GROWS   8u  /* such blocks, each with more than the one before */

/* Signs of progress of a process; and, filled only while there is none (detect_still()), signs that
 * it writes a checkpoint. */
struct signs {
	uint64_t step, launches, collective, records;
	bool saves;      /* a range of one is open */
	bool peer_saves; /* another rank of its job here writes one, and this one may wait for it */
	uint64_t written; /* bytes, ever; 0: not known */
};

/* Names in windows. */
struct detect_names {
	uint32_t memory; /* the counter of what is allocated; 0: none */
	bool (*is_comm)(void *arg,
			uint32_t name); /* whether a kernel communicates; NULL: none does */
	void *arg;
};

struct detect {
	struct level step, busy, pace;
	struct detect_kernel {
		uint32_t name; /* 0: free */
		uint32_t geo;  /* of all its calls, or that they are several */
		struct level level;
	} kernel[DETECT_KERNELS];
	uint64_t busy_ns, busy_from, busy_to; /* of the piece under way */
	uint64_t comm_ns;                     /* in collectives; reset when ranks are compared */
	uint64_t piece_ns, piece_step;        /* where the piece of DETECT_PIECE steps began */
	uint64_t steps;
	double step_ns; /* mean of the last ones */
	uint64_t low, first_low, last_low;
	uint32_t in_block, grows;
	struct signs signs;
	uint64_t moved_ns;
	uint64_t stall_ns; /* the longest that it came back from by itself */
	struct detect_save {
		uint64_t first, last,
			grew_ns;     /* bytes written when it stalled, and when they last grew */
		uint64_t seen_ns;    /* since nothing moves one was last seen, here or of a peer */
		uint64_t longest_ns; /* one that ended took */
		bool now;
	} save;
	bool still, hung;
	uint64_t told_ns[ALARMS]; /* 0: never */
};

void detect_step(struct detect *d, uint64_t number, uint64_t dur_ns, uint64_t now_ns, alarm_fn *fn,
		 void *arg);
/* A step whose time does not count, but which is progress. */
void detect_step_on(struct detect *d, uint64_t number, uint64_t now_ns, alarm_fn *fn, void *arg);
/* A window is closed. */
void detect_window(struct detect *d, const struct window *w, const struct detect_names *names,
		   uint64_t now_ns, alarm_fn *fn, void *arg);
/* There was no progress between the last two looks. */
static inline bool detect_still(const struct detect *d)
{
	return d->still;
}
/* It writes a checkpoint by its own signs, as of the last look. */
static inline bool detect_saving(const struct detect *d)
{
	return d->save.now;
}
/* A second has passed. */
void detect_look(struct detect *d, const struct signs *s, uint64_t now_ns, alarm_fn *fn, void *arg);

/* --- the ranks of a job on one node --- */

#define LATE_S     10u /* looked at in pieces of so long */
#define LATE_SHARE 0.1 /* share of that time that others are longer in collectives than this one */
#define LATE_TIMES 3u  /* in a row, the same one */

#define LATE_SILENT 60u /* pieces; a rank reported late is not reported again within them */

/* The index of the rank that came last, of ranks that spent `comm_ns` in collectives; SIZE_MAX:
 * none stands out. Collectives end for all together: the rank with the least time in them came
 * last. */
size_t late_of(const uint64_t *comm_ns, size_t n, uint64_t span_ns);

struct late {
	uint64_t id; /* the rank that was last, so many times in a row */
	uint32_t times, silent;
	uint64_t told;
};

/* After each piece: the index of the rank that stays late, reported once; SIZE_MAX: none. id: not 0.
 * *share: the share of time that the others wait. */
size_t late_add(struct late *l, const uint64_t *id, const uint64_t *comm_ns, size_t n,
		uint64_t span_ns, double *share);
