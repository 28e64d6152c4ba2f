/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - aon relay: takes batches from the nodes of a few racks, acknowledges them once they are
 * on its disk, and sends them to ClickHouse as large inserts; hands out capture orders.
 *
 * HTTPS with certificates on both sides: the name in a node's certificate identifies it, and a file
 * says what that name may do (access.h). Everything is bounded: connections, bytes in memory, disk,
 * rate per node, orders. docs/relay.md has the protocol.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "net/http.h"
#include "relay/batch_store.h"

struct relay;

struct relay_opts {
	const char *listen; /* "0.0.0.0:8417", "[::1]:0" */
	const char *dir;    /* folder of its data; made if it is missing */
	const char *cert, *key, *ca, *access;
	uint64_t disk_bytes; /* size limit of `dir` */
	/* bytes per second that a node may send, in bursts of up to eight seconds' worth */
	uint64_t node_bytes_s;
	uint32_t connections; /* connections at a time */
	struct freeze_rules freeze;
	/* borrowed: address of ClickHouse; NULL: nothing is sent on */
	const struct cluster_url *url;
	struct http_files files; /* credentials for it */
};

#define RELAY_ROWS     10000u
#define RELAY_ROWS_MAX 500000u
#define RELAY_DISK_MIB 10240u

/* Starts it on its own threads. -errno, with the reason in `why`. */
int relay_start(struct relay **out, const struct relay_opts *o, char why[256]);
void relay_stop(struct relay *r); /* NULL is allowed; stored batches stay on disk */

const char *relay_address(const struct relay *r); /* "127.0.0.1:43211" */
/* Call it once a second, from one thread: time limits, access list, DIR/status.json. */
void relay_tick(struct relay *r);
