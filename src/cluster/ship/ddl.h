/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ddl.h - the statements that create the cluster's tables, in the SQL of the server's version.
 *
 * One server: the tables themselves. Several: the same as ReplicatedMergeTree, and if there are
 * shards NAME_local holds the rows of one, and NAME is Distributed over all. Views read from the
 * tables that hold rows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ship/table.h"

#define DDL_OLDEST 18016u /* versions are 1000 x year + number: 18.16 */
#define DDL_OWN_REPLICAS \
	20010u /* since this version a server resumes creating a replica after a failure */

/* Features that not all versions have. */
enum ddl_feature {
	DDL_CODEC = 1,       /* columns can have codecs */
	DDL_LOW = 2,         /* LowCardinality without a setting */
	DDL_TTL = 4,         /* rows expire; otherwise `aon cluster tidy` drops partitions */
	DDL_DROP_PARTS = 8,  /* whole parts expire at once */
	DDL_TOKEN = 16,      /* insert_deduplication_token */
	DDL_PLAIN_DEDUP = 32 /* tables without replication detect duplicates, too */
};

/* Parses "18.16.1" or "26.9.2.1". -EINVAL: not a version; -ENOTSUP: older than DDL_OLDEST. */
int ddl_version(const char *text, uint32_t *out);
uint32_t ddl_features(uint32_t version);

struct ddl_place {
	const char *db; /* a word: [A-Za-z_][A-Za-z0-9_]* */
	/* its name in the servers' configuration, for Distributed tables; NULL: none */
	const char *cluster;
	const char *replica; /* name of this server; NULL: no replication */
	uint32_t shard;      /* the shard of this server, from 0 */
	uint32_t days;       /* how long rows are kept; 0: the default of each table */
};

/* Whether rows go to NAME_local. */
static inline bool ddl_local(const struct ddl_place *p)
{
	return p->cluster != NULL;
}

/*
 * Calls `fn` with each statement, in order. A result other than 0 ends it and is returned. All
 * statements can be repeated. -ENOMEM.
 */
typedef int ddl_fn(void *arg, const char *statement);
int ddl_each(uint32_t version, const struct ddl_place *p, ddl_fn *fn, void *arg);

/* Adds a column to a table that an older version created (to both tables if there are two). */
int ddl_add_column(uint32_t version, const struct ddl_place *p, const struct ship_table *t,
		   const struct ship_col *c, ddl_fn *fn, void *arg);

/* The type of a column in that version, as system.columns shows it. */
const char *ddl_type(uint32_t features, enum ship_type type);

/*
 * "INSERT INTO db.name (columns) FORMAT RowBinary", with the columns of version `schema`. -ENOSPC.
 */
int ddl_insert(char *out, size_t cap, const struct ddl_place *p, const struct ship_table *t,
	       uint32_t schema);
