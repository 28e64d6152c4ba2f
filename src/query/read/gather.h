/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h - collects the data of a report from a store: rows by name or track, steps, accounting.
 *
 * Counts and times come from the windows, which outlive the flight recorder's events. What needs
 * events (a range's time without the ranges inside it, and what a step is made of) covers the
 * events that are still stored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "insight/roofline/roof.h"
#include "model/event.h"
#include "model/process.h"
#include "model/rollup.h"
#include "read/sampled.h"
#include "store/store.h"

/* GPU work that was recorded one by one. */
#define GATHER_GPU \
	(1u << EVENT_KERNEL | 1u << EVENT_COPY | 1u << EVENT_MEMSET | 1u << EVENT_COLLECTIVE)

enum gather_by { BY_NAME, BY_TRACK, BY_PROCESS };

struct gather_row {
	uint32_t kind;  /* enum event_kind */
	uint32_t name;  /* BY_NAME, else 0 */
	uint32_t track; /* BY_TRACK, else 0 */
	uint64_t count, total_ns, min_ns, max_ns, bytes;
	uint64_t held_ns;           /* RANGE, OP, MODULE: time of events that are still stored, */
	uint64_t self_ns;           /* of that, without the ranges inside, */
	uint64_t step_ns;           /* and of that, inside steps of the same thread */
	struct roof_name roof;      /* KERNEL: its limits, from windows */
	struct sampled_sum sampled; /* of the current process, in sampled windows */
	double variance;            /* of total_ns; 0: every step was recorded */
	/* RANGE: may begin and end on two threads, and overlap anything */
	bool span;
	struct sketch sketch;
};

#define GATHER_SPAN 31u /* bit for such rows in masks of kinds */

struct gather_track {
	struct track track;
	uint64_t child_ns[33]; /* time of ended ranges by depth, for the range around them */
	size_t step;           /* index of the step of this track's last range */
};

/* An operator that has ended inside one that has not. */
struct gather_op {
	uint32_t track;
	uint64_t start_ns, dur_ns;
};

struct gather_step {
	uint32_t track;
	uint64_t start_ns, end_ns, number;
};

#define GATHER_STEPS 1000000u /* limit: the newest steps are broken down */

struct gather {
	struct store *st; /* borrowed */
	enum gather_by by;
	struct gather_row *row; /* owned */
	size_t rows;
	struct lookup by_key;
	struct gather_track *track; /* owned, by id */
	size_t tracks, track_cap;
	struct gather_step *step; /* owned: steps of the current process, by track and start */
	size_t steps, step_cap;
	struct gather_op *op; /* owned: ended operators of the current process */
	size_t ops, op_cap;
	size_t op_step;        /* the last step that had operators */
	uint64_t op_steps;     /* steps with operators, of all processes */
	uint64_t held_steps;   /* steps that were broken down, of all processes, */
	uint64_t held_step_ns; /* their time, */
	uint64_t step_in_ns;   /* and the part inside ranges */
	struct gather_row all_steps;
	uint64_t first_ns, last_ns; /* range of the windows */
	uint64_t begin_ns, end_ns;  /* from the first join to the last sign of life */
	uint32_t processes, threads, streams, devices;
	struct sampled sampled;         /* of the current process */
	uint64_t unsampled;             /* unsampled steps of all processes */
	uint64_t left_slots, all_slots; /* for programs without steps: unsampled slots, all slots */
	uint64_t unseen;                /* unrecorded steps, of which only the number is known */
	struct account account;
	struct overhead overhead; /* of the process whose recording costs most */
};

int gather_init(struct gather *g, struct store *st, enum gather_by by);
/* Adds a process, from `from_ns` on (0: from its start); `events` also reads its events. */
int gather_process(struct gather *g, const struct process *p, uint64_t from_ns, bool events);
void gather_fini(struct gather *g);

bool gather_is_gpu(uint32_t kind);
bool gather_nests(uint32_t kind); /* whether one may be inside another on its thread */
/*
 * A row's time, such that the rows of a kind add up: a range counts without the ranges inside it.
 * If some events are gone, it is scaled from the stored ones; if all are gone, it is the total.
 */
uint64_t gather_time(const struct gather_row *r);
/* Whether totals of that kind are estimates because steps were sampled. */
bool gather_sampled(const struct gather *g, uint32_t kind);
/* Whether any row has a verdict; the text of a verdict: "memory 63 %", or "-". */
bool gather_judged(const struct gather_row *const *row, size_t n);
char *gather_limit(const struct gather_row *r, char out[32]);
/* A quantile, clamped to the observed minimum and maximum because cells of the sketch are wider. */
uint64_t gather_quantile(const struct gather_row *r, double q);
/* Rows of the kinds in `kinds` (bits of enum event_kind), longest first; *total gets the sum of
 * gather_time(). Caller frees. */
const struct gather_row **gather_sorted(const struct gather *g, uint32_t kinds, size_t *n,
					uint64_t *total);
uint32_t gather_kinds(const struct gather *g); /* bit mask of the kinds that have rows */

const struct track *gather_track(const struct gather *g, uint32_t id);
/* The demangled name; not cleaned for terminals. */
const char *gather_name(const struct gather *g, const struct gather_row *r);
/* "GPU 0 stream 7", "thread 4711 loader", or the name; not cleaned for terminals. */
char *gather_label(const struct gather *g, const struct gather_row *r, char *buf, size_t cap);

void account_add(struct account *into, const struct account *a);
