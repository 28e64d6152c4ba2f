/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h - measures what a device reaches: peaks by type, bandwidth by working set, the time of
 * an empty kernel, copies from the host. It takes the best of several rounds, because the result is
 * an upper bound.
 */
#pragma once

#include "measure/backend.h"

#define MEASURE_LEVELS 32u

struct measure_opts {
	bool quick;
	void (*progress)(void *arg, const char *what); /* NULL allowed */
	void *arg;
};

struct measure {
	struct gpu gpu;
	struct measure_level {
		uint64_t bytes; /* that are read again and again, of all units together */
		double Bps;
	} level[MEASURE_LEVELS];
	size_t levels;
	double triad_Bps;            /* two read, one written, of the largest set */
	double out_Bps;              /* to the host */
	double gemm_flops;           /* of aon's own fp32 product, not the best possible; 0: none */
	uint32_t gemm_n, gemm_wrong; /* its rows; of its n x n results those that are not right */
	double sync_ns;              /* of an empty kernel and waiting for it */
	bool fits_cache;             /* even the largest set does: memory was not measured */
};

/*
 * The levels of memory as steps of the rates: the best of each, and the largest set that has it.
 * A step is down by a quarter, and stays down. The last is memory, or the largest set.
 */
size_t measure_steps(const struct measure *m, struct measure_level out[MEASURE_LEVELS]);

/* 0 and *out, or -errno; b->why says more. */
int measure_test(struct measure *out, struct backend *b,
		 const struct measure_opts *o); /* only what shows a faulty device */
int measure(struct measure *out, struct backend *b, const struct measure_opts *o);
