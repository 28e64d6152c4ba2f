/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_jobs.h - captures that were ordered through the page: a thread each
 * (capture/node_capture.h).
 *
 * aond sees at its socket which user serves and applies its usual rules: a server may capture what
 * that user may capture. Traces are in a folder of the server's, and are deleted with it.
 */
#pragma once

#include <stdint.h>

#include "base/json.h"

#define ORDER_PIDS    128u
#define ORDER_TRIGGER 200u /* bytes */

struct ordered;
struct run;

/* What is asked for: steps or ms; of these processes. */
struct order_want {
	uint64_t steps, ms, before_ms;
	const char *trigger; /* NULL: at once */
	uint32_t pid[ORDER_PIDS];
	uint32_t pids;
};

/* folder: exists, and is only ours. 0 or -ENOMEM. */
int ordered_new(struct ordered **out, const char *folder);
/* Ends those under way: aond lowers the processes at once. Removes the traces. NULL is allowed. */
void ordered_free(struct ordered *o);

/* 0 and its number, or -EBUSY: so many are under way; or another -errno. Any thread. */
int order_begin(struct ordered *o, const struct run *r, const struct order_want *w,
		uint32_t *number);
/* -ENOENT: there is none of that number under way. */
int order_cancel(struct ordered *o, const struct run *r, uint32_t number);
/* Of a run, the newest first: an array. */
void ordered_json(struct json *j, const char *key, struct ordered *o, const struct run *r);
/* The trace: a descriptor, or -ENOENT. */
int order_open(struct ordered *o, const struct run *r, uint32_t number);
