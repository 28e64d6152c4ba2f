/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.h - merges ten one-second windows into one: sums per name and process, over its tracks. If
 * chance left some steps unsampled, the sums are estimates for all steps, with their error. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "model/rollup.h"
#include "read/sampled.h"

#define FOLD_NS       (10 * WINDOW_NS)
#define FOLD_ROWS_MAX 200000u

struct fold_row {
	uint32_t process, kind, name;
	uint64_t t_ns; /* begin of the ten seconds, wall time */
	uint64_t count, total_ns, min_ns, max_ns, bytes;
	uint64_t floor_ns, bound_ns; /* at its limit; the part whose limit is `bound` */
	uint32_t bound, part;        /* part: which process and time, see below */
	double variance;
	struct sketch sketch;
	struct sampled_sum sum;
};

struct fold_part {
	uint32_t process;
	uint64_t t_ns;
	struct sampled sampled;
};

struct fold {
	struct fold_row *row;   /* owned */
	struct fold_part *part; /* owned */
	struct lookup by_key;   /* of row */
	uint32_t rows, parts;
	size_t row_cap, part_cap;
	uint64_t dropped;      /* rows that did not fit */
	uint32_t left, unseen; /* names of steps: model/rollup.h; 0: not met */
};

/* A window that began at wall time t_ns. 0 or -ENOMEM. */
int fold_add(struct fold *f, const struct window *w, uint64_t t_ns);
/* After the last: sums of all steps. */
void fold_end(struct fold *f);
void fold_clear(struct fold *f);
void fold_fini(struct fold *f);

/* The cells of a sketch, sparse (docs/cluster.md): bytes written, at most `cap`; cells that do not fit are left
 * out, the rarest first. */
#define FOLD_HIST_MAX 512u
size_t fold_hist(uint8_t out[FOLD_HIST_MAX], const struct sketch *s);
/* And back: 0 or -EBADMSG, -ENOMEM. */
int fold_unhist(struct sketch *out, const void *data, size_t len);
