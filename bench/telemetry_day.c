/* SPDX-License-Identifier: Apache-2.0 */
/*
 * telemetry_day.c - the size of a day of a node's telemetry in a store: 8 GPUs, 192 cores, 8
 * InfiniBand ports.
 *
 *	telemetry_day STORE [METRIC=VALUE...]
 *
 * Each series moves at its collector's rate as such a value does under load: noise around a level,
 * steps, a slow walk, a counter that rises unevenly, or nothing. Levels of GPUs come from the
 * arguments, which telemetry.py takes from nvidia-smi on a loaded H100. Two hours are stored as
 * aond stores them, block by block; the file's growth is scaled to a day. One JSON line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/telemetry.h"
#include "store/store.h"

#define TICKS 900u
#define HOURS 2u
#define S     1000000000ull

enum shape { STILL, NOISE, WALK, STEPS, COUNTER };

struct kind {
	const char *metric;
	enum shape shape;
	double level, by; /* by: of noise, or of a step; of a counter level is its rate */
	unsigned every;   /* seconds */
	unsigned n;       /* series of a device, by further labels */
};

/* clang-format off */
static struct kind gpu[] = {
	{ "DCGM_FI_DEV_POWER_USAGE", NOISE, 650, 8, 1, 1 },
	{ "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", COUNTER, 650e3, 8e3, 10, 1 },
	{ "DCGM_FI_DEV_GPU_UTIL", NOISE, 97, 2, 1, 1 }, { "DCGM_FI_DEV_MEM_COPY_UTIL", NOISE, 45, 4, 1, 1 },
	{ "DCGM_FI_DEV_GPU_TEMP", WALK, 62, 1, 1, 1 }, { "DCGM_FI_DEV_MEMORY_TEMP", WALK, 70, 1, 1, 1 },
	{ "DCGM_FI_DEV_SM_CLOCK", STEPS, 1980, 15, 1, 1 }, { "DCGM_FI_DEV_MEM_CLOCK", STILL, 2619, 0, 1, 1 },
	{ "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", STEPS, 4, 4, 1, 1 }, { "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", STILL, 700, 0, 1, 1 },
	{ "DCGM_FI_DEV_PSTATE", STILL, 0, 0, 1, 1 }, { "DCGM_FI_DEV_FB_USED", STEPS, 70000, 256, 1, 1 },
	{ "DCGM_FI_DEV_FB_FREE", STEPS, 10000, 256, 1, 1 }, { "DCGM_FI_DEV_FB_TOTAL", STILL, 81559, 0, 1, 2 },
	{ "DCGM_FI_DEV_POWER_VIOLATION", COUNTER, 3e7, 1e7, 10, 1 }, { "DCGM_FI_DEV_THERMAL_VIOLATION", STILL, 0, 0, 10, 1 },
	{ "DCGM_FI_DEV_XID_ERRORS", STILL, 0, 0, 1, 1 }, { "aon_gpu_hotspot_celsius", WALK, 71, 1, 1, 1 },
	{ "DCGM_FI_PROF_GR_ENGINE_ACTIVE", NOISE, 0.97, 0.02, 10, 1 }, { "DCGM_FI_PROF_SM_ACTIVE", NOISE, 0.8, 0.03, 10, 1 },
	{ "DCGM_FI_PROF_SM_OCCUPANCY", NOISE, 0.3, 0.02, 10, 1 }, { "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", NOISE, 0.45, 0.03, 10, 1 },
	{ "DCGM_FI_PROF_DRAM_ACTIVE", NOISE, 0.4, 0.03, 10, 1 }, { "DCGM_FI_PROF_PIPE_FP32_ACTIVE", NOISE, 0.1, 0.02, 10, 1 },
	{ "DCGM_FI_PROF_PIPE_FP64_ACTIVE", STILL, 0, 0, 10, 2 },
	{ "DCGM_FI_PROF_PCIE_TX_BYTES", NOISE, 2e9, 1e8, 10, 2 }, { "DCGM_FI_PROF_NVLINK_TX_BYTES", NOISE, 1e11, 5e9, 10, 2 },
	{ "DCGM_FI_DEV_POWER_USAGE_INSTANT", NOISE, 650, 15, 10, 1 },
	{ "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", COUNTER, 1e9, 5e7, 10, 1 }, { "aon_gpu_process_memory_bytes", STEPS, 7e10, 1e6, 10, 1 },
	{ "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", STILL, 0, 0, 10, 24 }, { "aon_gpu_nvlink_up", STILL, 1, 0, 10, 18 },
};
static struct kind core[] = {
	{ "node_cpu_seconds_total", COUNTER, 0.5, 0.2, 240, 3 }, { "node_cpu_seconds_total", STILL, 0, 0, 240, 7 },
	{ "node_cpu_scaling_frequency_hertz", NOISE, 3.1e9, 1e8, 240, 1 },
	{ "aon_cpu_idle_state_seconds_total", COUNTER, 0.3, 0.1, 240, 3 },
	{ "node_schedstat_running_seconds_total", COUNTER, 0.5, 0.2, 240, 2 }, { "node_schedstat_timeslices_total", COUNTER, 300, 90, 240, 1 },
};
static struct kind node[] = {
	{ "aon_cpu_seconds_total", COUNTER, 90, 5, 1, 3 }, { "aon_cpu_seconds_total", COUNTER, 1, 0.3, 1, 2 },
	{ "node_context_switches_total", COUNTER, 2e5, 2e4, 10, 1 }, { "node_intr_total", COUNTER, 3e5, 2e4, 10, 1 },
	{ "node_forks_total", COUNTER, 5, 4, 10, 1 }, { "node_procs_running", NOISE, 20, 8, 1, 1 },
	{ "node_pressure_cpu_waiting_seconds_total", COUNTER, 0.05, 0.02, 1, 1 }, { "node_pressure_io_waiting_seconds_total", STILL, 0, 0, 1, 5 },
	{ "node_load1", WALK, 15, 1, 10, 3 }, { "node_memory_Active_bytes", NOISE, 5e11, 4e7, 10, 15 },
	{ "node_memory_MemTotal_bytes", STILL, 2e12, 0, 10, 38 }, { "node_vmstat_pgfault", COUNTER, 5e5, 9e4, 10, 4 },
	{ "node_softirqs_total", COUNTER, 1e5, 1e4, 10, 7 }, { "node_disk_io_time_seconds_total", COUNTER, 0.1, 0.05, 10, 12 },
	{ "node_disk_reads_merged_total", STILL, 0, 0, 10, 24 },
	{ "node_network_receive_bytes_total", COUNTER, 1e6, 3e5, 10, 8 }, { "node_network_receive_errs_total", STILL, 0, 0, 10, 60 },
	{ "node_netstat_Tcp_InSegs", COUNTER, 1e4, 2e3, 15, 4 }, { "node_hwmon_temp_celsius", WALK, 15, 1, 15, 40 },
	{ "node_rapl_package_joules_total", COUNTER, 300, 20, 15, 4 }, { "aon_pcie_errors_total", STILL, 0, 0, 15, 300 },
	{ "aon_memory_bandwidth_bytes_total", COUNTER, 1e11, 1e10, 10, 4 },
};
static struct kind port[] = {
	{ "node_infiniband_port_data_received_bytes_total", COUNTER, 2e10, 3e9, 10, 2 },
	{ "node_infiniband_port_packets_received_total", COUNTER, 5e6, 7e5, 10, 2 }, { "node_infiniband_port_transmit_wait_total", COUNTER, 1e5, 9e4, 10, 1 },
	{ "node_infiniband_symbol_error_total", STILL, 0, 0, 15, 28 },
};
/* clang-format on */

