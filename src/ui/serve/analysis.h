/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis.h - analyses a run, or a part, within a memory limit.
 *
 * A run with more events than the limit is not loaded, but read stretch by stretch
 * (read/stretch.h). It has no events in memory; results that need them are summed while reading
 * (flame, rows) or cover the newest steps only (`window`). Until a long reading is complete,
 * `whole` is false, and everything covers the newest steps.
 */
#pragma once

#include "insight/find/finding.h"
#include "insight/replay.h"
#include "read/window.h"
#include "serve/api/api.h"
#include "serve/flame.h"
#include "serve/kernel_rows.h"

#define ANALYSIS_WHOLE  WINDOW_WHOLE
#define ANALYSIS_PART   WINDOW_PART
#define ANALYSIS_IDLE_S 60u            /* an unused analysis is dropped after this */
#define ANALYSIS_NS     20000000000ull /* limit for loading */
/* a request waits this long for the whole run; then it gets the newest steps */
#define ANALYSIS_WAIT_NS 30000000000ull

struct analysis {
	const struct serve *s; /* borrowed */
	char run[RUN_ID], ranks[401];
	uint64_t blob, asof, t0, t1; /* what was requested */
	uint64_t from_ns, to_ns;     /* the range that was loaded, on the run's clock */
	bool whole;
	bool comes;      /* only the newest steps so far; a thread reads the whole run */
	bool live;       /* the run still grows */
	struct trace *t; /* owned, like the pointers below */
	struct insight *in;
	struct findings *fs; /* NULL until requested */
	bool replayed, flamed;
	struct flame flame;
	struct krows rows[ROLLS];  /* if in->parted: sums by kernel, op, module */
	struct trace *window;      /* if in->parted: the newest steps; NULL until requested */
	uint64_t win_from, win_to; /* the range of `window` */
	uint64_t used_ns;          /* CLOCK_MONOTONIC */
	uint64_t made_ns, took_ns;
};

/*
 * The analysis of the run and range that q asks for (t0, t1, ranks). The caller holds serve.heavy.
 * The server owns it; it is valid until the next call. -EINVAL, -ETIMEDOUT, -ENOMEM, -EBADMSG.
 */
int analysis_get(struct ask *q, struct analysis **out);
/* analysis_get(), then writes the range that it covers: analysis_json(). */
int analysis_begin(struct ask *q, struct json *j, struct analysis **out);
/* As analysis_get(), but always a new one, owned by the caller. */
int analysis_new(struct analysis **out, struct ask *q);
int analysis_findings(struct analysis *an, struct ask *q); /* fills fs and r */
int analysis_flame(struct analysis *an);                   /* fills flame */
/* The events themselves: all of them, or those of the newest steps. */
int analysis_events(struct analysis *an, struct ask *q, const struct trace **t);
/* Whether both answer the same request, on the same data or on a live run that has grown since. */
bool analysis_same(const struct analysis *a, const struct analysis *b);
/* Whether `an` is recent enough to answer `want`. */
bool analysis_fresh(const struct analysis *an, const struct analysis *want);
/* Drops the analysis if it was not used lately. Called periodically; never waits. */
void analysis_idle(struct serve *s);
void analysis_free(struct analysis *an); /* NULL is allowed */

/* Writes `partial` and `range` of the envelope: the part of the run that the answer covers. */
void analysis_json(struct json *j, const struct analysis *an, const struct run *r);
void analysis_events_json(struct json *j, const struct analysis *an, const struct run *r);
/* The same for an answer that covers all of [t0, t1), nanoseconds since the start of the run. */
void analysis_whole_json(struct json *j, const struct run *r, uint64_t t0, uint64_t t1);

/* Whether the whole run is small enough to be loaded. */
bool analysis_fits(const struct ask *q);
/* Whether the requested part is small enough: 0, or -EFBIG, -EINVAL, -ENOMEM. */
int analysis_loads(struct ask *q);
