/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus.h - which GPUs a process may use: the list in its environment (numbers, UUIDs, parts of a
 * GPU), and their names in the driver.
 */
#pragma once

#include <stdint.h>

#include "model/node.h"
#include "model/process.h"

#define GPUS_MAX 64u

/* As NVIDIA's driver describes them, in the order of their place on the bus: NVML's numbers. */
struct gpus {
	struct gpus_one {
		char bus[16], uuid[48], model[48];
	} gpu[GPUS_MAX];
	uint32_t n;
};

/* Reads DIR/BUS/information of each; a folder that is not there has none. */
void gpus_load(struct gpus *g, const char *dir);
/* The driver's version and the GPUs' model, of DIR as above, whose parent has the version. */
void gpus_node(const struct gpus *g, const char *dir, struct node_ident *n);

/* "0,3", "GPU-uuid,...", "MIG-uuid", "all": fills gpu_uuid and mig of a process. Any other text
 * changes nothing. */
void gpus_visible(const struct gpus *g, const char *list, struct ident *to);
