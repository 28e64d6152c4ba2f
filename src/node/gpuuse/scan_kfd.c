/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_kfd.c - what amdkfd says of each process that computes: /sys/class/kfd/kfd/proc/PID.
 *
 *	vram_ID       bytes on GPU ID             sdma_ID     us that its copy engines worked
 *	stats_ID/     evicted_ms, cu_occupancy    counters_ID/  faults, page_in, page_out
 *	queues/N/gpuid
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "gpuuse/scan_priv.h"

#define KFD_PIDS   1024u
#define KFD_NAMES  256u  /* of a process: four for each GPU */
#define KFD_QUEUES 1024u /* the kernel allows a process as many */

const char *const gpu_kfd_fault[3] = { "faults", "page_in", "page_out" };

static bool number_in(int dir, const char *path, uint64_t *out)
{
	char text[64];

	if (file_text(dir, path, text, sizeof(text)) <= 0)
		return false;
	return num_digits(text, 10, out) != NULL;
}

/* The process on the GPU that a name ends in: "vram_29312" of "vram_". */
static struct gpu_use *use_of(struct gpu_scan *s, pid_t pid, const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	struct gpu_use *u;
	uint32_t id;
	int at;

	if (strncmp(name, prefix, n) != 0 || num_u32(name + n, 1, UINT32_MAX, &id) < 0)
		return NULL;
	at = gpu_device_kfd(&s->devices, id);
	u = at < 0 ? NULL : scan_use(s, pid, (uint32_t)at);
	if (u) {
		u->by |= GPU_BY_KFD;
		if (!*s->devices.d[at].driver)
			snprintf(s->devices.d[at].driver, sizeof(s->devices.d[at].driver),
				 "amdgpu");
	}
	return u;
}

static void take_folder(int dir, const char *name, struct gpu_kfd *k)
{
	char path[NAME_MAX + 32];

	snprintf(path, sizeof(path), "%s/evicted_ms", name);
	k->has_evicted |= number_in(dir, path, &k->evicted_ms);
	snprintf(path, sizeof(path), "%s/cu_occupancy", name);
	k->has_cu |= number_in(dir, path, &k->compute_units);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", name, gpu_kfd_fault[i]);
		k->has_fault[i] |= number_in(dir, path, &k->fault[i]);
	}
}

static void take_name(struct gpu_scan *s, int dir, pid_t pid, const char *name)
{
	struct gpu_use *u;

	if ((u = use_of(s, pid, name, "vram_")))
		u->kfd.has_vram = number_in(dir, name, &u->kfd.vram_bytes);
	else if ((u = use_of(s, pid, name, "sdma_")))
		u->kfd.has_sdma = number_in(dir, name, &u->kfd.sdma_us);
	else if ((u = use_of(s, pid, name, "stats_")) || (u = use_of(s, pid, name, "counters_")))
		take_folder(dir, name, &u->kfd);
}

static DIR *folder_at(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d)
		close(fd);
	return d;
}

static void take_queues(struct gpu_scan *s, int dir, pid_t pid)
{
	char path[NAME_MAX + 32], name[32];
	DIR *d = folder_at(dir, "queues");
	struct dirent *e;
	struct gpu_use *u;
	uint64_t id;

	for (uint32_t n = 0; d && n < KFD_QUEUES && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		n++;
		snprintf(path, sizeof(path), "%s/gpuid", e->d_name);
		if (!number_in(dirfd(d), path, &id))
			continue;
		snprintf(name, sizeof(name), "%llu", (unsigned long long)id);
		if ((u = use_of(s, pid, name, "")))
			u->kfd.queues++;
	}
	if (d)
		closedir(d);
}

static void take_process(struct gpu_scan *s, int proc, const char *name)
{
	DIR *d = folder_at(proc, name);
	struct dirent *e;
	uint32_t pid, n = 0;

	if (!num_u32(name, 1, INT32_MAX, &pid) && d) {
		for (; n < KFD_NAMES && (e = readdir(d)); n++)
			take_name(s, dirfd(d), (pid_t)pid, e->d_name);
		take_queues(s, dirfd(d), (pid_t)pid);
	}
	s->count.left += n == KFD_NAMES;
	if (d)
		closedir(d);
}

void scan_kfd(struct gpu_scan *s)
{
	char path[PATH_MAX + 32];
	struct dirent *e;
	uint32_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/sys/class/kfd/kfd/proc", s->root);
	d = folder_at(AT_FDCWD, path);
	for (; d && n < KFD_PIDS && (e = readdir(d));) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		take_process(s, dirfd(d), e->d_name);
		n++;
	}
	s->count.left += n == KFD_PIDS;
	if (d)
		closedir(d);
}
