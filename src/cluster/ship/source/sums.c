/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.c - compares the sums of view.tbl.h with the rows that they sum, and corrects those that
 * differ.
 *
 * If a server dies between an insert and its view, it has the rows without their sums, and takes a
 * retry of the insert for a duplicate. So missing sums are found by comparison: for each job and
 * hour, the sums of the rows less those of the view. A difference is inserted as it is, key by key,
 * negative where there is too much: integers wrap when they are added up, so the sums are correct
 * from then on. An insert that is interrupted leaves a smaller difference; a batch that arrives
 * meanwhile leaves one that the next round takes back. So it can run at any time, and again. Views
 * that keep the newest row instead are compared by its time, and get the row again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "ship/schema_priv.h"
#include "ship/view.h"

#define DAY_NS  (24 * HOUR_NS)
#define HOUR_NS (3600 * UINT64_C(1000000000))
#define ROUNDS  4

static bool is_real(const struct ship_view_col *c)
{
	return *c->type == 'F';
}

/* One side of the comparison, with the columns' names: the rows, or what the view has of them, as less. */
static void side(FILE *f, const struct schema_work *w, const struct ship_view *v, bool rows,
		 const char *where)
{
	const char *comma = "";

	for (const struct ship_view_col *c = v->col; c->name; c++) {
		const char *what = rows ? c->how : c->name;

		if (c->part == SHIP_PART_LAST)
			continue;
		if (c->part == SHIP_PART_KEY)
			fprintf(f, "%s%s AS %s", comma, what, c->name);
		else
			fprintf(f, "%s%sto%s(%s) AS d_%s", comma, rows ? "" : "-",
				is_real(c) ? "Float64" : "Int64", what, c->name);
		comma = ", ";
	}
	fprintf(f, " FROM %s.`%s%s` WHERE %s", w->place.db,
		rows ? ship_table(v->from)->name : v->name, work_local(w), where);
}

/* Of rows `t_ns`, of sums `hour_ns` between two times; days tell which partitions. */
static void between(char out[256], const char *time, uint64_t from, uint64_t to)
{
	snprintf(out, 256,
		 "day >= toDate(%u) AND day <= toDate(%u) AND %s >= %" PRIu64 " AND %s < %" PRIu64,
		 ship_day(from), ship_day(to - 1), time, from, time, to);
}

/* Both of them, in groups that differ: integers tell, as every row has one that counts it; of the newest row its time. */
static void both(FILE *f, const struct schema_work *w, const struct ship_view *v, uint64_t from,
		 uint64_t to, const char *group)
{
	const char * or = "";

	for (int rows = 1; rows >= 0; rows--) {
		char where[256];

		between(where, rows ? "t_ns" : "hour_ns", from, to);
		fputs(rows ? " FROM (SELECT " : " UNION ALL SELECT ", f);
		side(f, w, v, rows, where);
	}
	fprintf(f, ") GROUP BY %s HAVING ", group);
	for (const struct ship_view_col *c = v->col; c->name; c++) {
		if (c->part == SHIP_PART_NEWEST)
			fprintf(f, "max(d_%s) + min(d_%s) > 0", c->name, c->name);
		if (c->part != SHIP_PART_SUM || is_real(c))
			continue;
		fprintf(f, "%ssum(d_%s) != 0", or, c->name);
		or = " OR ";
	}
}

/* Names of the keys, or of the other columns, with commas. */
static void names(char out[512], const struct ship_view *v, bool keys)
{
	size_t at = 0;

	*out = '\0';
	for (const struct ship_view_col *c = v->col; c->name; c++)
		if ((c->part == SHIP_PART_KEY) == keys)
			at += (size_t)snprintf(out + at, 512 - at, "%s%s", at ? ", " : "", c->name);
}

static int no_memory(struct schema_work *w)
{
	return why_say(w->why, -ENOMEM, "out of memory");
}

/* The hours that differ: one a line. Sums are compared by job, what is the newest key by key. */
static int hours_of(struct schema_work *w, const struct ship_view *v, uint64_t from, char **out)
{
	char *query = NULL, group[512] = "cluster, job, hour_ns";
	const char *text;
	size_t len;
	FILE *f = open_memstream(&query, &len);
	int err;

	if (!f)
		return no_memory(w);
	if (ship_view_newest(v))
		names(group, v, true);
	fprintf(f, "SELECT DISTINCT hour_ns FROM (SELECT %s", group);
	both(f, w, v, from, w->o->to_ns, group);
	fputs(") ORDER BY hour_ns", f);
	err = fclose(f) ? no_memory(w) : ch_ask(w->c, w->server, query, &text, w->why);
	free(query);
	if (!err && !(*out = strdup(text)))
		err = no_memory(w);
	return err;
}

/* What lacks of the sums of an hour. */
static void lacking(FILE *f, const struct schema_work *w, const struct ship_view *v, uint64_t hour)
{
	char keys[512];

	names(keys, v, true);
	fprintf(f, "SELECT %s", keys);
	for (const struct ship_view_col *c = v->col; c->name; c++)
		if (c->part == SHIP_PART_SUM)
			fprintf(f, ", to%s(sum(d_%s))", c->type, c->name);
	both(f, w, v, hour, hour + HOUR_NS, keys);
}

