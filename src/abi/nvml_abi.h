/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml_abi.h - the part of NVML's public interface that aon uses. It is declared here so that aon builds
 * without NVIDIA's header and runs with any driver. tests/unit/app/test_nvml_abi.c compares with NVIDIA's nvml.h.
 */
#pragma once

typedef struct nvml_device *nvml_dev;

enum nvml_return {
	NVML_OK = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_VERSION_MISMATCH = 18,
};

struct nvml_utilization {
	unsigned gpu, memory;
};

struct nvml_memory {
	unsigned long long total, free, used;
};

struct nvml_memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char bus_id[32];
};

struct nvml_violation {
	unsigned long long reference_us, violation_ns;
};

struct nvml_process {
	unsigned pid;
	unsigned long long memory;
	unsigned gpu_instance, compute_instance;
};

/* Of a process in a short time; percent. */
struct nvml_share {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder;
};

/* Of a process since it began, where accounting mode is on. */
struct nvml_account {
	unsigned gpu, memory;
	unsigned long long peak_bytes, time_ms, start_us;
	unsigned running, reserved[5];
};

struct nvml_field {
	unsigned field, scope;
	long long timestamp, latency_us;
	unsigned
		type; /* 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 signed long long, 5 int */
	int result;
	union {
		double d;
		int i;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
		long long ll;
	} value;
};

struct nvml_event {
	nvml_dev device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};
#define NVML_EVENT_XID 0x8ull
#define NVML_EVENT_DBE 0x2ull

struct nvml_gpm_support {
	unsigned version, supported;
};

struct nvml_gpm_metric {
	unsigned id;
	int result;
	double value;
	const char *info[3];
};

#define NVML_GPM_MAX 512u /* more than any version has */
struct nvml_gpm {
	unsigned version, metrics;
	void *before, *after;
	struct nvml_gpm_metric metric[NVML_GPM_MAX];
};
