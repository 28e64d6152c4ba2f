/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gauge.h - the current telemetry of GPUs and network cards, for the records of steps: clocks and
 * why they are low, errors, retransmitted packets. Used by the loop's thread only.
 */
#pragma once

#include <stdbool.h>

#include "model/step_rec.h"
#include "model/telemetry.h"

#define GAUGE_DEVICES 96u

struct gauge_device {
	char name[24], uuid[48]; /* "nvidia0", "mlx5_0"; uuid: of a GPU, else "" */
	double v[STEP_COUNTERS]; /* NAN: not measured; of what is added up: since aond began */
};

struct gauges {
	struct gauge_device device[GAUGE_DEVICES];
	uint32_t n;
};

/* The summed values that a process's records have reported so far. */
struct gauge_said {
	double v[STEP_COUNTERS];
	bool any[STEP_COUNTERS];
};

/* Where a series' values go; NULL: no record has it, or no room. *sum: they are added up. */
double *gauge_of(struct gauges *g, const struct series *s, bool *sum);
/* A series has become `is`, and was `was` (NAN: it was not there). */
void gauge_take(double *to, bool sum, double was, double is);

/*
 * Puts the telemetry of the process's GPU and network card into a record. `gpus`: UUIDs with
 * commas, may be empty; nic: a name, may be empty.
 */
void gauge_put(const struct gauges *g, const char *gpus, const char *nic, struct gauge_said *said,
	       struct step_rec *r);
