/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_jobs.h - captures ordered through the page, each on its own thread
 * (capture/node_capture.h).
 *
 * aond checks which user runs the server and applies its usual rules: the server may capture what
 * that user may capture. Traces are written to a folder of the server and deleted with it.
 */
#pragma once

#include <stdint.h>

#include "base/json.h"

#define ORDER_PIDS    128u
#define ORDER_TRIGGER 200u /* bytes */

struct ordered;
struct run;

/* What to capture: so many steps or milliseconds of these processes. */
struct order_want {
	uint64_t steps, ms, before_ms;
	const char *trigger; /* NULL: start at once */
	uint32_t pid[ORDER_PIDS];
	uint32_t pids;
};

/* `folder` exists and belongs to the server alone. 0 or -ENOMEM. */
int ordered_new(struct ordered **out, const char *folder);
/*
 * Cancels running captures (aond stops recording details at once) and removes the traces. NULL is
 * allowed.
 */
void ordered_free(struct ordered *o);

/* Starts a capture and sets its number. -EBUSY: too many are running. Thread-safe. */
int order_begin(struct ordered *o, const struct run *r, const struct order_want *w,
		uint32_t *number);
/* -ENOENT: no running capture has that number. */
int order_cancel(struct ordered *o, const struct run *r, uint32_t number);
/* An array of the captures of a run, newest first. */
void ordered_json(struct json *j, const char *key, struct ordered *o, const struct run *r);
/* The file of a trace: a descriptor, or -ENOENT. */
int order_open(struct ordered *o, const struct run *r, uint32_t number);
