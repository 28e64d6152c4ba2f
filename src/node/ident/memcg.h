/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memcg.h - the memory limit of a process's cgroup, and how often the kernel has killed a process in it for want of
 * memory. Versions 1 and 2.
 *
 *	4:memory:/docker/ID              version 1: limit_in_bytes, oom_kill of memory.oom_control
 *	0::/kubepods.slice/ID.scope      version 2: memory.max, oom_kill of memory.events
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMCG_DIR 512u

struct memcg {
	char dir[MEMCG_DIR]; /* "": not known */
	bool v2;
	size_t root; /* bytes of dir that are above all cgroups */
};

struct memcg_state {
	uint64_t limit; /* the smallest: its own, or of a cgroup around it; 0: none */
	uint64_t used;  /* 0: not known */
	uint64_t oom_kills;
};

/* From the text of /proc/PID/cgroup, any bytes. `mount`: where cgroups are mounted, "/sys/fs/cgroup". */
bool memcg_find(struct memcg *g, const char *text, const char *mount);
/* False: its files are gone. */
bool memcg_read(const struct memcg *g, struct memcg_state *out);
