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
	uint64_t bytes_s;   /* what may be sent in a second; 0: no limit */
	uint64_t seed;      /* of chance */
	struct netday *day; /* borrowed: what is left of the day's bytes */
};

struct send_stat {
	uint64_t batches, rows; /* that arrived */
	uint64_t wire;          /* bytes, both ways */
	uint64_t failures, poison;
	uint64_t next_ns;      /* CLOCK_MONOTONIC: not before then */
	int32_t clock_off_us;  /* by which a relay's clock is ahead of ours */
	uint32_t clock_err_us; /* UINT32_MAX: not known */
	char trouble[512];     /* the last, "" since something arrived */
};

int send_new(struct send **out, const struct cluster_url *url, const struct send_opts *o,
	     struct net_why *why);
void send_free(struct send *s); /* NULL is allowed */

/*
 * Sends what there is, until `until_ns` (CLOCK_MONOTONIC) or a failure: 0, or -errno of the spool. now_ns: the
 * same clock.
 */
int send_round(struct send *s, struct spool *spool, uint64_t now_ns, uint64_t until_ns);

const struct send_stat *send_stat(const struct send *s);
