/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weigh.h - the weight of an event: how many steps its recorded step stands for (abi/trial.h).
 *
 * Work that was launched in a recorded step may run after the next steps, which are unsampled, have
 * begun: an event has the weight of the last recorded step that began before it.
 */
#pragma once

#include <stdint.h>

#define WEIGH_CHANGES 64u /* remembered; they come about once a second */

struct weigh {
	struct weigh_change {
		uint64_t from_ns;
		uint32_t weight;
	} change[WEIGH_CHANGES]; /* a ring */
	uint32_t n;              /* changes so far; 0: every weight is 1 */
};

/* A recorded step of that weight began, or begins. */
void weigh_step(struct weigh *w, uint64_t from_ns, uint32_t weight);
uint32_t weigh_at(const struct weigh *w, uint64_t ns);
