/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roofline.h - what limits a kernel, and how far it is from that limit. Pure.
 *
 * A kernel cannot be faster than its operations at the device's peak, than its bytes at the
 * memory's, nor, where that is known, than what goes through the L2 cache at its rate. The
 * longest of these times is the roofline bound. A kernel near its bound is limited by it. Any other
 * waits for something else: for the launch, if the shortest time of any kernel is longer than the
 * bound and the two explain it, else for the latency of its own instructions.
 */
#pragma once

#include "theory/gpu.h"

enum roof_limit {
	ROOF_UNKNOWN,
	ROOF_COMPUTE,
	ROOF_MEMORY,
	ROOF_CACHE,
	ROOF_LATENCY,
	ROOF_LAUNCH,
	ROOF_LINK, /* of copies: the links to the host or another device */
	ROOF_LIMITS,
};

extern const char *const roof_limit_word[ROOF_LIMITS];

/* The source of a kernel's work. */
enum work_how {
	WORK_NONE,
	WORK_SHAPES,  /* of the operator's tensors */
	WORK_NAME,    /* the kernel's */
	WORK_SOURCE,  /* the kernel's text */
	WORK_COUNTER, /* of the hardware */
	WORK_RECORD,  /* a copy's own record */
	WORK_HLO,     /* counted by the rules of XLA, whose program it is of */
	WORK_SEEN, /* shapes that the same kernel had with that geometry, when they were recorded */
	WORK_HOWS, /* stores have these numbers: add at the end */
};

extern const char *const work_how_word[WORK_HOWS];

/* Of one call. */
struct roof_work {
	enum work_how how;
	enum gpu_type type;
	bool tensor;     /* on tensor cores */
	double flops;    /* 0: none */
	double bytes;    /* from and to memory, each once; 0: not known */
	double l2_bytes; /* through the L2 cache; 0: not known */
	bool at_most;    /* an upper bound: as if all branches are taken */
};

struct roof {
	enum roof_limit limit;
	double compute, memory, cache; /* shares of the peaks that it reached; 0: none, not known */
	double fraction;               /* the bound as a share of its time; 0: not known */
	double least_ns;               /* the roofline bound */
	double peak_flops;             /* that `compute` is a share of; 0: not known */
};

/* Below this share of every peak, no peak limits a kernel: Nsight Compute's rule SOLBottleneck. */
#define ROOF_NEAR 0.6

/* From the shares alone, as hardware counters give them. */
enum roof_limit roof_limit(double compute, double memory, double cache);

/* The device's peak for such work, FLOP/s; 0: none, or g is NULL. */
double roof_peak(const struct gpu *g, enum gpu_type type, bool tensor);

/* g may be NULL: then nothing is known. 0; -EINVAL: a time or work that is not a number above 0. */
int roof_of(struct roof *out, const struct gpu *g, const struct roof_work *w, double ns);
