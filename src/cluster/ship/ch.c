/* SPDX-License-Identifier: Apache-2.0 */
/* ch.c - queries and inserts, each sent to a server that answers. */
#include "ship/ch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/log.h"
#include "base/num.h"

#define TARGET_MAX 8192u

struct ch {
	struct http *http; /* owned */
	struct cluster_url url;
	uint32_t version[CLUSTER_SERVERS]; /* 0: not known yet */
	uint32_t first[CLUSTER_SERVERS];   /* for each shard, the server to try first */
	char replica[CLUSTER_HOST];
	uint8_t *gz; /* owned */
	size_t gz_cap;
};

int ch_new(struct ch **out, const struct cluster_url *url, const struct ch_opts *o,
	   struct net_why *why)
{
	struct http_opts ho = { .files = o->files,
				.user = url->user,
				.tls = url->tls,
				.timeout_ms = o->timeout_ms,
				.bytes_s = o->bytes_s };
	struct ch *c;
	int err;

	if (url->kind != CLUSTER_CLICKHOUSE)
		return why_say(why, -EINVAL, "expected clickhouse://HOST:PORT/DATABASE");
	c = calloc(1, sizeof(*c));
	if (!c)
		return why_say(why, -ENOMEM, "out of memory");
	c->url = *url;
	err = http_new(&c->http, &ho, why);
	if (err) {
		free(c);
		return err;
	}
	*out = c;
	return 0;
}

void ch_free(struct ch *c)
{
	if (!c)
		return;
	http_free(c->http);
	free(c->gz);
	free(c);
}

const struct cluster_url *ch_url(const struct ch *c)
{
	return &c->url;
}

struct ddl_place ch_place(struct ch *c, uint32_t server)
{
	const struct cluster_server *s = &c->url.server[server];

	cluster_host(c->replica, s);
	return (struct ddl_place){
		.db = c->url.db,
		.cluster = c->url.shards > 1 || *c->url.cluster ? c->url.cluster : NULL,
		.replica = c->url.replicated ? c->replica : NULL,
		.shard = s->shard,
	};
}

/* The first line of the server's error, without the part about the server itself. */
static int refused(const struct http_answer *a, const char *host, struct net_why *why)
{
	size_t len = strcspn(a->data, "\n");
	int code = (int)num_front_i64(a->code, NULL);
	bool login =
		a->status == 401 || a->status == 403 || (code >= 192 && code <= 194) || code == 516;

	if (login)
		return why_say(why, -EACCES,
			       "%s does not let us in: user or password are wrong (%.*s)", host,
			       (int)(len < 200 ? len : 200), a->data);
	return why_say(why, -EREMOTEIO, "%s refuses (status %d): %.*s%s", host, a->status,
		       (int)(len < 300 ? len : 300), a->data,
		       ch_said(a->status, a->code) == CH_SCHEMA ? ". Do: aon cluster init" : "");
}

int ch_ask(struct ch *c, uint32_t server, const char *query, const char **text, struct net_why *why)
{
	return ch_tell(c, server, NULL, query, text, why);
}

int ch_tell(struct ch *c, uint32_t server, const char *settings, const char *query,
	    const char **text, struct net_why *why)
{
	char host[CLUSTER_HOST], target[256];
	struct http_ask q = { .server = &c->url.server[server],
			      .target = target,
			      .body = query,
			      .len = strlen(query) };
	struct http_answer a;
	int err;

	snprintf(target, sizeof(target), "/%s%s", settings ? "?" : "", settings ? settings : "");
	err = http_do(c->http, &q, &a, why);

	if (err) {
		c->version[server] = 0;
		return err;
	}
	if (a.status != 200)
		return refused(&a, cluster_host(host, q.server), why);
	*text = a.data;
	return 0;
}

