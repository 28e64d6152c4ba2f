/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.c - opens a cluster, and asks it one question over HTTP. */
#include "fleet/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "fleet/priv.h"
#include "ship/table.h"

#define AT_ONCE (1u << 16) /* bytes of an answer that are parsed at a time */

/* --- clients: each runs one query at a time --- */

static uint32_t take_client(struct fleet *f)
{
	uint32_t i = 0;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		for (i = 0; i < FLEET_CLIENTS && f->busy[i]; i++)
			;
		if (i < FLEET_CLIENTS)
			break;
		pthread_cond_wait(&f->freed, &f->lock);
	}
	f->busy[i] = true;
	pthread_mutex_unlock(&f->lock);
	return i;
}

static void give_client(struct fleet *f, uint32_t i)
{
	pthread_mutex_lock(&f->lock);
	f->busy[i] = false;
	pthread_cond_signal(&f->freed);
	pthread_mutex_unlock(&f->lock);
}

/* --- one query --- */

/* "Code: 60, e.displayText() = DB::Exception: Table ... doesn't exist." */
static int refused(const struct fleet *f, const struct http_answer *a, struct store_why *why)
{
	const char *text = strstr(a->data, "Exception: ");
	int code = (int)num_front_i64(a->code, NULL);

	if (!code)
		sscanf(a->data, "Code: %d", &code);
	text = text ? text + strlen("Exception: ") : a->data;
	if (a->status == 401 || a->status == 403 || (code >= 192 && code <= 194) || code == 516)
		return fleet_because(why, -EACCES, "%s: user or password is not taken", f->shown);
	if (code == 60 || code == 81)
		return fleet_because(
			why, -ENOENT,
			"%s: no tables of aon there, or not all. Make them: aon cluster "
			"init",
			f->shown);
	if (code == 47 || code == 16)
		return fleet_because(why, -EPROTO,
				     "%s: its tables are not as this aon knows them: %.100s",
				     f->shown, text);
	if (code == 159)
		return fleet_because(why, -ETIME, "%s: that takes too long: ask for less",
				     f->shown);
	return fleet_because(why, -EREMOTEIO, "%s: status %d: %.*s", f->shown, a->status,
			     (int)strcspn(text, "\n"), text);
}

static int read_rows(const struct fleet *f, const struct http_answer *a, struct rowin *r,
		     struct store_why *why)
{
	int err = 0;

	for (size_t at = 0; at < a->len && !err; at += AT_ONCE)
		err = rowin_feed(r, a->data + at, a->len - at < AT_ONCE ? a->len - at : AT_ONCE);
	if (err == -EFBIG)
		return fleet_because(why, err,
				     "%s: that is more than can be shown: ask for less time, "
				     "or for one rank",
				     f->shown);
	if (!err && rowin_end(r) < 0)
		err = fleet_because(why, -EBADMSG, "%s: the answer breaks off", f->shown);
	return err;
}

/*
 * Tries the servers until one answers. With shards every server sees all rows, and replicas are
 * equal.
 */
static int reach(struct fleet *f, struct http *client, struct http_ask *q, struct http_answer *a,
		 struct store_why *why)
{
	struct net_why net;
	uint32_t first, n = f->url.servers;
	int err = -EINVAL;

	pthread_mutex_lock(&f->lock);
	first = f->first;
	pthread_mutex_unlock(&f->lock);
	for (uint32_t i = 0; i < n; i++) {
		q->server = &f->url.server[(first + i) % n];
		err = http_do(client, q, a, &net);
		if (err != -ECONNREFUSED && err != -EHOSTUNREACH && err != -ETIMEDOUT &&
		    err != -ECONNRESET)
			break;
		pthread_mutex_lock(&f->lock);
		f->first = (first + i + 1) % n;
		pthread_mutex_unlock(&f->lock);
	}
	if (err == -EMSGSIZE)
		return fleet_because(why, -EFBIG,
				     "%s: that is more than can be shown: ask for less time, "
				     "or for one rank",
				     f->shown);
	return err ? fleet_because(why, err, "%s: %.160s", f->shown, net.text) : 0;
}

