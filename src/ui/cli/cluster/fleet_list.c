/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_list.c - lists rows of a cluster as they come: aon ps, alarms, overhead and telemetry of
 * all its nodes, and aon sql.
 */
#include <errno.h>
#include <stdio.h>

#include "cli/cluster/fleet_ask.h"
#include "cli/report/sql_out.h"
#include "fleet/rows.h"
#include "govern/govern.h"

#define SQL_ROWS 10000u
#define COLUMNS  FLEET_COLUMNS

/* Between what a cluster gives and what writes a store's rows. */
struct given {
	struct sql_sink to;
	uint64_t rows, most;
};

static int on_begin(void *arg, const char *const *names, int cols)
{
	struct given *g = arg;

	return g->to.begin(g->to.arg, names, cols);
}

static int on_row(void *arg, const struct fleet_value *v, int cols)
{
	static const enum sql_type type[] = { [FLEET_NULL] = SQL_NULL,
					      [FLEET_INT] = SQL_INT,
					      [FLEET_REAL] = SQL_REAL,
					      [FLEET_TEXT] = SQL_TEXT };
	struct sql_value out[COLUMNS];
	struct given *g = arg;

	if (g->rows++ == g->most)
		return 0; /* one more was asked for, to know that there are more */
	for (int i = 0; i < cols; i++)
		out[i] = (struct sql_value){ type[v[i].type], v[i].i, v[i].real, v[i].text,
					     v[i].len };
	return g->to.row(g->to.arg, out, cols);
}

static enum sql_form form_of(const struct opts *o)
{
	return o->val[OPT_JSON] ? FORM_JSON : FORM_TABLE;
}

/* --- lists --- */

static const struct {
	enum cmd_id cmd;
	enum fleet_list list;
	const char *none;
	int code; /* when there is none */
} lists[] = {
	{ CMD_PS, FLEET_PROCESSES, "nobody was recorded in that time", CLI_OK },
	{ CMD_ALARMS, FLEET_ALARMS, "no alarm in that time", CLI_OK },
	{ CMD_OVERHEAD, FLEET_OVERHEAD, "no overhead was reported in that time", CLI_UNSURE },
	{ CMD_TELEMETRY, FLEET_TELEMETRY, "nothing of that was measured in that time", CLI_UNSURE },
};

static int print_list(const struct opts *o, struct fleet *f, size_t which,
		      const struct fleet_list_ask *a)
{
	struct given g = { .most = FLEET_LIST };
	struct fleet_sink sink = { on_begin, on_row, &g };
	struct store_why why = { "" };
	struct sql_out out;
	int err;

	sql_out_init(&out, o, form_of(o));
	out.schema = "aon.cluster_list/1";
	out.of = fleet_shown(f);
	out.what = cmd_table[o->cmd].name;
	out.no_empty = true;
	sql_out_sink(&out, &g.to);
	err = fleet_list(f, lists[which].list, a, &sink, &why);
	sql_out_fini(&out, err < 0 ? why.text : NULL);
	fflush(stdout);
	if (err)
		return fleet_ask_failed(f, err, &why);
	if (!g.rows)
		return cli_say(lists[which].code, "%s: %s", fleet_shown(f), lists[which].none);
	return CLI_OK;
}

static int span_of(const struct opts *o, struct fleet_span *s)
{
	double seconds = 300;
	int rc = fleet_ask_span(o, s);

	if (rc != CLI_OK || o->cmd != CMD_TELEMETRY)
		return rc;
	rc = opt_number(o, OPT_SINCE, 1, 31536000, &seconds);
	s->from_ns = s->to_ns - (uint64_t)(seconds * 1e9);
	return rc;
}

int fleet_list_cmd(const struct opts *o)
{
	const char *fidelity[FIDELITY_LEVELS];
	struct fleet_list_ask a = { .gone = o->val[OPT_GONE] != NULL,
				    .metric = o->val[OPT_OFMETRIC],
				    .device = o->val[OPT_OFDEVICE],
				    .fidelity = fidelity,
				    .levels = FIDELITY_LEVELS };
	struct fleet *f;
	size_t which = 0;
	int rc = span_of(o, &a.span);

	for (size_t i = 0; i < FIDELITY_LEVELS; i++)
		fidelity[i] = fidelity_table[i].word;
	while (lists[which].cmd != o->cmd)
		which++;
	if (rc == CLI_OK && o->val[OPT_CHANGES])
		rc = cli_misuse(
			"--changes is of a store: a cluster has the last value of a minute");
	if (rc == CLI_OK)
		rc = fleet_ask_open(&f, o);
	if (rc != CLI_OK)
		return rc;
	a.job = o->val[OPT_OF_JOB] ? o->val[OPT_OF_JOB] : fleet_job_of(f);
	rc = print_list(o, f, which, &a);
	fleet_close(f);
	return rc;
}

/* --- aon sql --- */

int fleet_sql_cmd(const struct opts *o, const char *query, enum sql_form form, double timeout_s)
{
	struct given g = { .most = SQL_ROWS };
	struct fleet_sink sink = { on_begin, on_row, &g };
	struct store_why why = { "" };
	struct sql_out out;
	struct fleet *f;
	int rc = fleet_ask_open(&f, o), err;

	if (rc != CLI_OK)
		return rc;
	sql_out_init(&out, o, form);
	sql_out_sink(&out, &g.to);
	err = query ? fleet_select(f, query, g.most + 1, (uint32_t)timeout_s, &sink, &why)
		    : fleet_tables(f, &sink, &why);
	sql_out_fini(&out, err < 0 ? why.text : NULL);
	fflush(stdout);
	if (err == -EPIPE)
		rc = CLI_FAIL;
	else if (err)
		rc = fleet_ask_failed(f, err, &why);
	else if (g.rows > g.most)
		rc = cli_say(CLI_OK, "only the first %u rows are shown: sum up, or add a WHERE",
			     SQL_ROWS);
	fleet_close(f);
	return rc;
}