struct line {
	const struct kind *k;
	const struct metric *m;
	double v, sent, ar;
	bool told;
};

#define LINES 8192u
static struct line line[LINES];
static uint32_t lines;
static struct change change[TELEMETRY_CHANGES_MAX];

static double gauss(void)
{
	double u = drand48() + 1e-12, v = drand48();

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void move(struct line *l)
{
	const struct kind *k = l->k;

	switch (k->shape) {
	case STILL:
		l->v = k->level;
		break;
	case NOISE:
		l->ar = 0.7 * l->ar + 0.7 * gauss();
		l->v = fmax(0, k->level + k->by * l->ar);
		if (!strncmp(k->metric, "node_memory_", 12)) /* in pages */
			l->v = floor(l->v / 4096) * 4096;
		break;
	case WALK:
		l->v = l->v == 0 ? k->level : l->v;
		if (drand48() < 0.05)
			l->v += drand48() < 0.5 ? -k->by : k->by;
		break;
	case STEPS:
		if (l->v == 0 || drand48() < 0.05)
			l->v = k->level - k->by * floor(drand48() * 3);
		break;
	case COUNTER:
		l->v += fmax(0, (k->level + k->by * gauss()) * k->every);
		break;
	}
}

static void add(struct store *st, const struct kind *k, size_t kinds, unsigned devices)
{
	struct series s = { 0 };
	uint32_t id;

	for (unsigned d = 0; d < devices; d++)
		for (size_t i = 0; i < kinds; i++)
			for (unsigned n = 0; n < k[i].n && lines < LINES - 1; n++) {
				const struct metric *m = metric_by_name(k[i].metric);

				if (!m) {
					fprintf(stderr, "%s is in no table\n", k[i].metric);
					exit(1);
				}
				s.metric = m->number;
				snprintf(s.device, sizeof(s.device), "%s%u",
					 *m->device ? "device" : "", d);
				snprintf(s.labels, sizeof(s.labels), "of=\"%u.%u\"", (unsigned)i,
					 n);
				if (store_series(st, &s, &id) < 0 || id >= LINES)
					exit(1);
				line[id] = (struct line){ .k = &k[i], .m = m };
				lines = id > lines ? id : lines;
			}
}

static void levels(int argc, char *argv[])
{
	for (int i = 2; i < argc; i++)
		for (size_t k = 0; k < sizeof(gpu) / sizeof(gpu[0]); k++) {
			size_t n = strlen(gpu[k].metric);

			if (!strncmp(argv[i], gpu[k].metric, n) && argv[i][n] == '=')
				gpu[k].level = atof(argv[i] + n + 1);
		}
}

static void block(struct store *st, uint64_t from_s)
{
	static uint64_t tick_ns[TICKS];
	struct telemetry_block b = {
		.source = 1, .ticks = TICKS, .tick_ns = tick_ns, .change = change
	};

	for (uint32_t id = 1; id <= lines; id++)
		line[id].told = false;
	for (uint32_t t = 0; t < TICKS; t++) {
		/* A timer is late by some milliseconds. */
		tick_ns[t] = (1000 + from_s + t) * S + (uint64_t)(fabs(gauss()) * 5e6);
		for (uint32_t id = 1; id <= lines; id++) {
			struct line *l = &line[id];
			double v;

			if ((from_s + t) % l->k->every == 0)
				move(l);
			v = metric_round(l->m, l->v);
			if (l->told && v == l->sent)
				continue;
			l->told = true;
			l->sent = v;
			change[b.changes++] = (struct change){ id, t, v };
		}
	}
	if (store_telemetry(st, &b, true) < 0 || store_commit(st, tick_ns[TICKS - 1]) < 0)
		exit(1);
}

static double megabytes(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 ? (double)sb.st_size / 1e6 : 0;
}

int main(int argc, char *argv[])
{
	struct store_opts o = { .create = true };
	struct store *st;
	double before, day, samples;

	if (argc < 2 || store_open_rw(&st, argv[1], &o, NULL) < 0)
		return 1;
	srand48(7);
	levels(argc, argv);
	add(st, gpu, sizeof(gpu) / sizeof(gpu[0]), 8);
	add(st, core, sizeof(core) / sizeof(core[0]), 192);
	add(st, node, sizeof(node) / sizeof(node[0]), 1);
	add(st, port, sizeof(port) / sizeof(port[0]), 8);
	store_commit(st, 1);
	store_close(st);
	before = megabytes(argv[1]);
	if (store_open_rw(&st, argv[1], &o, NULL) < 0)
		return 1;
	for (unsigned i = 0; i < HOURS * 3600 / TICKS; i++)
		block(st, (uint64_t)i * TICKS);
	store_close(st);
	day = (megabytes(argv[1]) - before) * 24 / HOURS;
	samples = 0;
	for (uint32_t id = 1; id <= lines; id++)
		samples += 86400.0 / line[id].k->every;
	printf("{\"mb_day\": %.3f, \"series\": %u, \"bytes_sample\": %.3f}\n", day, lines,
	       day * 1e6 / samples);
	return 0;
}
