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

/* Nothing is sent yet. `url` must be that of ClickHouse. */
int ch_new(struct ch **out, const struct cluster_url *url, const struct ch_opts *o,
	   struct net_why *why);
void ch_free(struct ch *c); /* NULL is allowed */
const struct cluster_url *ch_url(const struct ch *c);

/* Where tables are created on a server. Its texts belong to the client. */
struct ddl_place ch_place(struct ch *c, uint32_t server);

/*
 * Sends one query to one server; *text is the answer, valid until the next query. -EREMOTEIO: it
 * was refused, and *why has the server's error; -EACCES: wrong credentials; otherwise as http_do().
 */
int ch_ask(struct ch *c, uint32_t server, const char *query, const char **text,
	   struct net_why *why);

/* The same with ClickHouse settings: "name=1&other=2"; NULL: none. */
int ch_tell(struct ch *c, uint32_t server, const char *settings, const char *query,
	    const char **text, struct net_why *why);

/* Queried once for each server, and again after it was down. As ch_ask(); -ENOTSUP: too old. */
int ch_version(struct ch *c, uint32_t server, uint32_t *version, struct net_why *why);

/* The newest schema version on a server; -ENOENT: it was never initialised. */
int ch_schema(struct ch *c, uint32_t server, uint32_t *schema, struct net_why *why);

enum ch_said {
	CH_TOOK,
	CH_LATER,  /* no server answers at the moment */
	CH_SCHEMA, /* its tables differ from what aon needs: an administrator must act */
	CH_POISON, /* it will never be accepted */
};

/*
 * Sends the rows of a batch to its shard: to any replica that answers. `again`: it may have been
 * sent before. If the server's version cannot detect duplicates, the table is queried first. *wire:
 * bytes on the network.
 */
enum ch_said ch_insert(struct ch *c, const struct batch_head *h, const struct rowbin *rows,
		       bool again, uint64_t *wire, struct net_why *why);

/* What the status and code of the answer to an insert mean. */
enum ch_said ch_said(int status, const char *code);
