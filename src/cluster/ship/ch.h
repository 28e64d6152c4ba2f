/* SPDX-License-Identifier: Apache-2.0 */
/* ch.h - ClickHouse over HTTP: its servers, its shards, and the features of their versions. */
#pragma once

#include "net/http.h"
#include "ship/spool/batch.h"
#include "ship/ddl.h"

struct ch;

struct ch_opts {
	struct http_files files;
	uint32_t timeout_ms; /* 0: 30 s */
	uint64_t bytes_s;    /* bytes that may be sent per second; 0: no limit */
};

/* Nothing is asked of a server yet. `url` must be of ClickHouse. */
int ch_new(struct ch **out, const struct cluster_url *url, const struct ch_opts *o,
	   struct net_why *why);
void ch_free(struct ch *c); /* NULL is allowed */
const struct cluster_url *ch_url(const struct ch *c);

/* How tables are made at a server. Its texts are the client's. */
struct ddl_place ch_place(struct ch *c, uint32_t server);

/* One question to one server; *text is the answer, until the next one. -EREMOTEIO: it refused, and *why has its
 * words; -EACCES: its credentials are wrong; else as http_do(). */
int ch_ask(struct ch *c, uint32_t server, const char *query, const char **text,
	   struct net_why *why);

/* The same, with settings of ClickHouse as part of the query: "name=1&other=2"; NULL: none. */
int ch_tell(struct ch *c, uint32_t server, const char *settings, const char *query,
	    const char **text, struct net_why *why);

/* Asked once of each server, and again after it was away. As ch_ask(); -ENOTSUP: too old. */
int ch_version(struct ch *c, uint32_t server, uint32_t *version, struct net_why *why);

/* The newest version of the schema that a server has: -ENOENT: none, it was never initialised. */
int ch_schema(struct ch *c, uint32_t server, uint32_t *schema, struct net_why *why);

enum ch_said {
	CH_TOOK,
	CH_LATER,  /* no server answers, or not now */
	CH_SCHEMA, /* its tables differ from what aon needs: an admin must act */
	CH_POISON, /* it will never take this */
};

/*
 * Sends the rows of a batch to its shard: to any replica that answers. `again`: it may have been
 * sent before. If the server's version cannot detect duplicates, the table is queried first. *wire:
 * bytes on the network.
 */
enum ch_said ch_insert(struct ch *c, const struct batch_head *h, const struct rowbin *rows,
		       bool again, uint64_t *wire, struct net_why *why);

/* What the server's answer to an insert means: status and code. */
enum ch_said ch_said(int status, const char *code);
