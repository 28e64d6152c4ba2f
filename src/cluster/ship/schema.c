/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - see schema.h. */
#include "ship/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ship/schema_priv.h"
#include "ship/view.h"

int work_run(void *arg, const char *statement)
{
	struct schema_work *w = arg;
	const char *text;

	if (w->o->say)
		w->o->say(w->o->arg, w->host, statement);
	return w->o->dry ? 0 : ch_tell(w->c, w->server, w->settings, statement, &text, w->why);
}

/*
 * As work_run(), for creating tables. If ZooKeeper fails meanwhile, the server is registered there
 * as a replica without a table and refuses CREATE (REPLICA_IS_ALREADY_EXIST). ATTACH makes it take
 * over that replica.
 */
static int make(void *arg, const char *statement)
{
	static const char create[] = "CREATE TABLE IF NOT EXISTS";
	struct schema_work *w = arg;
	int err = work_run(w, statement);
	char *attach;

	if (err != -EREMOTEIO || strncmp(statement, create, sizeof(create) - 1) != 0 ||
	    !strstr(w->why->text, "Code: 253") || w->version >= DDL_OWN_REPLICAS)
		return err;
	if (asprintf(&attach, "ATTACH TABLE IF NOT EXISTS%s", statement + sizeof(create) - 1) < 0)
		return why_say(w->why, -ENOMEM, "out of memory");
	err = work_run(w, attach);
	free(attach);
	return err;
}

