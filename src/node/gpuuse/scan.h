/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - which processes use a GPU, and how much: by the files that they have open, and by what the
 * GPU's driver says of these.
 *
 *	/dev/dri/card*, renderD*     DRM: /proc/PID/fdinfo (fdinfo.h)
 *	/dev/kfd                     amdkfd: /sys/class/kfd/kfd/proc/PID, which everybody may read
 *	/dev/nvidia0, -uvm           NVIDIA's driver: that they are open; NVML has the rest
 *
 * Links of /proc/PID/fd are seen of one's own processes, or of all with CAP_SYS_PTRACE. Processes
 * that use a GPU are looked at in each poll; the others the more rarely the longer they do not.
 * Everything is bounded, and what was over a bound is counted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gpuuse/device.h"
#include "gpuuse/fdinfo.h"

enum gpu_by { GPU_BY_DRM = 1, GPU_BY_KFD = 2, GPU_BY_NVIDIA = 4, GPU_BY_UVM = 8 };

struct gpu_engine {
	char name[FDINFO_NAME];
	uint32_t capacity;
	bool has_ns;
	double busy_s; /* since the process was first seen, and of its clients before */
	double share;  /* of all engines of that kind, since the last poll; NAN: not known */
};

/* amdkfd's account of a process on a GPU. */
struct gpu_kfd {
	bool has_vram, has_sdma, has_evicted, has_cu, has_fault[3];
	uint64_t vram_bytes, sdma_us, evicted_ms, compute_units;
	uint64_t fault[3]; /* faults, pages in, pages out */
	uint32_t queues;
};
extern const char *const gpu_kfd_fault[3];

/* A process on a device. */
struct gpu_use {
	pid_t pid, parent;
	uid_t uid;
	uint64_t start;  /* clock ticks since boot */
	uint32_t device; /* in gpu_devices */
	uint32_t by;     /* enum gpu_by, a bit each */
	uint32_t
		clients; /* of DRM; those of another process that were handed over are not counted */
	uint32_t poll;   /* in which it was last seen */
	uint32_t since;  /* in which it was first seen */
	bool inherited;  /* its parent, of the same program, has the same: it was forked off */
	uint32_t engines, regions;
	struct gpu_engine engine[FDINFO_ENGINES];
	struct fdinfo_region region[FDINFO_REGIONS];
	struct gpu_kfd kfd;
};

/* Of the last poll. */
struct gpu_scan_count {
	uint32_t processes; /* that were looked at */
	uint32_t rested;    /* that were not, since they used no GPU lately */
	uint32_t denied;    /* that may not be looked into */
	uint32_t links, files;
	uint32_t left; /* processes, files, clients, engines and regions over a bound */
};

struct gpu_scan;
int gpu_scan_new(struct gpu_scan **out, const char *root);
void gpu_scan_free(struct gpu_scan *s); /* NULL is allowed */

/* `all`: also processes that used no GPU lately. */
void gpu_scan_poll(struct gpu_scan *s, uint64_t now_ns, bool all);

/* By PID, then by device. */
const struct gpu_use *gpu_scan_uses(const struct gpu_scan *s, uint32_t *n);
/* Processes of the last poll, sorted. */
const pid_t *gpu_scan_pids(const struct gpu_scan *s, uint32_t *n);
/* Fills uid, start and parent of the PID that is in *u. */
void gpu_scan_identity(const struct gpu_scan *s, struct gpu_use *u);
const struct gpu_devices *gpu_scan_devices(const struct gpu_scan *s);
const struct gpu_scan_count *gpu_scan_count(const struct gpu_scan *s);

/* Memory of the GPU that the process has: its own, or if it has none, the host's. False: not known. */
bool gpu_use_memory(const struct gpu_use *u, uint64_t *bytes);
/* Whether it computes or draws; to have a file open does not suffice. */
bool gpu_use_is(const struct gpu_use *u);
/* The share of its busiest engine; NAN: not known. */
double gpu_use_share(const struct gpu_use *u, const char **engine);
