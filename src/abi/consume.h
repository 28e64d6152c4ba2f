/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consume.h - the ring of live events: a memfd that aond alone writes and any number of a user's
 * consumers read.
 *
 *	consumer                            aond
 *	"subscribe" [NEED..] ------------>              on the admin socket, or after AON_MSG_ASK;
 *	                                                what it needs: daemon/control/subscribe_parse.h
 *	                     <------------  "ring" + memfd
 *	"name 17"            ------------>              at any time
 *	                     <------------  "name 17 ok TEXT"
 *	"track 3"             ------------>
 *	                     <------------  "track 3 ok PROCESS DEVICE CONTEXT STREAM NAME"
 *	"process 2"          ------------>
 *	                     <------------  "process 2 ok PID UID RANK WORLD HERE", then COMM, JOB, RUN
 *	                                                and NODE, each behind a TAB; RANK is + 1
 *	"processes 0"        ------------>              those that are here and may be seen, by number
 *	                     <------------  "processes 0 ok 2 7 9"; those from a number on, in order
 *
 * An answer is one packet: the question, then "ok" with the value, "later" (ask again) or "none".
 * A subscription lasts as long as its connection. A client that asks too often has to wait.
 *
 * Records begin at AON_PAGE, number n at n % count. aond raises `begin` beyond what it is about to
 * write, writes, then raises `head`. A reader copies records below `head` and then reads `begin`:
 * its copy of number n is valid if n + count >= begin. The reader takes no lock, and aond never waits.
 *
 * aond counts the events that it does not write (a quota, a budget) in `skipped`. A record's `seq`
 * is its number plus what was skipped before it, so each loss is a gap in `seq` at its place.
 *
 * A ring holds events (struct aon_consumer_event) or rollups (struct aon_consumer_window);
 * record_bytes tells which.
 */
#pragma once

#include <stdint.h>

#include <aon/consumer.h>

#include "abi/segment.h"

#define AON_RING_MAGIC   0x31474e4952414f4eull
#define AON_RING_VERSION 1u

struct aon_ring {
	uint64_t magic;
	uint32_t version;
	uint32_t record_bytes;
	uint64_t count; /* of records; a power of two */
	uint64_t id;    /* a random id of this ring; 0: it has none */
	uint64_t reserved[4];
	uint64_t begin;   /* numbers below this are written, or being written */
	uint64_t head;    /* numbers below this are written */
	uint64_t skipped; /* events that belong here and were not written */
};

#define AON_RING_WORDS (sizeof(struct aon_consumer_window) / sizeof(uint64_t)) /* at most */

_Static_assert(sizeof(struct aon_consumer_event) == 64, "ring layout is ABI");
_Static_assert(sizeof(struct aon_consumer_window) == 128, "ring layout is ABI");
_Static_assert(sizeof(struct aon_ring) <= AON_PAGE, "records follow at a page");
