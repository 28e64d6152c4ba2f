/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - NVIDIA's GPUs of a node as facts, from NVML or from a log of nvidia-smi. */
#pragma once

#include "validate/facts.h"

#define GPUS_MAX   64u
#define GPUS_LINKS 36u

/* Unknown numbers are NAN, unknown words "". Serial numbers and UUIDs are not kept. */
struct gpu_seen {
	char name[96], vbios[48], inforom[48], bus[32], mig[8];
	double persistence, ecc, ecc_next;             /* 0 off, 1 on */
	double limit_W, usual_W, most_W;               /* power */
	double gen, gen_max, width, width_max, pstate; /* PCIe; P0 is 0 */
	double pending, failed, uncorrected, memory_mib;
	double links, links_up; /* NVLink */
	double slowed;          /* 1: the hardware slows its clocks now */
};

void gpu_seen_init(struct gpu_seen *g);
/* Facts of each, "gpu/0/...", and of all together, what advice.tbl.h asks for. */
void gpus_put(struct facts *f, const struct gpu_seen *g, unsigned n);
/* The bits of clocks' reasons by which hardware slows down: slowdown, heat, power brake. */
#define GPUS_SLOWED 0xc8ull

/*
 * Asks NVML in a process of its own, for `limit_ms` at most. "gpu/nvml" is "ok", or the error; it
 * is missing if there is no library and no NVIDIA GPU on the bus. `library` NULL: the driver's.
 */
void gpus_ask(struct facts *f, const char *library, unsigned limit_ms);
