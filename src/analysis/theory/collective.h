/* SPDX-License-Identifier: Apache-2.0 */
/* collective.h - the expected time of a collective or transfer, from sizes and links. Pure. */
#pragma once

#include <stdint.h>

#include "theory/gpu.h"

enum coll_op {
	COLL_ALL_REDUCE,
	COLL_ALL_GATHER,
	COLL_REDUCE_SCATTER,
	COLL_ALL_TO_ALL,
	COLL_P2P, /* each rank sends to one other, as a permutation does */
	COLL_BROADCAST,
	COLL_OPS
};

extern const char *const coll_op_word[COLL_OPS]; /* "all-reduce" ... */

struct coll {
	enum coll_op op;
	uint64_t bytes;          /* of one rank's whole buffer, the greater of in and out */
	uint32_t ranks;          /* of the communicator */
	uint32_t ranks_per_node; /* that share the fast links; 0: all, up to coll_domain() */
	double net_Bps;          /* of one adapter to other nodes, one way; 0: COLL_NET_BPS */
	uint32_t nics;           /* adapters of a node; 0: one for each of its ranks */
};

#define COLL_NET_BPS 50e9 /* 400 Gb/s, as NVIDIA's DGX H100 and B200 have for each GPU */

struct coll_cost {
	double ns;
	const char *algorithm; /* "ring" "tree" "nvls" "direct", or "none" for one rank */
	const char *limiter;   /* "latency" "link" "network" */
	double algorithm_Bps;  /* bytes by time */
	double bus_Bps;        /* what each link carries, as nccl-tests count it */
};

/*
 * 0; -EINVAL: no bytes, no ranks, or no such operation; -ERANGE: more than 2^60 bytes or 2^24 ranks;
 * -ENOTSUP: nothing is known that connects such devices.
 */
int coll_cost(struct coll_cost *out, const struct gpu *g, const struct coll *c);
/* nccl-tests' bus bandwidth / (bytes / time): depends on the operation and the ranks alone. */
double coll_bus_factor(const struct coll *c);
int coll_time(double *ns, const struct gpu *g, const struct coll *c); /* the same, only the time */

uint32_t coll_domain(const struct gpu *g); /* how many can share the fast links: 8, or 72 */
