/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_result.h - what a check of a GPU told: lines of a process that may have crashed half-way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_FACTS  64u
#define GPU_SETS   8u
#define GPU_TEXT   320u
#define GPU_OUTPUT 65536u /* bytes; more is no result */

enum gpu_verdict { GPU_PASS, GPU_FAIL, GPU_UNKNOWN };

struct gpu_pair {
	char key[48], value[224];
};

struct gpu_result {
	enum gpu_verdict verdict;
	bool whole; /* it came to its end: nothing may follow the result */
	char text[GPU_TEXT], fix[GPU_TEXT];
	struct gpu_pair fact[GPU_FACTS], set[GPU_SETS];
	unsigned facts, sets;
	uint64_t ms;
};

/* 0; -EINVAL: some line is not one of a check. What comes before it is in *r. Any bytes are allowed. */
int gpu_result_parse(struct gpu_result *r, const char *text, size_t len);
/* NULL: it told no such fact. */
const char *gpu_result_fact(const struct gpu_result *r, const char *key);
void gpu_result_add(struct gpu_result *r, const char *text); /* a further sentence */
void gpu_result_set(struct gpu_result *r, const char *key, const char *value);