/* The newest rows of an hour: those that the view has are replaced by the same. */
static void newest(FILE *f, const struct schema_work *w, const struct ship_view *v, uint64_t hour)
{
	const char *time = ship_view_newest(v)->how;
	char keys[512], where[256];

	names(keys, v, true);
	between(where, "t_ns", hour, hour + HOUR_NS);
	fputs("SELECT ", f);
	for (const struct ship_view_col *c = v->col; c->name; c++)
		if (c->part == SHIP_PART_KEY)
			fprintf(f, "%s AS %s, ", c->how, c->name);
		else if (c->part == SHIP_PART_NEWEST)
			fprintf(f, "max(%s)", time);
		else
			fprintf(f, ", argMax(%s, %s)", c->how, time);
	fprintf(f, " FROM %s.`%s%s` WHERE %s GROUP BY %s", w->place.db, ship_table(v->from)->name,
		work_local(w), where, keys);
}

static int mend_hour(struct schema_work *w, const struct ship_view *v, uint64_t hour)
{
	char keys[512], others[512], *statement = NULL;
	size_t len;
	FILE *f = open_memstream(&statement, &len);
	int err;

	if (!f)
		return no_memory(w);
	names(keys, v, true);
	names(others, v, false);
	fprintf(f, "INSERT INTO %s.`%s%s` (%s, %s) ", w->place.db, v->name, work_local(w), keys,
		others);
	(ship_view_newest(v) ? newest : lacking)(f, w, v, hour);
	err = fclose(f) ? no_memory(w) : work_run(w, statement);
	free(statement);
	return err;
}

/* Since when all rows of a table are there: they go by its TTL, or by `aon cluster tidy`. */
static int kept_since(struct schema_work *w, const struct ship_table *t, uint64_t *out)
{
	uint32_t days = w->o->days && w->o->days < t->days ? w->o->days : t->days, ttl;
	uint32_t today = ship_day(w->o->now_ns);
	const char *text;
	int err = work_ask(w, &text,
			   "SELECT extract(create_table_query, '(?:INTERVAL "
			   "|toIntervalDay\\\\()([0-9]+)') FROM system.tables WHERE database = "
			   "'%s' AND name = '%s%s'",
			   w->place.db, t->name, work_local(w));

	if (err)
		return err;
	ttl = (uint32_t)num_front(text, NULL);
	days = ttl && ttl < days ? ttl : days;
	*out = today + 2 > days ? (today + 2 - days) * DAY_NS : 0;
	return 0;
}

/* How many hours of a view differ, mended unless `dry`. */
static int look_view(struct schema_work *w, const struct ship_view *v, uint32_t *differ)
{
	char *hours = NULL, *save;
	uint64_t from = 0;
	int err = kept_since(w, ship_table(v->from), &from);

	from = from > w->o->from_ns ? from : w->o->from_ns;
	if (!err && from < w->o->to_ns)
		err = hours_of(w, v, from, &hours);
	for (char *p = hours ? strtok_r(hours, "\n", &save) : NULL; p && !err;
	     p = strtok_r(NULL, "\n", &save), ++*differ)
		err = mend_hour(w, v, num_front(p, NULL));
	free(hours);
	return err;
}

/* Rows and sums come to a replica each in its own time: one that lags cannot be asked. */
static int up_to_date(struct schema_work *w)
{
	const char *text;
	int err;

	if (!w->place.replica)
		return 0;
	err = work_ask(w, &text,
		       "SELECT count() FROM system.replicas WHERE database = '%s' AND (is_readonly "
		       "OR is_session_expired OR absolute_delay > 30)",
		       w->place.db);
	if (!err && *text != '0')
		err = why_say(w->why, -EAGAIN, "%s lags behind its replicas: try again later",
			      w->host);
	return err;
}

static int look_server(struct schema_work *w, uint32_t *differed)
{
	uint32_t differ = 1;
	int err = up_to_date(w);

	for (int round = 0; round < ROUNDS && differ && !err; round++) {
		differ = 0;
		for (int i = 0; i < SHIP_VIEWS && !err; i++)
			err = look_view(w, &ship_views[i], &differ);
		if (!round)
			*differed += differ;
		if (w->o->dry)
			return err;
	}
	if (!err && differ)
		err = why_say(w->why, -EAGAIN,
			      "%s: sums of %u hours still differ from their rows: rows of them "
			      "come in just now",
			      w->host, differ);
	return err;
}

int schema_sums(struct ch *c, const struct schema_opts *o, uint32_t *differed, struct net_why *why)
{
	/* What is inserted may well be what was inserted before. */
	struct schema_work w = { .c = c, .o = o, .why = why, .settings = "insert_deduplicate=0" };
	const struct cluster_url *url = ch_url(c);
	int err = 0;

	*differed = 0;
	for (uint32_t shard = 0; shard < url->shards && !err; shard++) {
		err = -ENOENT;
		for (uint32_t i = 0; i < url->servers && err; i++) {
			if (url->server[i].shard != shard)
				continue;
			err = schema_begin(&w, i);
			err = err ? err : look_server(&w, differed);
		}
	}
	return err;
}
