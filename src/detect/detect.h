/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect.h - what goes wrong in a process, told while it does: slower steps and kernels, a hang, idle
 * GPUs, memory that grows, a rank that the others wait for. Pure, bounded: steps, windows and a look
 * a second in, alarms out.
 */
#ifndef AON_DETECT_H
#define AON_DETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/level.h"
#include "model/rollup.h"

enum alarm_kind {
#define ALARM(ID, word, quiet_s, means) ALARM_##ID,
#include "detect/detect.tbl.h"
	ALARMS,
};

struct alarm_row {
	const char *word, *means;
	uint32_t quiet_s;
};

extern const struct alarm_row alarm_table[ALARMS];

struct alarm {
	enum alarm_kind kind;
	uint32_t name;     /* of a kernel; 0: none */
	double was, is;    /* ns, bytes or shares: what was usual, and what is */
	uint64_t since_ns; /* HANG: nothing moved since */
};

typedef void alarm_fn(void *arg, const struct alarm *a);

/* --- one process --- */

#define DETECT_KERNELS 64u /* the first ones that are met */
#define DETECT_IDLE_S  10u /* GPU time is judged in pieces of so long */
#define DETECT_BLOCK   32u /* steps; the least that is allocated after one of them counts */
#define DETECT_GROWS   8u  /* such blocks, each with more than the one before */

/* What moves while a process is alive and well. */
struct signs {
	uint64_t step, launches, collective, records;
};

struct detect {
	struct level step, busy;
	struct detect_kernel {
		uint32_t name; /* 0: free */
		struct level level;
	} kernel[DETECT_KERNELS];
	uint64_t busy_ns, busy_from, busy_to; /* of the piece under way */
	uint64_t steps;
	double step_ns; /* mean of the last ones */
	uint64_t low, first_low, last_low;
	uint32_t in_block, grows;
	struct signs signs;
	uint64_t moved_ns;
	bool hung;
	uint64_t told_ns[ALARMS]; /* 0: never */
};

void detect_step(struct detect *d, uint64_t dur_ns, uint64_t now_ns, alarm_fn *fn, void *arg);
/* A window is closed. memory: name of the counter of what is allocated; 0: none. */
void detect_window(struct detect *d, const struct window *w, uint32_t memory, uint64_t now_ns,
		   alarm_fn *fn, void *arg);
/* A second has passed. */
void detect_look(struct detect *d, const struct signs *s, uint64_t now_ns, alarm_fn *fn, void *arg);

/* --- the ranks of a job on one node --- */

#define LATE_S     10u  /* looked at in pieces of so long */
#define LATE_SHARE 0.15 /* of that time others wait longer in collectives than this one */
#define LATE_TIMES 3u   /* in a row, the same one */

/* Who came last, of ranks that spent `comm_ns` in collectives: the index; SIZE_MAX: nobody stands out.
 * Collectives end for all together: who is in them for the least time came last. */
size_t late_of(const uint64_t *comm_ns, size_t n, uint64_t span_ns);

#endif /* AON_DETECT_H */
