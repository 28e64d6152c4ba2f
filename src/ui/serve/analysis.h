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

#define ANALYSIS_WHOLE   WINDOW_WHOLE
#define ANALYSIS_PART    WINDOW_PART
#define ANALYSIS_IDLE_S  60u            /* after which an unused analysis is dropped */
#define ANALYSIS_NS      20000000000ull /* limit for loading, */
#define ANALYSIS_WAIT_NS 30000000000ull /* after which a part is shown until all was read */

struct analysis {
	const struct serve *s; /* borrowed */
	char run[RUN_ID], ranks[401];
	uint64_t blob, asof, t0, t1; /* what was asked for */
	uint64_t from_ns, to_ns;     /* what was loaded, on the run's clock */
	bool whole;
	bool comes;      /* it is a part, and the whole is being read */
	bool live;       /* the run grows on */
	struct trace *t; /* owned, like those below */
	struct insight *in;
	struct findings *fs; /* NULL until asked for */
	bool replayed, flamed;
	struct flame flame;
	struct krows rows[ROLLS];  /* of in->parted: by kernel, op, module */
	struct trace *window;      /* of in->parted: NULL until asked for */
	uint64_t win_from, win_to; /* what that has */
	uint64_t used_ns;          /* CLOCK_MONOTONIC */
	uint64_t made_ns, took_ns;
};

/*
 * What q asks for by t0, t1 and ranks; serve.heavy is held. It is the server's and good until
 * the next call. -EINVAL, -ETIMEDOUT, -ENOMEM, -EBADMSG.
 */
int analysis_get(struct ask *q, struct analysis **out);
/* And says of what it is: analysis_json(). */
int analysis_begin(struct ask *q, struct json *j, struct analysis **out);
/* The same, but the caller's. */
int analysis_new(struct analysis **out, struct ask *q);
int analysis_findings(struct analysis *an, struct ask *q); /* fills fs and r */
int analysis_flame(struct analysis *an);                   /* fills flame */
/* The events to look at one by one: all, or the newest steps. */
int analysis_events(struct analysis *an, struct ask *q, const struct trace **t);
/* Whether both are of the same question; a live run may have grown. */
bool analysis_same(const struct analysis *a, const struct analysis *b);
/* Whether it is new enough for that. */
bool analysis_fresh(const struct analysis *an, const struct analysis *want);
/* Drops analyses that were not used lately. Called now and then; never waits. */
void analysis_idle(struct serve *s);
void analysis_free(struct analysis *an); /* NULL is allowed */

/* Of the envelope: partial and range; of what analysis_events() gave. */
void analysis_json(struct json *j, const struct analysis *an, const struct run *r);
void analysis_events_json(struct json *j, const struct analysis *an, const struct run *r);
/* The same of times since the begin of the run, as they were asked for: nothing is missing. */
void analysis_whole_json(struct json *j, const struct run *r, uint64_t t0, uint64_t t1);

/* Whether all of the run is small enough to be loaded. */
bool analysis_fits(const struct ask *q);
/* Whether what is asked for is: 0, or -EFBIG, -EINVAL, -ENOMEM. */
int analysis_loads(struct ask *q);
