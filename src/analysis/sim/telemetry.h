/* SPDX-License-Identifier: Apache-2.0 */
/*
 * telemetry.h - the telemetry of a simulated job's nodes: blocks that fit its faults, as the
 * collectors would report them.
 *
 * It includes harmless oddities (`confound` of the job): a hot GPU that is not throttled, corrected
 * errors, clocks that are low because nothing runs. Values are functions of seed, place and time
 * alone.
 */
#pragma once

#include "sim/engine.h"

struct series;
struct telemetry_block;

struct sim_meter;
struct sim_meter_to {
	int (*series)(void *arg, const struct series *s, uint32_t *id);
	int (*block)(void *arg, const struct telemetry_block *b);
	void *arg;
};

/* The ways in which a kind of fault shows itself. */
const char *sim_how_word(enum fault_kind k, uint32_t how);  /* NULL: there is none */
const char *sim_how_cause(enum fault_kind k, uint32_t how); /* the finding; NULL: none */

int sim_meter_new(struct sim_meter **out, const struct job *j, const struct sim_meter_to *to);
/* Adds the step that was just simulated, with all measurements until its end. */
int sim_meter_step(struct sim_meter *m, const struct play *p);
int sim_meter_end(struct sim_meter *m);
void sim_meter_free(struct sim_meter *m); /* NULL is allowed */
