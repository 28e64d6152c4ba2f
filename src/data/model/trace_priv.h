/* SPDX-License-Identifier: Apache-2.0 */
/* trace_priv.h - private state of a trace, shared by trace.c, trace_seal.c and trace_sum.c. */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "model/trace_sum.h"

/* Of events; huge pages would round smaller ones up by too much. */
#define TRACE_HUGE_FROM (64ul << 20)

struct trace_priv {
	size_t cap_event;
	size_t cap_stack, cap_frame;
	struct lookup by_name, by_process, by_device, by_track, by_geo;
	char *arena; /* the chunk being filled; its first word links to the one before */
	size_t arena_used, arena_cap;
	bool sealed;
	size_t batch; /* 0: all events are kept */
	trace_batch_fn *batch_fn;
	void *batch_arg;
	struct trace_sums sums;
};
