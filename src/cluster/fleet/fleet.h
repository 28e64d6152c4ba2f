/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet.h - queries a cluster: ClickHouse, which holds every node's windows and steps.
 *
 * ClickHouse computes the sums, from roll-ups where there are some: the answer has one row for each
 * thing that is shown. Each question is one request, bounded in rows, bytes and time; any thread
 * may ask.
 *
 * Failures: 0 or -errno, `why` (if not NULL) says in one line what and what to do:
 *	-EINVAL  no such address        -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH  nobody answers
 *	-EACCES  user or password       -ENOENT  no database or table of aon, or no such job
 *	-EPROTO  another schema         -EREMOTEIO  the server says no     -EFBIG, -ETIME  too much was asked for
 */
#pragma once

#include <stdint.h>

#include "fleet/rowin.h"
#include "net/http.h"
#include "store/store.h"

#define FLEET_PREFIX "clickhouse://"
#define FLEET_WORD   128u /* bytes of a host's, user's or job's name, with the NUL */

struct fleet;

/* `files`: credentials and certificates; NULL: none. */
int fleet_open(struct fleet **out, const char *url, const struct http_files *files,
	       struct store_why *why);
void fleet_close(struct fleet *f); /* NULL is allowed */
/* The address without its password, for display. */
const char *fleet_shown(const struct fleet *f);
/* The job that the address names (?job=J); NULL: none. */
const char *fleet_job_of(const struct fleet *f);
/* The name of the cluster within the database. */
const char *fleet_cluster(const struct fleet *f);
/* The addresses of its servers. */
const struct cluster_url *fleet_url(const struct fleet *f);

/*
 * Runs one query. `types` and `fn` are as in rowin.h; an answer of more than `most` rows is
 * refused. `sql` is trusted: untrusted text must go through sql_text().
 */
int fleet_ask(struct fleet *f, const char *sql, const char *types, uint64_t most, rowin_fn *fn,
	      void *arg, struct store_why *why);

/*
 * Lets store_open() open names that begin with FLEET_PREFIX (job_store.c). `files` must stay valid.
 */
void fleet_register(const struct http_files *files);