int work_ask(struct schema_work *w, const char **text, const char *fmt, ...)
{
	char query[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(query, sizeof(query), fmt, ap);
	va_end(ap);
	return ch_ask(w->c, w->server, query, text, w->why);
}

const char *work_local(const struct schema_work *w)
{
	return ddl_local(&w->place) ? "_local" : "";
}

/* Finds the line "name\ttype\n" of a column in the answer of system.columns. */
static bool has_column(const char *all, const char *name, char type[64])
{
	size_t len = strlen(name);

	for (const char *at = all; *at; at += strcspn(at, "\n") + 1) {
		if (!strncmp(at, name, len) && at[len] == '\t') {
			snprintf(type, 64, "%.*s", (int)strcspn(at + len + 1, "\n"), at + len + 1);
			return true;
		}
		if (!strchr(at, '\n'))
			break;
	}
	return false;
}

/* A table made by a server without LowCardinality has String instead. */
static bool same_type(const char *have, enum ship_type want)
{
	return !strcmp(have, ddl_type(0, want)) || !strcmp(have, ddl_type(DDL_LOW, want));
}

static int mend_table(struct schema_work *w, const struct ship_table *t)
{
	const char *text;
	char *all, type[64];
	int err =
		work_ask(w, &text,
			 "SELECT name, type FROM system.columns WHERE database = '%s' AND table = "
			 "'%s%s'",
			 w->place.db, t->name, work_local(w));

	if (err)
		return err;
	all = strdup(text);
	if (!all)
		return why_say(w->why, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->cols && !err && *all; i++) {
		const struct ship_col *c = &t->col[i];

		if (!has_column(all, c->name, type))
			err = ddl_add_column(w->version, &w->place, t, c, work_run, w);
		else if (!same_type(type, c->type))
			err = why_say(w->why, -ENOTUNIQ,
				      "%s: %s.%s.%s is %s: expected %s. These tables are not "
				      "aon's",
				      w->host, w->place.db, t->name, c->name, type,
				      ddl_type(ddl_features(w->version), c->type));
	}
	free(all);
	return err;
}

static int note_version(struct schema_work *w, uint32_t had)
{
	char statement[256];

	if (had == SHIP_SCHEMA)
		return 0;
	snprintf(statement, sizeof(statement),
		 "INSERT INTO %s.`aon_schema%s` (version, t_ns, by) VALUES (%u, %" PRIu64
		 ", 'aon " AON_VERSION "')",
		 w->place.db, work_local(w), SHIP_SCHEMA, w->o->now_ns);
	return work_run(w, statement);
}

static int need_cluster(struct schema_work *w)
{
	const char *text;
	int err;

	if (!w->place.cluster)
		return 0;
	err = work_ask(w, &text, "SELECT count() FROM system.clusters WHERE cluster = '%s'",
		       w->place.cluster);
	if (err || *text != '0')
		return err;
	return why_say(w->why, -ENOENT,
		       "%s knows no cluster '%s': it belongs into remote_servers of its "
		       "configuration",
		       w->host, w->place.cluster);
}

int schema_begin(struct schema_work *w, uint32_t server)
{
	w->server = server;
	w->place = ch_place(w->c, server);
	w->place.days = w->o->days;
	cluster_host(w->host, &ch_url(w->c)->server[server]);
	return ch_version(w->c, server, &w->version, w->why);
}

static int too_new(struct schema_work *w, uint32_t had)
{
	return why_say(w->why, -EPROTO,
		       "%s has version %u of the schema, this aon knows %u: upgrade aon", w->host,
		       had, SHIP_SCHEMA);
}

static int init_server(struct schema_work *w)
{
	uint32_t had = 0;
	int err = ch_schema(w->c, w->server, &had, w->why);

	if (err && err != -ENOENT)
		return err;
	if (had > SHIP_SCHEMA)
		return too_new(w, had);
	err = need_cluster(w);
	/* Columns first: a new view may need one that an old table lacks. */
	for (int i = 0; i < SHIP_TABLES && !err; i++)
		err = mend_table(w, ship_table((enum ship_table_id)i));
	err = err ? err : ddl_each(w->version, &w->place, make, w);
	return err ? err : note_version(w, had);
}

int schema_init(struct ch *c, const struct schema_opts *o, struct net_why *why)
{
	struct schema_work w = { .c = c, .o = o, .why = why };
	int err = 0;

	for (uint32_t i = 0; i < ch_url(c)->servers && !err; i++) {
		err = schema_begin(&w, i);
		err = err ? err : init_server(&w);
	}
	return err;
}

int schema_check(struct ch *c, uint32_t server, struct net_why *why)
{
	struct schema_opts o = { 0 };
	struct schema_work w = { .c = c, .o = &o, .why = why };
	uint32_t had = 0;
	int err = schema_begin(&w, server);

	err = err ? err : ch_schema(c, server, &had, why);
	if (err || had == SHIP_SCHEMA)
		return err;
	if (had > SHIP_SCHEMA)
		return too_new(&w, had);
	return why_say(why, -EPROTO,
		       "%s has version %u of the schema, this aon needs %u: aon cluster init",
		       w.host, had, SHIP_SCHEMA);
}

/* --- tidy --- */

/*
 * The oldest partition (named by day or month) to keep: in earlier ones all rows are older than
 * `days`.
 */
static void oldest_kept(char out[16], const char *partition, uint32_t days, uint64_t now_ns)
{
	time_t t = (time_t)(now_ns / 1000000000u) - (time_t)days * 86400;
	struct tm tm;

	strftime(out, 16, strcmp(partition, "day") ? "%Y%m" : "%Y-%m-%d", gmtime_r(&t, &tm));
}

static int tidy_table(struct schema_work *w, const char *name, const char *partition, uint32_t kept)
{
	uint32_t days = w->o->days ? w->o->days : kept;
	char limit[16], *all, *save;
	const char *text;
	int err;

	if (!kept || !*partition)
		return 0;
	oldest_kept(limit, partition, days, w->o->now_ns);
	err = work_ask(
		w, &text,
		"SELECT DISTINCT partition FROM system.parts WHERE active AND database = '%s' AND "
		"table = '%s%s' AND partition < '%s' ORDER BY partition",
		w->place.db, name, work_local(w), limit);
	all = err ? NULL : strdup(text);
	for (char *p = all ? strtok_r(all, "\n", &save) : NULL; p && !err;
	     p = strtok_r(NULL, "\n", &save)) {
		char statement[256];
		const char *quote = strchr(p, '-') ? "'" : "";

		if (strspn(p, "0123456789-") != strlen(p))
			continue;
		snprintf(statement, sizeof(statement),
			 "ALTER TABLE %s.`%s%s` DROP PARTITION %s%s%s", w->place.db, name,
			 work_local(w), quote, p, quote);
		err = work_run(w, statement);
	}
	free(all);
	return err;
}

int schema_tidy(struct ch *c, const struct schema_opts *o, struct net_why *why)
{
	struct schema_work w = { .c = c, .o = o, .why = why };
	int err = 0;

	for (uint32_t s = 0; s < ch_url(c)->servers && !err; s++) {
		err = schema_begin(&w, s);
		for (int i = 0; i < SHIP_TABLES && !err; i++) {
			const struct ship_table *t = ship_table((enum ship_table_id)i);

			err = tidy_table(&w, t->name, t->partition, t->days);
		}
		for (int i = 0; i < SHIP_VIEWS && !err; i++)
			err = tidy_table(&w, ship_views[i].name, ship_views[i].partition,
					 ship_views[i].days);
	}
	return err;
}
