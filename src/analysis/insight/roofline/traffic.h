/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic.h - what moved between devices, and between them and the host, compared with what the
 * links can carry.
 *
 * A row is all copies of one direction on one device, or all collectives of one operation, size and
 * group. A collective takes the time that its bytes need, plus the wait for ranks that come later.
 * If all its ranks are in the trace, the two are separated: the last rank to arrive did not wait
 * (insight.h, waits). Otherwise the fastest call is an upper bound for the bytes; if that is long,
 * the verdict says that the two cannot be separated.
 */
#pragma once

#include "theory/collective.h"

struct insight;

enum traffic_is {
	TRAFFIC_UNKNOWN,  /* the bytes, the ranks or the device are not known */
	TRAFFIC_LATENCY,  /* the start takes longer than moving the bytes */
	TRAFFIC_LINK,     /* as fast as its links allow */
	TRAFFIC_MEMORY,   /* as fast as the device's memory allows: within one device */
	TRAFFIC_NETWORK,  /* as fast as the network; the ranks may be on several nodes */
	TRAFFIC_WAITING,  /* mostly waits for late ranks: the links are not the cause */
	TRAFFIC_PAGEABLE, /* slower than that: one end is memory that is not pinned */
	TRAFFIC_SLOW,     /* slower than that, for no known reason */
	TRAFFIC_UNSURE,   /* waiting or slow: other ranks were not recorded */
	TRAFFIC_WORDS,
};

extern const char *const traffic_word[TRAFFIC_WORDS];

struct traffic_row {
	int32_t rank;
	uint32_t file, device; /* of the trace */
	bool collective;
	uint8_t direction; /* of copies: AON_COPY_* */
	bool pageable;
	enum coll_op op; /* COLL_OPS: not known */
	uint32_t group;  /* a name; 0: unknown */
	uint32_t ranks;  /* 0: not known */
	uint64_t bytes;  /* of all calls; of a collective the greater of in and out */
	uint64_t count, total_ns;
	uint64_t least_ns;              /* the fastest call of such a row on any device */
	uint64_t matched_ns, waited_ns; /* in calls with all ranks seen, and the waiting part */
	enum traffic_is is;
	double wire_Bps;  /* peak rate of the links, one way; 0: not known */
	double carry_ns;  /* the total without waiting */
	double should_ns; /* expected time of all calls, by the model; 0: not known */
	uint32_t class;   /* of traffic.c */
};

struct traffic {
	struct traffic_row *row; /* owned, longest first */
	size_t rows;
};

void traffic_fini(struct traffic *t);

/* Bytes by time; for a collective the algorithmic and bus bandwidth of nccl-tests, without waiting.
 * 0: not known. */
double traffic_Bps(const struct traffic_row *r);
double traffic_bus_Bps(const struct traffic_row *r);
/* The share of the links' or the memory's peak that was reached. 0: not known. */
double traffic_fraction(const struct traffic_row *r);
/* The time beyond the expected one, without waiting; 0: none, or not known. */
uint64_t traffic_lost_ns(const struct traffic_row *r);

const char *traffic_direction(const struct traffic_row *r); /* of copies, for people */
