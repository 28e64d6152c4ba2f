/* SPDX-License-Identifier: Apache-2.0 */
/* slot.h - programs without steps: time slots take the place of steps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/core/loop.h"

struct roster;

/* Of a process. */
struct slot {
	bool on;           /* it has no steps, but launches */
	uint64_t launches; /* a second ago */
	uint64_t number;   /* of the slot under way; 0: none */
	uint64_t ns;       /* when that began */
	uint64_t at_begin; /* launches then */
};

/* Of all. */
struct slots {
	struct watch timer; /* timerfd, owned */
	bool armed;
};

int slot_init(struct roster *r);
void slot_fini(struct roster *r);
void slot_tick(struct roster *r); /* before budget_tick() */