int ch_version(struct ch *c, uint32_t server, uint32_t *version, struct net_why *why)
{
	const char *text;
	char host[CLUSTER_HOST];
	int err = 0;

	if (!c->version[server]) {
		err = ch_ask(c, server, "SELECT version()", &text, why);
		if (!err && ddl_version(text, &c->version[server]))
			err = why_say(why, -ENOTSUP,
				      "%s is ClickHouse %.20s: expected 18.16 or later",
				      cluster_host(host, &c->url.server[server]), text);
	}
	if (!err)
		*version = c->version[server];
	return err;
}

int ch_schema(struct ch *c, uint32_t server, uint32_t *schema, struct net_why *why)
{
	struct ddl_place p = ch_place(c, server);
	char query[256];
	const char *text;
	int err;

	snprintf(
		query, sizeof(query),
		"SELECT count() FROM system.tables WHERE database = '%s' AND name = 'aon_schema%s'",
		p.db, ddl_local(&p) ? "_local" : "");
	err = ch_ask(c, server, query, &text, why);
	if (err)
		return err;
	if (*text == '0')
		return why_say(why, -ENOENT, "database %s has no tables of aon: aon cluster init",
			       p.db);
	snprintf(query, sizeof(query), "SELECT max(version) FROM %s.`aon_schema%s`", p.db,
		 ddl_local(&p) ? "_local" : "");
	err = ch_ask(c, server, query, &text, why);
	if (!err)
		*schema = (uint32_t)num_front(text, NULL);
	return err;
}

/* --- inserts --- */

/* clang-format off */
static const struct {
	int code;
	enum ch_said said;
} codes[] = {
	{   6, CH_POISON }, /* CANNOT_PARSE_TEXT */
	{  27, CH_POISON }, /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
	{  32, CH_POISON }, /* ATTEMPT_TO_READ_AFTER_EOF */
	{  33, CH_POISON }, /* CANNOT_READ_ALL_DATA */
	{  69, CH_POISON }, /* ARGUMENT_OUT_OF_BOUND */
	{ 117, CH_POISON }, /* INCORRECT_DATA */
	{ 131, CH_POISON }, /* TOO_LARGE_STRING_SIZE */
	{  16, CH_SCHEMA }, /* NO_SUCH_COLUMN_IN_TABLE */
	{  47, CH_SCHEMA }, /* UNKNOWN_IDENTIFIER */
	{  60, CH_SCHEMA }, /* UNKNOWN_TABLE */
	{  81, CH_SCHEMA }, /* UNKNOWN_DATABASE */
};
/* clang-format on */

enum ch_said ch_said(int status, const char *code)
{
	int number = (int)num_front_i64(code, NULL);

	if (status == 200 && !*code)
		return CH_TOOK;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].code == number)
			return codes[i].said;
	return CH_LATER;
}

