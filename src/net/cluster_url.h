/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_url.h - where a cluster is:
 *
 *	clickhouse://[USER@]HOST:PORT[,HOST:PORT...][;HOST:PORT...]/DATABASE[?tls=yes&cluster=NAME&replicated=yes&quorum=N]
 *	https://HOST:PORT          a relay; http:// on the loopback device only
 *
 * A comma lies between replicas of a shard, a semicolon between shards. cluster: the name that the servers'
 * configuration has for all of them, needed if there are shards. No password stands in it: it would be seen in
 * lists of processes. IPv6 addresses stand in brackets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/fmt.h"

#define CLUSTER_SERVERS 64u
#define CLUSTER_WORD    64u

enum cluster_kind { CLUSTER_CLICKHOUSE, CLUSTER_RELAY };

struct cluster_server {
	char host[254]; /* without brackets */
	uint16_t port;
	uint32_t shard; /* from 0 */
};

struct cluster_url {
	enum cluster_kind kind;
	bool tls, replicated;
	uint32_t quorum; /* replicas that must have an insert; 0: as the servers say */
	uint32_t servers, shards;
	struct cluster_server server[CLUSTER_SERVERS];
	char user[CLUSTER_WORD + 1], db[CLUSTER_WORD + 1], cluster[CLUSTER_WORD + 1];
};

struct net_why {
	char text[512];
};

/* -EINVAL: *why names what was expected, and where. */
int cluster_url_parse(struct cluster_url *out, const char *text, struct net_why *why);

/* "127.0.0.1:8123", "[::1]:8123": for messages and as a replica's name. */
#define CLUSTER_HOST 272u
char *cluster_host(char out[CLUSTER_HOST], const struct cluster_server *s);
