/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the servers' tables: creates, migrates and checks them, drops old partitions. */
#pragma once

#include "ship/ch.h"

/* Called with each statement that runs or, with `dry`, would run. */
typedef void schema_say_fn(void *arg, const char *host, const char *statement);

struct schema_opts {
	bool dry;      /* only report what would be done */
	uint32_t days; /* how long rows are kept; 0: the default of each table */
	uint64_t now_ns;
	uint64_t from_ns, to_ns; /* for schema_sums(): full hours */
	schema_say_fn *say;
	void *arg;
};

/*
 * Creates missing tables at every server, and adds the columns that an older version did not have.
 * Can be run again, at any time, while rows come in. -EPROTO: a newer aon was here; -ENOTUNIQ: a
 * column is of another type; -ENOENT: the servers know no cluster of that name; else as ch_ask().
 * *why says what and where.
 */
int schema_init(struct ch *c, const struct schema_opts *o, struct net_why *why);

/* For versions without TTL: drops partitions whose rows are all too old. */
int schema_tidy(struct ch *c, const struct schema_opts *o, struct net_why *why);

/*
 * Compares the hourly sums with their rows, at one replica of each shard, and corrects those that
 * differ (see sums.c). *differed: hours of views that did. -EAGAIN: rows of these hours are still
 * coming in, or the replicas lag; else as ch_ask().
 */
int schema_sums(struct ch *c, const struct schema_opts *o, uint32_t *differed, struct net_why *why);

/*
 * Whether rows of this version can be inserted: 0; -ENOENT: never initialised; -EPROTO: another
 * version.
 */
int schema_check(struct ch *c, uint32_t server, struct net_why *why);
