/* SPDX-License-Identifier: Apache-2.0 */
/* schema_priv.h - a server whose tables are checked or changed; for schema.c and sums.c. */
#pragma once

#include "ship/schema.h"

struct schema_work {
	struct ch *c;
	const struct schema_opts *o;
	struct net_why *why;
	const char *settings; /* settings for statements, as part of the URL; NULL: none */
	uint32_t server;
	uint32_t version; /* version of the server */
	struct ddl_place place;
	char host[CLUSTER_HOST];
};

int schema_begin(struct schema_work *w, uint32_t server);
/* Reports a statement and, unless `dry`, runs it. A ddl_fn. */
int work_run(void *w, const char *statement);
int work_ask(struct schema_work *w, const char **text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *work_local(const struct schema_work *w); /* suffix of the tables that hold rows */
