/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis.h - the events of a run, or of a part of it, in memory and understood: within a bound.
 *
 * A run of more events than the bound is not loaded: of it the newest steps that fit are, and
 * `whole` is false. What can be told from rollups or columns (kernels, windows, devices) does not
 * come here then.
 */
#ifndef AON_SERVE_ANALYSIS_H
#define AON_SERVE_ANALYSIS_H

#include "insight/finding.h"
#include "insight/replay.h"
#include "serve/api.h"

#define ANALYSIS_WHOLE  600000u        /* events that are loaded as they are; */
#define ANALYSIS_PART   300000u        /* of more, so many at most */
#define ANALYSIS_IDLE_S 60u            /* after which what nobody asks for is let go */
#define ANALYSIS_NS     20000000000ull /* longer it may not take */

struct analysis {
	char run[RUN_ID], ranks[401];
	uint64_t blob, asof, t0, t1; /* what was asked for */
	uint64_t from_ns, to_ns;     /* what was loaded, on the run's clock */
	bool whole;
	struct trace *t; /* owned, like those below */
	struct insight *in;
	struct findings *fs; /* NULL until asked for */
	struct replay *r;    /* NULL: not asked for, or nothing to replay */
	bool replayed;
	uint64_t used_ns; /* CLOCK_MONOTONIC */
};

/*
 * What q asks for by t0, t1 and ranks; serve.heavy is held. It is the server's and good until
 * the next call. -EINVAL, -ETIMEDOUT, -ENOMEM, -EBADMSG.
 */
int analysis_get(struct ask *q, struct analysis **out);
/* The same, but the caller's. */
int analysis_new(struct analysis **out, struct ask *q);
int analysis_findings(struct analysis *an); /* fills fs and r */
/* Lets go of what nobody asked for lately. Now and then; never waits. */
void analysis_idle(struct serve *s);
void analysis_free(struct analysis *an); /* NULL is allowed */

/* Of the envelope: partial and range. */
void analysis_json(struct json *j, const struct analysis *an, const struct run *r);

/* Whether all of the run was asked for, and it is small enough to be loaded. */
bool analysis_fits(const struct ask *q);

#endif /* AON_SERVE_ANALYSIS_H */
