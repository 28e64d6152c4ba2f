/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_url.c - parses the address of a cluster, strictly. */
#include "net/cluster_url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL_MAX 8192u

static bool cluster_loopback(const char *host)
{
	return !strncmp(host, "127.", 4) || !strcmp(host, "::1") || !strcmp(host, "localhost");
}

char *cluster_host(char out[CLUSTER_HOST], const struct cluster_server *s)
{
	bool six = strchr(s->host, ':') != NULL;

	snprintf(out, CLUSTER_HOST, "%s%s%s:%u", six ? "[" : "", s->host, six ? "]" : "", s->port);
	return out;
}

static bool is_word(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalpha((unsigned char)s[i]) && s[i] != '_' &&
		    !(i && isdigit((unsigned char)s[i])))
			return false;
	return len && len <= CLUSTER_WORD;
}

/* HOST:PORT or [ADDRESS]:PORT, all of `text`. */
static int parse_server(struct cluster_server *out, const char *text, size_t len,
			struct net_why *why)
{
	bool six = len && *text == '[';
	const char *end = six ? memchr(text, ']', len) : memchr(text, ':', len);
	const char *host = text + six;
	size_t n = end ? (size_t)(end - host) : 0;
	unsigned long port = 0;
	const char *at;

	if (!end || !n || n >= sizeof(out->host))
		return why_say(why, -EINVAL, "expected HOST:PORT, not '%.*s'", (int)len, text);
	for (size_t i = 0; i < n; i++)
		if (!(six ? isxdigit((unsigned char)host[i]) || host[i] == ':' || host[i] == '.'
			  : isalnum((unsigned char)host[i]) || strchr(".-_", host[i])) ||
		    !host[i])
			return why_say(why, -EINVAL, "expected a host, not '%.*s'", (int)n, host);
	at = end + six;
	len -= (size_t)(at - text);
	if (len < 2 || len > 6 || *at != ':')
		return why_say(why, -EINVAL, "expected HOST:PORT, not '%.*s'",
			       (int)(at - text) + (int)len, text);
	for (size_t i = 1; i < len; i++) {
		if (!isdigit((unsigned char)at[i]))
			return why_say(why, -EINVAL, "expected a port, not '%.*s'", (int)len - 1,
				       at + 1);
		port = port * 10 + (unsigned long)(at[i] - '0');
	}
	if (port < 1 || port > 65535)
		return why_say(why, -EINVAL, "expected a port from 1 to 65535, not %lu", port);
	memcpy(out->host, host, n);
	out->host[n] = '\0';
	out->port = (uint16_t)port;
	return 0;
}

static int parse_servers(struct cluster_url *u, const char *text, size_t len, struct net_why *why)
{
	const char *end = text + len;
	int err;

	u->shards = 1;
	for (const char *at = text;; at++) {
		const char *stop = at;

		while (stop < end && *stop != ',' && *stop != ';')
			stop++;
		if (u->servers == CLUSTER_SERVERS)
			return why_say(why, -EINVAL, "expected at most %u servers",
				       CLUSTER_SERVERS);
		err = parse_server(&u->server[u->servers], at, (size_t)(stop - at), why);
		if (err)
			return err;
		u->server[u->servers++].shard = u->shards - 1;
		if (stop == end)
			return 0;
		u->shards += *stop == ';';
		at = stop;
	}
}

static int parse_yes(bool *out, const char *key, const char *value, struct net_why *why)
{
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return why_say(why, -EINVAL, "expected %s=yes or %s=no, not '%.60s'", key, key,
			       value);
	*out = *value == 'y';
	return 0;
}

