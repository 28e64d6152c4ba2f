/* SPDX-License-Identifier: Apache-2.0 */
/* maps.h - which frameworks a process has loaded, by the files that it has mapped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum framework { FRAMEWORK_TORCH, FRAMEWORK_JAX, FRAMEWORK_TENSORFLOW, FRAMEWORKS };
extern const char *const framework_name[FRAMEWORKS];

struct maps_seen {
	uint32_t frameworks; /* a bit for each */
	bool aon;            /* libaon.so, or a probe */
};

/* One line of /proc/PID/maps. */
void maps_line(struct maps_seen *out, const char *line);
/* 0 or -errno: -EACCES of a process that may not be looked into. Reads 4 MiB at most. */
int maps_read(struct maps_seen *out, const char *root, pid_t pid);
/* Whether the program that the process runs is an interpreter of Python. */
bool maps_is_python(const char *root, pid_t pid);
