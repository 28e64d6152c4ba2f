/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.c - processes that use a GPU, as the kernel tells of them (gpuuse/scan.h).
 *
 * NVML's collector has what only NVIDIA's library knows of a process: its memory and its share.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/collect.h"
#include "collect/emit.h"
#include "gpuuse/scan.h"
#include "gpuuse/uvm.h"
#include "model/telemetry.h"

struct clients {
	struct gpu_scan *scan; /* owned */
	const char *root;
	uint64_t left;
	bool told; /* that processes are hidden */
};

static void clients_close(void *self)
{
	struct clients *c = self;

	gpu_scan_free(c->scan);
	free(c);
}

static int clients_open(void **self, const struct collect_env *env, struct emit *e)
{
	struct clients *c = calloc(1, sizeof(*c));
	int err;

	(void)e;
	if (!c)
		return -ENOMEM;
	c->root = env->root;
	err = gpu_scan_new(&c->scan, env->root);
	if (!err && !gpu_scan_devices(c->scan)->n)
		err = -ENODEV;
	if (err) {
		clients_close(c);
		return err;
	}
	*self = c;
	return 0;
}

/* A series of a process, with up to two labels more. */
static void put(struct emit *e, const struct clients *c, const struct gpu_use *u,
		const char *metric, const char *const label[4], double v)
{
	char labels[SERIES_LABELS_MAX + 1] = "", pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)u->pid);
	series_label(labels, "pid", pid);
	for (unsigned i = 0; i < 4 && label && label[i]; i += 2)
		series_label(labels, label[i], label[i + 1]);
	emit_count(e, emit_series(e, metric, gpu_scan_devices(c->scan)->d[u->device].name, labels),
		   v);
}

/* An engine that never worked for the process has no series. */
static void put_engines(struct emit *e, const struct clients *c, const struct gpu_use *u)
{
	for (uint32_t i = 0; i < u->engines; i++) {
		const struct gpu_engine *g = &u->engine[i];
		const char *const label[4] = { "engine", g->name };

		if (g->has_ns && g->busy_s > 0)
			put(e, c, u, "aon_gpu_process_engine_seconds_total", label, g->busy_s);
		if (g->busy_s > 0 || g->share > 0)
			put(e, c, u, "aon_gpu_process_engine_ratio", label, g->share);
	}
}

static void put_regions(struct emit *e, const struct clients *c, const struct gpu_use *u)
{
	for (uint32_t i = 0; i < u->regions; i++) {
		const struct fdinfo_region *r = &u->region[i];
		uint64_t any = 0;

		for (unsigned k = 0; k < FDINFO_KINDS; k++)
			any |= r->bytes[k];
		for (unsigned k = 0; k < FDINFO_KINDS && any; k++) {
			const char *const label[4] = { "region", r->name, "kind",
						       fdinfo_kind_name[k] };

			if (r->has >> k & 1)
				put(e, c, u, "aon_gpu_process_region_bytes", label,
				    (double)r->bytes[k]);
		}
	}
}

static void put_kfd(struct emit *e, const struct clients *c, const struct gpu_use *u)
{
	static const char *const sdma[4] = { "engine", "sdma" };
	const struct gpu_kfd *k = &u->kfd;

	put(e, c, u, "aon_gpu_process_queues", NULL, k->queues);
	if (k->has_sdma)
		put(e, c, u, "aon_gpu_process_engine_seconds_total", sdma,
		    (double)k->sdma_us / 1e6);
	if (k->has_evicted)
		put(e, c, u, "aon_gpu_process_evicted_seconds_total", NULL,
		    (double)k->evicted_ms / 1e3);
	if (k->has_cu)
		put(e, c, u, "aon_gpu_process_compute_units", NULL, (double)k->compute_units);
	for (unsigned i = 0; i < 3; i++) {
		const char *const label[4] = { "kind", gpu_kfd_fault[i] };

		if (k->has_fault[i])
			put(e, c, u, "aon_gpu_process_faults_total", label, (double)k->fault[i]);
	}
}

static void put_use(struct emit *e, const struct clients *c, const struct gpu_use *u)
{
	uint64_t bytes;

	put_engines(e, c, u);
	put_regions(e, c, u);
	if (u->by & GPU_BY_KFD)
		put_kfd(e, c, u);
	if (gpu_use_memory(u, &bytes))
		put(e, c, u, "aon_gpu_process_memory_bytes", NULL, (double)bytes);
}

static void put_devices(struct emit *e, const struct clients *c, const struct gpu_use *use,
			uint32_t n)
{
	const struct gpu_devices *g = gpu_scan_devices(c->scan);
	struct uvm_stats uvm;

	for (uint32_t d = 0; d < g->n; d++) {
		char labels[SERIES_LABELS_MAX + 1];
		uint32_t users = 0;

		for (uint32_t i = 0; i < n; i++)
			users += use[i].device == d && gpu_use_is(&use[i]) && !use[i].inherited;
		if (g->d[d].minor < 0) /* NVML counts those of the others */
			emit_count(e, emit_series(e, "aon_gpu_processes", g->d[d].name, ""), users);
		if (!uvm_read(&uvm, c->root, g->d[d].uuid))
			continue;
		for (unsigned k = 0; k < UVM_FAULTS; k++) {
			*labels = '\0';
			series_label(labels, "kind", uvm_fault_name[k]);
			if (uvm.has >> k & 1)
				emit_count(e,
					   emit_series(e, "aon_gpu_uvm_faults_total", g->d[d].name,
						       labels),
					   (double)uvm.v[k]);
		}
	}
}

static int clients_poll(void *self, struct emit *e)
{
	struct clients *c = self;
	const struct gpu_scan_count *count = gpu_scan_count(c->scan);
	const struct gpu_use *use;
	uint32_t n;

	gpu_scan_poll(c->scan, clock_mono_ns(), false);
	use = gpu_scan_uses(c->scan, &n);
	for (uint32_t i = 0; i < n; i++)
		if (gpu_use_is(&use[i]) && !use[i].inherited)
			put_use(e, c, &use[i]);
	put_devices(e, c, use, n);
	c->left += count->left;
	emit_count(e, emit_series(e, "aon_gpu_process_left_total", "", ""), (double)c->left);
	emit_count(e, emit_series(e, "aon_gpu_process_hidden", "", ""), count->denied);
	if (count->denied && !c->told)
		log_info("clients: %u processes of others are hidden (CAP_SYS_PTRACE is needed)",
			 count->denied);
	c->told |= count->denied > 0;
	return 0;
}

const struct collector_ops clients_collector = { clients_open, clients_poll, clients_close };
