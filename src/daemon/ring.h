/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - aond's end of a ring of live events (abi/consume.h): writes, and waits for nobody. */
#ifndef AON_DAEMON_RING_H
#define AON_DAEMON_RING_H

#include <stddef.h>
#include <stdint.h>

#include "abi/consume.h"
#include "model/event.h"

struct ring {
	int fd;               /* owned */
	struct aon_ring *map; /* owned; the only writable mapping there will ever be */
	uint64_t count;       /* ours: what the page says is for readers */
	uint64_t head;
};

int ring_open(struct ring *r, uint64_t records); /* rounded down to a power of two, at least 64 */
void ring_close(struct ring *r);
void ring_write(struct ring *r, uint32_t process, uint32_t pid, const struct event *ev, size_t n);

#endif /* AON_DAEMON_RING_H */
