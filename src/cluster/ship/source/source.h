/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - follows an aond's store and puts what is new into a spool, together with its cursor,
 * in one commit.
 *
 * The store is only read. Names and processes are put before the rows that refer to them. Rows that
 * were overwritten in the store before they were read are counted as a gap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ship/source/meter.h"
#include "ship/spool/spool.h"
#include "store/store.h"

#define SOURCE_NAME 64u

struct source_opts {
	const char *store;                                               /* path */
	char cluster[SOURCE_NAME], host[SOURCE_NAME], rack[SOURCE_NAME]; /* "": from the store */
	uint64_t backfill_ns; /* of the first look: how far back; 0: all */
	bool events;          /* raw events of captures that alarms started */
};

/* Values of the node's heartbeat that only the caller knows. */
struct source_node {
	uint64_t aond_cpu_ns, rss_bytes;
	int32_t clock_off_us;
	uint32_t clock_err_us; /* UINT32_MAX: not known */
};

struct ship_source;

int source_new(struct ship_source **out, const struct source_opts *o);
void source_free(struct ship_source *s); /* NULL is allowed */

/*
 * Once every few seconds, now_ns wall time. all: also what is not ten seconds old yet. -ENOENT: there is no store
 * (yet); -EBADMSG ...: it cannot be read; *why says it. -ENOSPC: the spool's disk is full; it goes on from the
 * same place the next time. -ENOTRECOVERABLE: the spool must be opened anew.
 */
int source_look(struct ship_source *s, struct spool *spool, const struct source_node *node,
		uint64_t now_ns, bool all, struct store_why *why);

/* The source's counters as metrics. 0 or -ENOMEM. */
int source_meter(const struct ship_source *s, struct meter *m);

/* How far behind the newest window of the store we are, in windows. */
uint64_t source_behind(const struct ship_source *s);
/* The names for spools and rows: from the options, else from the store. -EAGAIN: the store has none
 * yet; with `last` the machine's own name is used then. */
int source_names(struct source_opts *o, bool last);
