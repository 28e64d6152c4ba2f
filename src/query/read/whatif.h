/* SPDX-License-Identifier: Apache-2.0 */
/* whatif.h - parses a change, and estimates how long the steps of a trace would take with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/path.h"

struct json;

struct whatif_ask {
	const char *scale, *scale_host; /* "gemm=0.5,Memcpy HtoD*=0"; NULL: unchanged */
	bool no_sync, free_host, free_launch, overlap_comm;
};

struct whatif {
	uint64_t files, steps, meetings;
	size_t scaled; /* number of names that matched */
	struct sim_path *before, *after;
	int64_t replay_ns;
};

#define WHATIF_WHY 256u

/*
 * -EINVAL: syntax error; -ENOENT: no name matches; `why` has details. -ENODATA: nothing to replay.
 */
int whatif_new(struct whatif **out, const struct trace *t, const struct whatif_ask *ask,
	       char why[WHATIF_WHY]);
void whatif_free(struct whatif *w); /* NULL is allowed */

/* Members of an open object: aon.whatif/1. */
void whatif_json(struct json *j, const struct whatif *w);
