/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - a device's peaks of compute, memory, links: from gpu_spec.tbl.h, a file or measured. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gpu_type {
	GPU_FP64,
	GPU_FP32,
	GPU_TF32,
	GPU_FP16,
	GPU_BF16,
	GPU_FP8,
	GPU_FP4,
	GPU_INT8,
	GPU_TYPES,
};

extern const char *const gpu_type_word[GPU_TYPES]; /* "fp64" ... */

struct gpu {
	char key[32];                   /* "H100_SXM": what commands take, any case */
	char name[64];                  /* as drivers and traces say it: "NVIDIA H100 80GB HBM3" */
	uint32_t cc;                    /* compute capability * 10: 90; AMD: 0 */
	uint32_t sms;                   /* SMs or compute units */
	uint32_t clock_mhz, memory_mhz; /* boost; 0: not known */
	double vector_flops[GPU_TYPES]; /* FLOP/s without tensor cores; 0: none */
	double tensor_flops[GPU_TYPES]; /* dense, with them; 0: none */
	double memory_Bps, l2_Bps;      /* l2_Bps 0: not known */
	uint64_t memory_bytes, l2_bytes;
	double link_Bps;  /* to other GPUs of the node, one way, all links together; 0: none */
	double pcie_Bps;  /* to the host, one way */
	double launch_ns; /* least time of an empty kernel, back to back */
	bool measured;
};

/* Where the numbers of a device of the table come from: letters of gpu_spec.tbl.h; 0: none. */
struct gpu_source {
	char sms, clock, memory_clock, memory, memory_rate, l2, l2_rate, link, pcie, launch;
	char vector[GPU_TYPES], tensor[GPU_TYPES];
};

const struct gpu *
gpu_find(const char *text); /* by key, or by the name a trace gives; NULL: not known */
/* Finds a device without a name by its size: the only one with so many SMs and about so much
 * memory, or the first of several with the same peaks. NULL: none, or several kinds. */
const struct gpu *gpu_by_size(uint32_t sms, uint64_t memory_bytes);
const struct gpu *gpu_at(size_t i);                    /* NULL behind the last */
double gpu_peak(const struct gpu *g, enum gpu_type t); /* the greater of tensor and vector */

/* Adds a device to those of the table; it takes precedence over them, and replaces one that was
 * added with the same key. Call it before starting threads. 0 or -ENOSPC. */
#define GPU_ADDED 64u
int gpu_add(const struct gpu *g);

/* Sets the device to assume where neither name nor size tells it; NULL at first. Call it before
 * starting threads; borrowed. */
void gpu_assume(const struct gpu *g);
const struct gpu *gpu_assumed(void);

/* Writes the fields of a device into the open object of `j`, as in a file of devices; unknown ones
 * are omitted. */
struct json;
void gpu_json(struct json *j, const struct gpu *g);

const struct gpu_source *gpu_source(const struct gpu *g); /* NULL: not of the table */
const char *gpu_source_text(char letter);                 /* NULL: no such letter */
