/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h - one device behind OpenCL or CUDA, as far as a measurement needs it: a program from
 * source, one buffer, launches of its kernels, waiting.
 *
 * Neither library is linked: both are loaded on demand. Functions return 0 or -errno; on failure
 * `why` has the vendor library's message.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "theory/gpu.h"

#define BACKEND_WHY  512u
#define BACKEND_HOST (32ull << 20)

/* The source that precedes the kernels (kernels.h) for a type: T and its arithmetic. */
struct variant {
	const char *text; /* until the next is asked for */
	uint32_t flops;   /* of one MAD of one work-item */
};

struct backend {
	const struct backend_ops *ops;
	char name[64], driver[64];
	uint32_t cc, units, clock_mhz, memory_mhz;
	uint32_t group; /* work-items of a group that suit it */
	uint32_t word;  /* bytes of a V, what a work-item reads at once */
	uint64_t memory_bytes, buffer_max, cache_bytes;
	bool cpu;
	char why[BACKEND_WHY];
};

struct backend_ops {
	const char *api; /* "OpenCL" */
	/* False: not on this device. */
	bool (*variant)(const struct backend *b, enum gpu_type t, bool tensor, struct variant *out);
	int (*build)(struct backend *b,
		     const struct variant *v); /* in the place of the one before */
	int (*buffer)(struct backend *b,
		      uint64_t bytes); /* so, too; a CPU's is zeroed: touches pages, no NaNs */
	int (*launch)(struct backend *b, const char *kernel, uint32_t groups, uint32_t n,
		      uint32_t reps);
	int (*finish)(struct backend *b); /* all that was launched is done */
	/* Copies BACKEND_HOST bytes between the buffer and the backend's host memory, and waits. */
	int (*copy_in)(struct backend *b, uint64_t bytes);
	int (*copy_out)(struct backend *b, uint64_t from, uint64_t bytes);
	void *(*host)(struct backend *b); /* that memory; NULL: none was copied yet */
	/* The buffer's address, for libraries; makes its device the current one. 0: it has none. */
	uint64_t (*address)(struct backend *b);
	void (*close)(struct backend *b);
};

/* -ENOENT: no such library, or no device `index`. `why` has room for BACKEND_WHY. */
int opencl_open(struct backend **out, uint32_t index, char *why);
int cuda_open(struct backend **out, uint32_t index, char *why);
