/* SPDX-License-Identifier: Apache-2.0 */
/* temp_daemon.h - an aond of this user for one command: starts before it, stops after it. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct temp_daemon {
	pid_t pid;
	int life;                   /* aond ends when this pipe closes, even if we are killed */
	char run_dir[80];           /* 0700, ours; short enough for a socket's name */
	uint64_t cpu_ns, rss_bytes; /* of aond, once it ended */
};

/* Where the program is: 0 or -ENOENT. */
int temp_daemon_find(char path[PATH_MAX]);

/* 0, or -errno after one line on stderr. */
/* `how`: TEMP_KINETO: it answers PyTorch processes, if no other daemon does; TEMP_UNBOUNDED: it
 * records everything, whatever that costs the program. */
enum { TEMP_KINETO = 1, TEMP_UNBOUNDED = 2 };
int temp_daemon_start(struct temp_daemon *d, const char *store, unsigned how);

/* Lets aond store everything and end, and removes the run directory. -ETIMEDOUT: it was killed,
 * because it took too long or because we were interrupted. */
int temp_daemon_stop(struct temp_daemon *d);

/* The directory with the files in it; it has no others. */
void temp_daemon_remove_dir(const char *dir);
