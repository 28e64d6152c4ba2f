/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - aond's end of a ring of live events (abi/consume.h): it writes, and never waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/consume.h"
#include "model/event.h"
#include "model/process.h"

struct ring {
	int fd;               /* owned */
	struct aon_ring *map; /* owned; the only writable mapping there will ever be */
	uint64_t count;       /* ours: what the page says is for readers */
	uint64_t head, skipped;
	uint32_t words; /* of a record */
};

/* Of events, or of windows. `bytes` are rounded down to a power of two of records, at least 64. */
int ring_open(struct ring *r, uint64_t bytes, bool windows);
void ring_close(struct ring *r);
/* Those whose kind is in `kinds`; how many that were. */
size_t ring_write(struct ring *r, const struct process *p, uint64_t kinds, const struct event *ev,
		  size_t n);
void ring_window(struct ring *r, struct aon_consumer_window *w); /* its seq is filled */
void ring_skip(struct ring *r, size_t n); /* counts events that belong here and are not written */
