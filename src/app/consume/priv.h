/* SPDX-License-Identifier: Apache-2.0 */
/* priv.h - the consumer's state, shared by consumer.c and ask.c. */
#pragma once

#include <stdbool.h>

#include "abi/consume.h"
#include "consume/thin.h"

#define BATCH     256u /* records copied at a time */
#define ANSWER_MS 2000 /* for an answer of aond */

struct kept_track {
	uint32_t id; /* 0: none */
	struct aon_consumer_track track;
};

struct aon_consumer {
	int sock;                   /* owned: the lease */
	const struct aon_ring *map; /* owned, read-only */
	size_t bytes;
	uint64_t count; /* as checked: the page is not read again */
	uint64_t words; /* of a record */
	uint64_t at;    /* number of the next record to copy */
	uint64_t seq;   /* that the next event should have */
	uint64_t lost, weight;
	uint64_t kinds;
	uint32_t *pid; /* owned */
	size_t pids;
	uint32_t priority, flags;
	struct thin thin;
	char **name; /* owned, by id */
	size_t names;
	struct kept_track *track; /* owned: a table by id */
	bool ended;               /* aond closed the lease */
	uint32_t from, to;        /* of buf: not handed out yet */
	uint64_t buf[BATCH * AON_RING_WORDS];
};

void ask_fini(struct aon_consumer *c);
