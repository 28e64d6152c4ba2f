/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_path.h - which libcupti belongs to a process: the one whose major version is that of the CUDA
 * runtime, where frameworks and toolkits put it. A CUPTI of another major version loses the times
 * of kernels without a word. The CUDA probe asks for itself, `aon doctor` for other processes.
 *
 * Nothing here allocates: it is used in the app's process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CUPTI_PATH  512u
#define CUPTI_SITES 4u

struct cupti_view {
	char cudart[CUPTI_PATH];            /* the CUDA runtime; "": none, or linked statically */
	char loaded[CUPTI_PATH];            /* a libcupti that is there already */
	char site[CUPTI_SITES][CUPTI_PATH]; /* folders of Python packages */
	unsigned sites;
	bool driver;     /* libcuda is loaded */
	int major;       /* of the runtime; 0: not known */
	int driver_most; /* the newest major version that the driver can run; 0: not known */
};

/* One loaded library of the process. Call it for each. */
void cupti_see(struct cupti_view *v, const char *path);
/*
 * The n-th candidate, best first: a path, or a name for the loader to find. A path may lead to
 * nothing. False: there are no more.
 */
bool cupti_candidate(const struct cupti_view *v, unsigned n, char *out, size_t cap);
/* The major version in the name of a library: 12 of "libcupti.so.12"; 0: it has none. */
int cupti_major(const char *path);