int fleet_ask_with(struct fleet *f, const char *sql, uint32_t seconds, fleet_read_fn *read,
		   void *arg, struct store_why *why)
{
	char target[200];
	struct http_ask q = { .target = target, .body = sql, .len = strlen(sql) };
	struct http_answer a;
	uint32_t client = take_client(f);
	int err;

	/* wait_end_of_query: the status covers the whole answer, so none is cut off half way. */
	snprintf(target, sizeof(target),
		 "/?database=%s&max_execution_time=%u&wait_end_of_query=1&max_query_size=1048576",
		 f->url.db, seconds);
	err = reach(f, f->client[client], &q, &a, why);
	if (!err && a.status != 200)
		err = refused(f, &a, why);
	err = err ? err : read(f, &a, arg, why);
	give_client(f, client);
	return err;
}

struct asking {
	const char *types;
	uint64_t most;
	rowin_fn *fn;
	void *arg;
};

static int read_asked(struct fleet *f, const struct http_answer *a, void *arg,
		      struct store_why *why)
{
	const struct asking *x = arg;
	struct rowin rows;
	int err;

	rowin_init(&rows, x->types, x->most, x->fn, x->arg);
	err = read_rows(f, a, &rows, why);
	rowin_fini(&rows);
	return err;
}

int fleet_ask(struct fleet *f, const char *sql, const char *types, uint64_t most, rowin_fn *fn,
	      void *arg, struct store_why *why)
{
	struct asking x = { types, most, fn, arg };

	return fleet_ask_with(f, sql, FLEET_ASK_S, read_asked, &x, why);
}

/* --- opening --- */

static int on_version(void *arg, const struct rowin_field *f)
{
	*(uint64_t *)arg = f[0].u;
	return 0;
}

/* A newer schema only appends columns to tables, so these queries still work. */
static int check_schema(struct fleet *f, struct store_why *why)
{
	static const char *const from[] = { "aon_schema", "aon_schema_local" }; /* with shards */
	uint64_t version = 0;
	int err = -ENOENT;

	for (int i = 0; i < 2 && err == -ENOENT; i++) {
		char sql[96];

		snprintf(sql, sizeof(sql), "SELECT toUInt64(max(version)) FROM %s FORMAT RowBinary",
			 from[i]);
		err = fleet_ask(f, sql, "q", 1, on_version, &version, why);
	}
	if (!err && version < SHIP_SCHEMA)
		err = fleet_because(
			why, -EPROTO,
			"%s: tables of version %llu, this aon needs %u. Bring them up to date: "
			"aon cluster init",
			f->shown, (unsigned long long)version, SHIP_SCHEMA);
	return err;
}

struct clusters {
	struct fleet *f;
	char list[120];
	size_t n;
};

static int on_cluster(void *arg, const struct rowin_field *f)
{
	struct clusters *c = arg;
	size_t used = strlen(c->list);

	snprintf(c->list + used, sizeof(c->list) - used, "%s%.40s", c->n ? ", " : "", f[0].text);
	if (!c->n++)
		snprintf(c->f->cluster, sizeof(c->f->cluster), "%s", f[0].text);
	return 0;
}

static int choose_cluster(struct fleet *f, struct store_why *why)
{
	struct clusters c = { .f = f };
	int err;

	if (*f->cluster)
		return 0;
	err = fleet_ask(f,
			"SELECT cluster FROM process GROUP BY cluster ORDER BY cluster LIMIT 20 "
			"FORMAT RowBinary",
			"s", 20, on_cluster, &c, why);
	if (!err && c.n > 1)
		err = fleet_because(why, -EINVAL,
				    "%s has several clusters: choose one by ?fleet=NAME (%s)",
				    f->shown, c.list);
	return err;
}

int fleet_open(struct fleet **out, const char *url, const struct http_files *files,
	       struct store_why *why)
{
	struct fleet *f;
	int err = fleet_address(&f, url, files, why);

	if (err)
		return err;
	err = check_schema(f, why);
	err = err ? err : choose_cluster(f, why);
	if (err)
		fleet_close(f);
	else
		*out = f;
	return err;
}

void fleet_close(struct fleet *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < FLEET_CLIENTS; i++)
		http_free(f->client[i]);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->freed);
	free(f);
}

const char *fleet_shown(const struct fleet *f)
{
	return f->shown;
}

const char *fleet_job_of(const struct fleet *f)
{
	return *f->pick.job ? f->pick.job : NULL;
}

const char *fleet_cluster(const struct fleet *f)
{
	return f->cluster;
}

const struct cluster_url *fleet_url(const struct fleet *f)
{
	return &f->url;
}