static int parse_param(struct cluster_url *u, const char *key, const char *value,
		       struct net_why *why)
{
	if (!strcmp(key, "tls"))
		return parse_yes(&u->tls, key, value, why);
	if (!strcmp(key, "replicated"))
		return parse_yes(&u->replicated, key, value, why);
	if (!strcmp(key, "quorum")) {
		if (!isdigit((unsigned char)value[0]) || value[1])
			return why_say(why, -EINVAL, "expected quorum=0 to 9, not '%.60s'", value);
		u->quorum = (uint32_t)(value[0] - '0');
		return 0;
	}
	if (strcmp(key, "cluster"))
		return why_say(why, -EINVAL,
			       "expected tls, replicated, quorum or cluster, not '%.60s'", key);
	if (!is_word(value, strlen(value)))
		return why_say(why, -EINVAL, "expected cluster=WORD, not '%.60s'", value);
	snprintf(u->cluster, sizeof(u->cluster), "%s", value);
	return 0;
}

static int parse_params(struct cluster_url *u, char *text, struct net_why *why)
{
	char *save, *value;
	int err = 0;

	for (char *p = strtok_r(text, "&", &save); p && !err; p = strtok_r(NULL, "&", &save)) {
		value = strchr(p, '=');
		if (!value)
			return why_say(why, -EINVAL, "expected KEY=VALUE, not '%.60s'", p);
		*value++ = '\0';
		err = parse_param(u, p, value, why);
	}
	return err;
}

/* `at`: behind clickhouse:// */
static int parse_clickhouse(struct cluster_url *u, char *at, struct net_why *why)
{
	char *slash = strchr(at, '/'), *params, *user;
	int err;

	if (!slash)
		return why_say(why, -EINVAL, "expected /DATABASE behind the servers");
	*slash++ = '\0';
	params = strchr(slash, '?');
	if (params)
		*params++ = '\0';
	user = strrchr(at, '@');
	if (user) {
		if (memchr(at, ':', (size_t)(user - at)))
			return why_say(why, -EINVAL,
				       "no password may stand here: give a file of credentials");
		if (!is_word(at, (size_t)(user - at)))
			return why_say(why, -EINVAL, "expected a user that is a word");
		memcpy(u->user, at, (size_t)(user - at));
		at = user + 1;
	}
	if (!is_word(slash, strlen(slash)))
		return why_say(why, -EINVAL, "expected a database that is a word, not '%.60s'",
			       slash);
	snprintf(u->db, sizeof(u->db), "%s", slash);
	err = parse_servers(u, at, strlen(at), why);
	if (!err && params)
		err = parse_params(u, params, why);
	if (!err && u->shards > 1 && !*u->cluster)
		err = why_say(why, -EINVAL, "expected ?cluster=NAME, because there are shards");
	u->replicated |= !err && u->servers > u->shards;
	return err;
}

static int parse_relay(struct cluster_url *u, char *at, bool tls, struct net_why *why)
{
	size_t len = strlen(at);
	int err;

	u->kind = CLUSTER_RELAY;
	u->tls = tls;
	if (len && at[len - 1] == '/')
		len--;
	err = parse_servers(u, at, len, why);
	if (err)
		return err;
	if (u->shards > 1)
		return why_say(why, -EINVAL, "relays have no shards: expected commas");
	for (uint32_t i = 0; i < u->servers && !tls; i++)
		if (!cluster_loopback(u->server[i].host))
			return why_say(why, -EINVAL,
				       "expected https://, or http:// to the loopback device");
	return 0;
}

int cluster_url_parse(struct cluster_url *out, const char *text, struct net_why *why)
{
	struct cluster_url *u = calloc(1, sizeof(*u));
	char *copy = strnlen(text, URL_MAX) < URL_MAX ? strdup(text) : NULL;
	int err;

	if (!u || !copy)
		err = why_say(why, -EINVAL, "expected an address of at most %u bytes", URL_MAX - 1);
	else if (!strncmp(copy, "clickhouse://", 13))
		err = parse_clickhouse(u, copy + 13, why);
	else if (!strncmp(copy, "https://", 8))
		err = parse_relay(u, copy + 8, true, why);
	else if (!strncmp(copy, "http://", 7))
		err = parse_relay(u, copy + 7, false, why);
	else
		err = why_say(why, -EINVAL,
			      "expected clickhouse://HOST:PORT/DATABASE or https://HOST:PORT");
	if (!err)
		*out = *u;
	free(copy);
	free(u);
	return err;
}
