/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send.h - sends batches of a spool to ClickHouse or to a relay: the oldest first, one after the
 * other, each until it has arrived. A failure is retried after a delay that doubles and has jitter,
 * so that a thousand nodes do not come back at once.
 */
#pragma once

#include "net/http.h"
#include "ship/spool/netday.h"
#include "ship/spool/spool.h"

struct send;

struct send_opts {
	struct http_files files;
	uint32_t timeout_ms;
	uint64_t bytes_s;   /* limit on bytes per second; 0: none */
	uint64_t seed;      /* seed of the jitter */
	struct netday *day; /* borrowed: the rest of the day's limit */
};

struct send_stat {
	uint64_t batches, rows; /* batches and rows that arrived */
	uint64_t wire;          /* bytes on the network, both ways */
	uint64_t failures, poison;
	uint64_t next_ns;      /* CLOCK_MONOTONIC: earliest next try */
	int32_t clock_off_us;  /* how far the relay's clock is ahead of ours */
	uint32_t clock_err_us; /* UINT32_MAX: not known */
	char trouble[512];     /* the last error; "" after a success */
};

int send_new(struct send **out, const struct cluster_url *url, const struct send_opts *o,
	     struct net_why *why);
void send_free(struct send *s); /* NULL is allowed */

/*
 * Sends what is in the spool, until `until_ns` (CLOCK_MONOTONIC, as now_ns) or a failure: 0, or
 * -errno of the spool.
 */
int send_round(struct send *s, struct spool *spool, uint64_t now_ns, uint64_t until_ns);

const struct send_stat *send_stat(const struct send *s);
