/* SPDX-License-Identifier: Apache-2.0 */
/* join.h - explains a store's work by its telemetry (insight/find/join.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct insight;
struct join;
struct store;

/*
 * Sets in->join from the telemetry and the work in [from_ns, to_ns) (to_ns 0: to the end). With too
 * little telemetry nothing is set. 0 or -errno.
 */
int read_join(struct insight *in, struct store *st, uint64_t from_ns, uint64_t to_ns);

/* --- for join*.c only --- */

/* A device, and how to find its telemetry. */
struct join_who {
	uint32_t process; /* id in the store */
	uint32_t at;      /* index in the join */
	uint32_t device;
	char node[64], uuid[96], job[48], pod[40];
};

int join_series(struct join *j, struct store *st, const struct join_who *who, size_t n,
		uint64_t from_ns, uint64_t to_ns);
