/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - captures that users order, and their state on each node.
 *
 *	a user: capture of job J, 5 steps --> which nodes have told of J; a step that is ahead of all
 *	a node: polls, telling of its jobs <-- the order, at once if it waits
 *	a node: a file a rank, then the end, or why not
 *	the user: asks until all have answered, fetches the files
 *
 * Orders do not outlive the relay: the requester asks again. All under relay.lock.
 */
#pragma once

#include "relay/priv.h"

#define ORDERS_MAX    16u
#define ORDER_NODES   256u /* nodes of one order */
#define ORDER_PARTS   64u  /* files of one node */
#define ORDER_KEEP_S  900u
#define ORDER_LINES   4096u /* bytes kept of a node's list of jobs */
#define ORDER_AHEAD_S 4u    /* after this an order has reached every polling node */
#define POLL_S        5u    /* maximum age of a node's report of its steps */
#define GRACE_S       15u   /* for the transfer of a trace, after its capture has ended */
#define SEAT_OLD_S    60u   /* a node that has not polled for this long is down */
#define JOB_BYTES     48u
#define RANKS_BYTES   64u

enum order_state { ORDER_WAITS, ORDER_GIVEN, ORDER_DONE, ORDER_FAILED };

struct order_node {
	char name[ACCESS_NAME];
	enum order_state state;
	uint32_t parts;
	char part[ORDER_PARTS][24]; /* names of its files */
	uint64_t bytes;
	char why[160];
};

struct order {
	uint64_t id; /* 0: unused */
	char who[ACCESS_NAME], job[JOB_BYTES];
	char ranks[RANKS_BYTES]; /* "1,5,9"; empty: all ranks */
	uint64_t steps, ms, from, timeout_s;
	uint64_t at_ns;          /* CLOCK_MONOTONIC */
	struct order_node *node; /* owned */
	size_t n;
};

/* A node that polls. */
struct seat {
	char name[ACCESS_NAME];
	char *lines;             /* owned: its jobs, as it reported them; NULL: none */
	uint64_t at_ns, last;    /* last: the last order that it has seen */
	struct relay_request *q; /* its suspended request; NULL: it is not waiting */
};

struct orders {
	struct order order[ORDERS_MAX];
	struct seat *seat; /* owned: NODES_MAX */
	size_t seats;
	uint64_t ids;
	struct {
		char who[ACCESS_NAME];
		uint64_t hour, n;
	} used[64]; /* captures per user in this hour */
};

struct order *order_find(struct orders *s, uint64_t id);
struct order_node *order_node_of(struct order *o, const char *name);
void order_path(const struct relay *r, const struct order *o, const char *node, const char *part,
		char out[PATH_MAX + 256]);
void order_end(struct relay *r, struct order *o); /* deletes its files */
bool order_over(const struct order *o);           /* every node has answered */

/* What a node reports about a job; false: nothing. */
struct job_line {
	uint64_t step, step_ns, ranks;
};
bool seat_job(const struct seat *s, const char *job, struct job_line *out);
