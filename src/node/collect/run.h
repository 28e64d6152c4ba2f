/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - one collector in its process: opened, polled once an interval, connected to aond. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "collect/collect.h"

#define RUN_NOTHING 3 /* exit: there is nothing to measure here */

struct collector_run {
	const struct collector *is;
	struct collect_env env;
	const char *socket; /* of aond; NULL: text on standard output */
	uint32_t polls;     /* then it ends; 0: never */
	/* When open or the poll that is under way began, 0: none is. The supervisor reads it. */
	_Atomic uint64_t *since_ns;
};

/* Until it is killed, or there is no more to do: an exit status. */
int run_collector(const struct collector_run *r);
