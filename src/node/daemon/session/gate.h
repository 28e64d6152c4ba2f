/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - a session's gate: aond writes it, the process can only read it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/gate.h"
#include "abi/trial.h"
#include "model/process.h"

struct gate {
	int fd;               /* owned */
	struct aon_gate *map; /* owned; the only writable mapping there will ever be */
	bool locked;          /* stays shut, whatever the tier */
	uint32_t drop;        /* AON_WANT_* that the fidelity level drops */
	bool stepless;        /* no steps come: what unsampled steps drop is wanted, too */
	bool unsampled;       /* an unsampled slot is under way: slot.c */
};

int gate_open(struct gate *g);
void gate_close(struct gate *g);

void gate_tier(struct gate *g, enum tier tier);
void gate_ops(struct gate *g, enum tier tier, uint32_t every); /* tier full: every step */
void gate_capture(struct gate *g, uint32_t number, uint32_t ms);
void gate_room(struct gate *g, uint32_t number, uint32_t ms);
void gate_counters(struct gate *g, bool free); /* of GPUs: nobody else has them */
void gate_trial(struct gate *g, struct aon_trial t, uint64_t seed);
void gate_shut(struct gate *g); /* nothing is wanted any more */
void gate_lock(struct gate *g); /* the same, for good */
void gate_quiet(struct gate *g);
void gate_beat(struct gate *g);
