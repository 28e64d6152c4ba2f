/* SPDX-License-Identifier: Apache-2.0 */
/* priv.h - an open cluster, shared by the files of this folder. */
#pragma once

#include <pthread.h>

#include "fleet/fleet.h"
#include "net/http.h"

#define FLEET_CLIENTS 4u          /* queries at the same time; more wait */
#define FLEET_ANSWER  (64u << 20) /* limit on the bytes of an answer */
#define FLEET_MS      60000u
#define FLEET_ASK_S   30 /* limit on the server's time for a query */

/* The part of the cluster that the URL opens as a store. */
struct fleet_pick {
	char job[FLEET_WORD], capture[FLEET_WORD];
	int32_t rank;            /* -1: all */
	uint64_t from_ns, to_ns; /* to 0: now */
};

struct fleet {
	struct cluster_url url;
	char shown[sizeof(FLEET_PREFIX) + CLUSTER_HOST + CLUSTER_WORD + 2];
	char cluster[FLEET_WORD];
	struct fleet_pick pick;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t freed;
	struct http *client[FLEET_CLIENTS]; /* owned */
	bool busy[FLEET_CLIENTS];
	uint32_t first; /* index of the server that answered last */
};

/* -errno and `why` set. */
#define fleet_because(why, err, ...) ((why) ? why_say(why, err, __VA_ARGS__) : (err))

/* fleet.c: runs one query and passes its answer on unparsed. */
typedef int fleet_read_fn(struct fleet *f, const struct http_answer *a, void *arg,
			  struct store_why *why);
int fleet_ask_with(struct fleet *f, const char *sql, uint32_t seconds, fleet_read_fn *read,
		   void *arg, struct store_why *why);

/* address.c: parses the URL; nothing is sent. */
int fleet_address(struct fleet **out, const char *url, const struct http_files *files,
		  struct store_why *why);
