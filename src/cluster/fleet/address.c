/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.c - the address of a cluster, and of a part: what net/cluster_url.h reads, and
 *
 *	fleet=NAME    of the clusters that share a database, this one
 *	job=J rank=R from=NS to=NS capture=C    the part of the cluster that is opened as a store
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "fleet/priv.h"

static int hex(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10
					    : -1;
}

/* Decodes %XX in `text`. -EINVAL: too long, a zero byte, or an invalid escape. */
static int unescape(char *out, size_t cap, const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int c = (unsigned char)text[i];

		if (c == '%') {
			if (i + 2 >= len || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0)
				return -EINVAL;
			c = hex(text[i + 1]) << 4 | hex(text[i + 2]);
			i += 2;
		}
		if (!c || n + 1 >= cap)
			return -EINVAL;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return 0;
}

/* 1: it was one of our settings, and is read; 0: it is not ours. */
static int setting(struct fleet *f, const char *text, size_t len, struct store_why *why)
{
	const char *eq = memchr(text, '=', len);
	size_t key = eq ? (size_t)(eq - text) : 0;
	char value[FLEET_WORD];
	uint64_t n = 0;
	int err = 0;

#define IS(word) (key == strlen(word) && !strncmp(text, word, key))
	if (!IS("fleet") && !IS("job") && !IS("capture") && !IS("rank") && !IS("from") && !IS("to"))
		return 0;
	if (unescape(value, sizeof(value), eq + 1, len - key - 1) < 0)
		return fleet_because(why, -EINVAL, "%.*s: too long, or a wrong %%XX", (int)key,
				     text);
	if (IS("fleet"))
		snprintf(f->cluster, sizeof(f->cluster), "%s", value);
	else if (IS("job"))
		snprintf(f->pick.job, sizeof(f->pick.job), "%s", value);
	else if (IS("capture"))
		snprintf(f->pick.capture, sizeof(f->pick.capture), "%s", value);
	else if (IS("rank"))
		err = num_u64(value, 0, INT32_MAX, &n);
	else
		err = num_u64(value, 0, UINT64_MAX, IS("from") ? &f->pick.from_ns : &f->pick.to_ns);
	if (IS("rank") && !err)
		f->pick.rank = (int32_t)n;
#undef IS
	return err ? fleet_because(why, err, "%.*s is no number", (int)len, text) : 1;
}

/* Takes our settings out of the query; `rest` gets the part that net/ parses. */
static int take_ours(struct fleet *f, const char *url, char *rest, struct store_why *why)
{
	const char *at = strchr(url, '?');
	size_t n = at ? (size_t)(at - url) : strlen(url);
	char between = '?';

	memcpy(rest, url, n);
	while (at && *at) {
		size_t len = strcspn(++at, "&");
		int mine = setting(f, at, len, why);

		if (mine < 0)
			return mine;
		if (!mine) {
			rest[n++] = between;
			memcpy(rest + n, at, len);
			n += len;
			between = '&';
		}
		at += len;
	}
	rest[n] = '\0';
	return 0;
}

static int parse(struct fleet *f, const char *url, struct store_why *why)
{
	char *rest = malloc(strlen(url) + 1), host[CLUSTER_HOST];
	struct net_why net;
	int err = rest ? take_ours(f, url, rest, why) : -ENOMEM;

	if (!err && cluster_url_parse(&f->url, rest, &net) < 0)
		err = fleet_because(why, -EINVAL, "%.200s", net.text);
	if (!err && f->url.kind != CLUSTER_CLICKHOUSE)
		err = fleet_because(why, -EINVAL,
				    "expected " FLEET_PREFIX
				    "HOST:PORT/DATABASE: a relay is not asked");
	free(rest);
	if (err)
		return err;
	snprintf(f->shown, sizeof(f->shown), FLEET_PREFIX "%s/%s",
		 cluster_host(host, &f->url.server[0]), f->url.db);
	return 0;
}

int fleet_address(struct fleet **out, const char *url, const struct http_files *files,
		  struct store_why *why)
{
	struct fleet *f = calloc(1, sizeof(*f));
	struct http_opts o = { .answer_max = FLEET_ANSWER, .timeout_ms = FLEET_MS };
	struct net_why net;
	int err;

	if (!f)
		return -ENOMEM;
	f->pick.rank = -1;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->freed, NULL);
	err = parse(f, url, why);
	if (!err && files)
		o.files = *files;
	o.user = f->url.user;
	o.tls = f->url.tls;
	for (uint32_t i = 0; i < FLEET_CLIENTS && !err; i++) {
		err = http_new(&f->client[i], &o, &net);
		if (err)
			fleet_because(why, err, "%.200s", net.text);
	}
	if (err)
		fleet_close(f);
	else
		*out = f;
	return err;
}
