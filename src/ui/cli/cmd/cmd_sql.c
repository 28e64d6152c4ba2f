/* SPDX-License-Identifier: Apache-2.0 */
/* aon sql - ask a store in SQL. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster/fleet_ask.h"
#include "cli/core/locate.h"
#include "cli/report/sql_out.h"

#define QUERY_MAX (1u << 20)
#define TIMEOUT_S 60

static const char schema_query[] =
	"SELECT l.name AS \"table\", l.type, group_concat(c.name, ' ') AS columns"
	" FROM pragma_table_list l JOIN pragma_table_xinfo(l.name) c"
	" WHERE l.schema = 'temp' AND l.name NOT LIKE 'sqlite%' AND c.hidden <> 1"
	" GROUP BY l.name ORDER BY l.type DESC, l.name";

/* The query on stdin. Owned by the caller. */
static char *read_query(void)
{
	char *text = malloc(QUERY_MAX + 1);
	size_t n;

	if (!text)
		return NULL;
	n = fread(text, 1, QUERY_MAX + 1, stdin);
	if (n > QUERY_MAX || ferror(stdin)) {
		free(text);
		return NULL;
	}
	text[n] = 0;
	return text;
}

/* The line of the query where it went wrong, and a mark under the place. */
static void point_at(const char *query, int at)
{
	const char *from = query + at, *to = query + at;
	char line[400], clean[1600];
	size_t before;

	while (from > query && from[-1] != '\n' && to - from < 60)
		from--;
	while (*to && *to != '\n' && to - from < 100)
		to++;
	snprintf(line, sizeof(line), "%.*s", (int)(query + at - from), from);
	before = fmt_width(fmt_clean(clean, sizeof(clean), line, false));
	snprintf(line, sizeof(line), "%.*s", (int)(to - from), from);
	fprintf(stderr, "  %s\n  %*s^\n", fmt_clean(clean, sizeof(clean), line, false), (int)before,
		"");
}

static int failed(int err, const char *query, const struct sql_why *why, double timeout_s)
{
	if (err == -EPIPE)
		return CLI_FAIL;
	if (err == -ETIME)
		return cli_say(CLI_FAIL,
			       "stopped after %g s. Ask for less, or allow more: --timeout S",
			       timeout_s);
	cli_say(CLI_FAIL, "%s", why->text[0] ? why->text : strerror(-err));
	if (why->at >= 0 && (size_t)why->at <= strlen(query))
		point_at(query, why->at);
	return CLI_FAIL;
}

static int run(const struct opts *o, struct store *st, const char *query, enum sql_form form)
{
	struct sql_why why = { "", -1 };
	struct sql_opts so = { 0 };
	double timeout_s = TIMEOUT_S;
	struct sql_sink sink;
	struct sql_out out;
	struct sql *sql;
	int rc, err;

	rc = opt_number(o, OPT_TIMEOUT, 0, 1e6, &timeout_s);
	if (rc != CLI_OK)
		return rc;
	so.timeout_ns = (uint64_t)(timeout_s * 1e9);
	err = sql_open(&sql, st, &so, &why);
	if (err < 0)
		return failed(err, query, &why, timeout_s);
	sql_out_init(&out, o, form);
	sql_out_sink(&out, &sink);
	err = sql_run(sql, query, &sink, &why);
	sql_out_fini(&out, err < 0 ? why.text : NULL);
	sql_close(sql);
	fflush(stdout);
	return err < 0 ? failed(err, query, &why, timeout_s) : CLI_OK;
}

static int choose_form(const struct opts *o, enum sql_form *form)
{
	int n = !!o->val[OPT_CSV] + !!o->val[OPT_TSV] + !!o->val[OPT_JSON];

	*form = o->val[OPT_CSV]    ? FORM_CSV
		: o->val[OPT_TSV]  ? FORM_TSV
		: o->val[OPT_JSON] ? FORM_JSON
				   : FORM_TABLE;
	return n > 1 ? cli_misuse("takes one of --csv, --tsv and --json") : CLI_OK;
}

int cmd_sql(const struct opts *o)
{
	bool tables = o->val[OPT_TABLES] != NULL;
	int operands = tables ? 0 : 1, rc;
	const char *query = schema_query;
	char path[PATH_MAX], *own = NULL;
	double timeout_s = TIMEOUT_S;
	enum sql_form form;
	struct store *st;

	rc = choose_form(o, &form);
	if (rc != CLI_OK)
		return rc;
	if (o->argc < operands || o->argc > operands + 1)
		return cli_misuse(tables ? "--tables takes at most a store"
					 : "takes a query, and at most one store");
	if (o->argc == 2 && access(o->argv[0], F_OK) == 0 && access(o->argv[1], F_OK) < 0)
		return cli_misuse("the query comes first: aon sql QUERY %s", o->argv[0]);
	if (!tables)
		query = o->argv[0];
	if (!strcmp(query, "-")) {
		query = own = read_query();
		if (!own)
			return cli_say(CLI_FAIL, "cannot read the query (1 MiB at most)");
	}
	if (fleet_listed(o)) {
		rc = opt_number(o, OPT_TIMEOUT, 0, 1e6, &timeout_s);
		if (rc == CLI_OK)
			rc = fleet_sql_cmd(o, tables ? NULL : query, form, timeout_s);
		free(own);
		return rc;
	}
	rc = locate_open(o->argc > operands ? o->argv[operands] : NULL, &st, path);
	if (rc == CLI_OK) {
		rc = run(o, st, query, form);
		store_close(st);
	}
	free(own);
	return rc;
}
