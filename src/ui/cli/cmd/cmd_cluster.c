/* SPDX-License-Identifier: Apache-2.0 */
/* aon cluster - the tables of a cluster: make them, look at them, drop what is old, put sums right. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/num.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/out.h"
#include "ship/schema.h"

#define HOUR_NS      3600000000000ull
#define LOOK_BACK_NS (72 * HOUR_NS)
#define SETTLE_NS    (HOUR_NS / 6)

struct told {
	const struct opts *o;
	uint32_t n;
};

static void say(void *arg, const char *host, const char *statement)
{
	struct told *t = arg;

	t->n++;
	if (t->o->val[OPT_DRY])
		printf("-- %s\n%s;\n", host, statement);
}

static int failed(int err, const struct net_why *why)
{
	return cli_say(CLI_FAIL, "%s", err == -ENOMEM ? "out of memory" : why->text);
}

static int init(struct ch *c, struct schema_opts *so)
{
	const struct cluster_url *url = ch_url(c);
	struct net_why why = { "" };
	int err = schema_init(c, so, &why);

	if (err)
		return failed(err, &why);
	if (!so->dry)
		printf("database %s is ready on %u server%s: version %u of the tables\n", url->db,
		       url->servers, url->servers == 1 ? "" : "s", SHIP_SCHEMA);
	return CLI_OK;
}

/* Full hours: by default the last three days, and none whose rows may still be on their way. */
static int span(const struct opts *o, struct schema_opts *so)
{
	uint64_t from = so->now_ns - LOOK_BACK_NS, to = so->now_ns - SETTLE_NS;
	int rc = CLI_OK;

	if (o->val[OPT_BEGIN])
		rc = fleet_ask_time("since", o->val[OPT_BEGIN], &from);
	if (rc == CLI_OK && o->val[OPT_UNTIL]) {
		rc = fleet_ask_time("until", o->val[OPT_UNTIL], &to);
		to += HOUR_NS - 1;
	}
	so->from_ns = from - from % HOUR_NS;
	so->to_ns = to - to % HOUR_NS;
	return rc;
}

static int repair(const struct opts *o, struct ch *c, struct schema_opts *so)
{
	struct net_why why = { "" };
	uint32_t differed;
	int err, rc = span(o, so);

	if (rc != CLI_OK)
		return rc;
	err = schema_sums(c, so, &differed, &why);
	if (err)
		return failed(err, &why);
	if (!differed)
		printf("%ssums by hours agree with their rows\n", so->dry ? "-- " : "");
	else
		printf("%ssums of %u hour%s differ%s from their rows%s\n", so->dry ? "-- " : "",
		       differed, differed == 1 ? "" : "s", so->dry ? "" : "ed",
		       so->dry ? "" : ": put right");
	return CLI_OK;
}

static int tidy(const struct opts *o, struct ch *c, struct schema_opts *so)
{
	struct told *told = so->arg;
	struct net_why why = { "" };
	int err = schema_tidy(c, so, &why);

	if (err)
		return failed(err, &why);
	if (!so->dry)
		printf("%u partition%s dropped\n", told->n, told->n == 1 ? "" : "s");
	return repair(o, c, so);
}

/* What changes tables or rows. */
static int change(const struct opts *o, struct ch *c)
{
	struct told told = { .o = o };
	struct schema_opts so = { .dry = o->val[OPT_DRY] != NULL,
				  .now_ns = (uint64_t)time(NULL) * 1000000000u,
				  .say = say,
				  .arg = &told };

	if (opt_u32(o, OPT_KEEP, &so.days) != CLI_OK)
		return CLI_USAGE;
	switch (*o->argv[0]) {
	case 'i':
		return init(c, &so);
	case 't':
		return tidy(o, c, &so);
	default:
		return repair(o, c, &so);
	}
}

static int print(void *arg, const char *statement)
{
	(void)arg;
	printf("%s;\n", statement);
	return 0;
}

/* Of a server that need not be there. */
static int dialect(const struct opts *o, struct ch *c)
{
	struct ddl_place place = ch_place(c, 0);
	uint32_t version;

	if (!o->val[OPT_DRY])
		return cli_misuse("--dialect is for --dry-run");
	if (opt_u32(o, OPT_KEEP, &place.days) != CLI_OK)
		return CLI_USAGE;
	if (ddl_version(o->val[OPT_DIALECT], &version))
		return cli_misuse("--dialect takes a version of ClickHouse from 18.16 on, not '%s'",
				  o->val[OPT_DIALECT]);
	return ddl_each(version, &place, print, NULL) ? cli_say(CLI_FAIL, "out of memory") : CLI_OK;
}

/* --- status --- */

struct look {
	struct out out;
	struct json *j; /* NULL: text */
	int bad;
};

