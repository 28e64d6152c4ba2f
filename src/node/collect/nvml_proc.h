/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_proc.h - what NVML says of each process on a GPU: memory, shares, and the driver's account. */
#pragma once

#include "abi/nvml_abi.h"

struct emit;

/* Any may be NULL: this driver lacks it. */
struct nvml_proc_calls {
	int (*running)(nvml_dev, unsigned *, struct nvml_process *);
	int (*share)(nvml_dev, struct nvml_share *, unsigned *, unsigned long long);
	int (*accounting)(nvml_dev, unsigned *);
	int (*account)(nvml_dev, unsigned, struct nvml_account *);
};

/* A GPU: its names are borrowed. */
struct nvml_proc_gpu {
	nvml_dev dev;
	const char *device, *labels;
	unsigned long long *seen_us; /* the newest sample of shares that was read */
	unsigned group;              /* of emit.h */
};

void nvml_proc_poll(const struct nvml_proc_calls *c, const struct nvml_proc_gpu *g, struct emit *e);
