/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_doctor.h - aon doctor --gpu: runs the checks, says what follows, writes gpu.conf. */
#pragma once

#include <limits.h>

#include "abi/gpu_conf.h"
#include "cli/core/out.h"
#include "cli/node/doctor.h"
#include "cli/node/gpu_result.h"

enum gpu_check {
#define CHECK(name, when, limits, needs, key, value) GPU_CHECK_##name,
#include "cli/node/gpu_check.tbl.h"
	GPU_CHECKS,
};

struct gpu_doctor {
	struct out out;
	bool with_long, full;
	const struct opts *only; /* its operands: these checks alone, if there are any */
	unsigned limit_s;
	struct gpu_result result[GPU_CHECKS];
	bool made[GPU_CHECKS]; /* this run was to make it */
	bool no_gpu;           /* nothing else was checked */
	struct gpu_conf conf;  /* what the passes unlock */
	char conf_path[PATH_MAX];
	int conf_err;             /* -errno of writing it; 1: there was nothing to write */
	char had[96];             /* of the file before */
	unsigned fails, unknowns; /* checks */
	uint64_t ms;
};

extern const char *const gpu_check_names[GPU_CHECKS];

int gpu_doctor_run(const struct opts *o);

/* --- gpu_tell.c --- */
void gpu_tell_text(const struct gpu_doctor *g);
void gpu_tell_json(const struct gpu_doctor *g);
