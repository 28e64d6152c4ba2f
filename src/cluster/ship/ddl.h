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

#define DDL_OLDEST 18016u /* versions as 1000 x year + number: 18.16 */
#define DDL_OWN_REPLICAS \
	20010u /* from then on servers find replicas again that they began to make */

/* Features that versions differ in. */
enum ddl_feature {
	DDL_CODEC = 1,       /* a column may say how it is packed */
	DDL_LOW = 2,         /* LowCardinality without a setting */
	DDL_TTL = 4,         /* rows expire; else `aon cluster tidy` drops partitions */
	DDL_DROP_PARTS = 8,  /* and whole parts at a time */
	DDL_TOKEN = 16,      /* insert_deduplication_token */
	DDL_PLAIN_DEDUP = 32 /* tables that are not replicated detect duplicates, too */
};

/* "18.16.1", "26.9.2.1": -EINVAL: no version; -ENOTSUP: older than DDL_OLDEST. */
int ddl_version(const char *text, uint32_t *out);
uint32_t ddl_features(uint32_t version);

struct ddl_place {
	const char *db;      /* a word: [A-Za-z_][A-Za-z0-9_]* */
	const char *cluster; /* of the servers' configuration, for Distributed tables; NULL: none */
	const char *replica; /* name of this server; NULL: tables are not replicated */
	uint32_t shard;      /* which this server has, from 0 */
	uint32_t days;       /* how long rows are kept; 0: as the tables say */
};

/* Whether rows go to NAME_local. */
static inline bool ddl_local(const struct ddl_place *p)
{
	return p->cluster != NULL;
}

/*
 * Calls `fn` with every statement in order; a result that is not 0 ends it and is returned. All can be
 * run again. -ENOMEM.
 */
typedef int ddl_fn(void *arg, const char *statement);
int ddl_each(uint32_t version, const struct ddl_place *p, ddl_fn *fn, void *arg);

/* What adds a column to a table that an older version made, to both of its tables if it has two. */
int ddl_add_column(uint32_t version, const struct ddl_place *p, const struct ship_table *t,
		   const struct ship_col *c, ddl_fn *fn, void *arg);

/* The type of a column as that version takes it, and as system.columns then shows it. */
const char *ddl_type(uint32_t features, enum ship_type type);

/* "INSERT INTO db.name (columns) FORMAT RowBinary", of the columns that version `schema` had. -ENOSPC. */
int ddl_insert(char *out, size_t cap, const struct ddl_place *p, const struct ship_table *t,
	       uint32_t schema);