/* "name\trows\tbytes\n" of each table. */
static void tables(struct look *l, char *text)
{
	char *save, a[FMT_LEN], b[FMT_LEN];

	if (l->j)
		json_open(l->j, "tables", '[');
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
		char *rows = strchr(p, '\t'), *bytes = rows ? strchr(rows + 1, '\t') : NULL;

		if (!bytes)
			continue;
		*rows++ = *bytes++ = '\0';
		if (l->j) {
			json_object(l->j, NULL, J_STR("name", p),
				    J_U64("rows", num_front(rows, NULL)),
				    J_U64("bytes", num_front(bytes, NULL)));
		} else {
			out_line(&l->out, OUT_PLAIN, "    %-20s %12s rows  %10s", p,
				 fmt_count(a, num_front(rows, NULL)),
				 fmt_bytes(b, num_front(bytes, NULL)));
		}
	}
	if (l->j)
		json_close(l->j);
}

static int look_tables(struct look *l, struct ch *c, uint32_t i, struct net_why *why)
{
	char query[512], *copy;
	const char *text;
	int err;

	snprintf(query, sizeof(query),
		 "SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND "
		 "database = '%s' GROUP BY table ORDER BY table",
		 ch_url(c)->db);
	err = ch_ask(c, i, query, &text, why);
	copy = err ? NULL : strdup(text);
	if (copy)
		tables(l, copy);
	free(copy);
	return err;
}

static void look_server(struct look *l, struct ch *c, uint32_t i)
{
	const struct cluster_server *s = &ch_url(c)->server[i];
	struct net_why why = { "" };
	char host[CLUSTER_HOST];
	uint32_t version = 0, schema = 0;
	int err;

	cluster_host(host, s);
	err = ch_version(c, i, &version, &why);
	err = err ? err : ch_schema(c, i, &schema, &why);
	err = err ? err : schema_check(c, i, &why);
	l->bad += err != 0;
	if (l->j) {
		json_open(l->j, NULL, '{');
		json_members(l->j, J_STR("server", host), J_U64("shard", s->shard),
			     J_BOOL("ok", !err), J_STR("why", err ? why.text : NULL),
			     J_U64("version", version), J_U64("schema", schema));
	} else if (err) {
		out_line(&l->out, OUT_FAIL, "  %s  shard %u  %s", host, s->shard, why.text);
	} else {
		out_line(&l->out, OUT_PLAIN,
			 "  %s  shard %u  ClickHouse %u.%u, tables of version %u", host, s->shard,
			 version / 1000, version % 1000, schema);
	}
	if (schema && look_tables(l, c, i, &why) && !l->j)
		out_line(&l->out, OUT_FAIL, "    %s", why.text);
	if (l->j)
		json_close(l->j);
}

static int status(const struct opts *o, struct ch *c)
{
	struct look l = { 0 };
	struct json j;

	out_init(&l.out, stdout, o);
	if (o->val[OPT_JSON]) {
		l.j = &j;
		json_init(&j, stdout);
		json_open(&j, NULL, '{');
		json_members(&j, J_STR("database", ch_url(c)->db), J_U64("schema", SHIP_SCHEMA));
		json_open(&j, "servers", '[');
	} else {
		out_line(&l.out, OUT_BOLD, "database %s", ch_url(c)->db);
	}
	for (uint32_t i = 0; i < ch_url(c)->servers; i++)
		look_server(&l, c, i);
	if (l.j)
		json_end(&j);
	return l.bad ? CLI_FAIL : CLI_OK;
}

int cmd_cluster(const struct opts *o)
{
	struct ch_opts co = { .timeout_ms = 120000 };
	struct cluster_url *url = calloc(1, sizeof(*url));
	struct net_why why;
	struct ch *c;
	int rc;

	if (!url)
		return cli_say(CLI_FAIL, "out of memory");
	rc = cluster_of(o, url, &co.files);
	if (rc == CLI_OK && o->argc != 1)
		rc = cli_misuse("expected init, status, tidy or repair");
	if (rc == CLI_OK && o->val[OPT_REPLICATED])
		url->replicated = true;
	if (rc == CLI_OK && ch_new(&c, url, &co, &why))
		rc = cli_say(CLI_FAIL, "%s", why.text);
	else if (rc == CLI_OK) {
		if (!strcmp(o->argv[0], "init") && o->val[OPT_DIALECT])
			rc = dialect(o, c);
		else if (!strcmp(o->argv[0], "init") || !strcmp(o->argv[0], "tidy") ||
			 !strcmp(o->argv[0], "repair"))
			rc = change(o, c);
		else if (!strcmp(o->argv[0], "status"))
			rc = status(o, c);
		else
			rc = cli_misuse("expected init, status, tidy or repair, not '%s'",
					o->argv[0]);
		ch_free(c);
	}
	free(url);
	return rc;
}