/* Deterministic, and every version can decompress it. */
static int gzip(struct ch *c, const struct rowbin *rows, size_t *len)
{
	z_stream z = { 0 };
	size_t cap;
	int rc;

	if (deflateInit2(&z, 4, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	cap = deflateBound(&z, rows->len);
	if (cap > c->gz_cap) {
		free(c->gz);
		c->gz_cap = 0;
		c->gz = malloc(cap);
		if (!c->gz) {
			deflateEnd(&z);
			return -ENOMEM;
		}
		c->gz_cap = cap;
	}
	z.next_in = rows->data;
	z.avail_in = (uInt)rows->len;
	z.next_out = c->gz;
	z.avail_out = (uInt)c->gz_cap;
	rc = deflate(&z, Z_FINISH);
	*len = z.total_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -EIO;
}

static int insert_target(struct ch *c, uint32_t server, const struct batch_head *h,
			 char out[TARGET_MAX])
{
	struct ddl_place p = ch_place(c, server);
	uint32_t have = ddl_features(c->version[server]);
	char query[TARGET_MAX / 4], escaped[TARGET_MAX - 512], token[BATCH_TOKEN];
	int n;

	if (ddl_insert(query, sizeof(query), &p, ship_table(batch_table(h)), h->schema) ||
	    http_escape(escaped, sizeof(escaped), query) >= sizeof(escaped))
		return -ENOSPC;
	batch_token(token, h);
	n = snprintf(out, TARGET_MAX, "/?query=%s&query_id=%s", escaped, token);
	if (have & DDL_TOKEN)
		n += snprintf(out + n, TARGET_MAX - (size_t)n,
			      "&async_insert=0&insert_deduplication_token=%s"
			      "&deduplicate_blocks_in_dependent_materialized_views=1",
			      token);
	if (c->url.quorum)
		snprintf(out + n, TARGET_MAX - (size_t)n, "&insert_quorum=%u", c->url.quorum);
	return 0;
}

/*
 * For a server that cannot detect duplicates: asks whether the insert is still running, and whether
 * its rows are there. An insert of one day is one part, so either all rows are there or none. 1:
 * they are; 0: they are not.
 */
static int is_there(struct ch *c, uint32_t server, const struct batch_head *h, struct net_why *why)
{
	struct ddl_place p = ch_place(c, server);
	char query[512], token[BATCH_TOKEN];
	const char *text;
	int err;

	if (p.replica || ddl_features(c->version[server]) & DDL_PLAIN_DEDUP)
		return 0;
	snprintf(query, sizeof(query), "SELECT count() FROM system.processes WHERE query_id = '%s'",
		 batch_token(token, h));
	err = ch_ask(c, server, query, &text, why);
	if (err)
		return err;
	if (*text != '0')
		return why_say(why, -EBUSY, "the server is still at it");
	snprintf(query, sizeof(query),
		 "SELECT count() FROM %s.`%s%s` WHERE day = toDate(%u) AND src = %" PRIu64
		 " AND seq = %" PRIu64,
		 p.db, h->table, ddl_local(&p) ? "_local" : "", h->day, h->src, h->seq);
	err = ch_ask(c, server, query, &text, why);
	return err ? err : *text != '0';
}

static enum ch_said insert_at(struct ch *c, uint32_t server, const struct batch_head *h, size_t len,
			      bool again, uint64_t *wire, struct net_why *why)
{
	char target[TARGET_MAX], host[CLUSTER_HOST];
	struct http_ask q = { .server = &c->url.server[server],
			      .target = target,
			      .header = { "Content-Type: application/octet-stream",
					  "Content-Encoding: gzip" },
			      .body = c->gz,
			      .len = len };
	struct http_answer a;
	uint32_t version;
	int err = ch_version(c, server, &version, why);

	if (!err && again)
		err = is_there(c, server, h, why);
	if (err > 0)
		return CH_TOOK;
	err = err ? err : insert_target(c, server, h, target);
	err = err ? err : http_do(c->http, &q, &a, why);
	if (err) {
		c->version[server] = 0; /* it may come back with another version */
		return err == -EREMOTEIO ? CH_SCHEMA : CH_LATER;
	}
	*wire += a.sent + a.got;
	if (ch_said(a.status, a.code) != CH_TOOK)
		refused(&a, cluster_host(host, q.server), why);
	return ch_said(a.status, a.code);
}

enum ch_said ch_insert(struct ch *c, const struct batch_head *h, const struct rowbin *rows,
		       bool again, uint64_t *wire, struct net_why *why)
{
	uint32_t shard = (uint32_t)(h->route % c->url.shards);
	enum ch_said said = CH_LATER;
	size_t len;

	if (gzip(c, rows, &len)) {
		why_say(why, -ENOMEM, "out of memory");
		return CH_LATER;
	}
	for (uint32_t n = 0; n < c->url.servers; n++) {
		uint32_t i = (c->first[shard] + n) % c->url.servers;

		if (c->url.server[i].shard != shard)
			continue;
		said = insert_at(c, i, h, len, again, wire, why);
		if (said != CH_LATER) {
			c->first[shard] = i;
			break;
		}
		again = true;
	}
	return said;
}
