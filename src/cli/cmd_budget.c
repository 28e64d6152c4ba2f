/* SPDX-License-Identifier: Apache-2.0 */
/* aon budget - the limits of the node's aond: what is used of each, and changing them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/locate.h"
#include "cli/out.h"

#define ASK_MS 3000

struct show {
	struct table *t; /* NULL: JSON */
	struct json *j;
};

static void on_line(void *arg, char *line)
{
	struct show *s = arg;
	char *key = strsep(&line, "\t"), *value = strsep(&line, "\t"), *unit = strsep(&line, "\t");
	char *used = strsep(&line, "\t");
	double u = used ? strtod(used, NULL) : -1;

	if (!line) /* of another version */
		return;
	if (s->t) {
		table_add(s->t, "%s", key);
		table_add(s->t, "%s %s", value, unit);
		table_add(s->t, u < 0 ? "-" : "%.*f", u < 10 ? 2 : 0, u);
		table_add(s->t, "%s", line);
		return;
	}
	json_open(s->j, NULL, '{');
	json_str(s->j, "key", key);
	json_str(s->j, "value", value);
	json_str(s->j, "unit", *unit ? unit : NULL);
	json_real(s->j, "used", u < 0 ? 0.0 / 0.0 : u);
	json_str(s->j, "what", *line ? line : NULL);
	json_close(s->j);
}

static int unreachable(int err)
{
	if (err == -EACCES)
		return cli_say(CLI_FAIL,
			       "aond of %s: not for this user. Ask root, or join its group.",
			       locate_run_dir());
	return cli_say(CLI_FAIL, "no aond answers in %s. Start one: systemctl start aond",
		       locate_run_dir());
}

static void on_answer(void *arg, char *line)
{
	snprintf(arg, 256, "%s", line);
}

static int set_all(const struct opts *o)
{
	char word[256], said[256];

	for (int i = 0; i < o->argc; i++) {
		int err;

		if (!strchr(o->argv[i], '='))
			return cli_misuse("takes KEY=VALUE, not '%s'", o->argv[i]);
		*said = '\0';
		snprintf(word, sizeof(word), "set %s", o->argv[i]);
		err = admin_ask(locate_run_dir(), word, ASK_MS, on_answer, said);
		if (err < 0)
			return unreachable(err);
		if (strcmp(said, "ok"))
			return cli_say(CLI_FAIL, "%s",
				       !strncmp(said, "error: ", 7) ? said + 7 : said);
	}
	return CLI_OK;
}

int cmd_budget(const struct opts *o)
{
	static const struct col col[] = {
		{ "SETTING", COL_LEFT, 0 },
		{ "LIMIT", COL_LEFT, 0 },
		{ "USED", 0, 0 },
		{ "WHAT", COL_LEFT | COL_FLEX, 0 },
	};
	struct table t;
	struct json j;
	struct show s = { 0 };
	struct out out;
	int rc = set_all(o), err;

	if (rc != CLI_OK)
		return rc;
	err = admin_ask(locate_run_dir(), "ping", ASK_MS, NULL, NULL);
	if (err < 0)
		return unreachable(err);
	out_init(&out, stdout, o);
	table_init(&t, col, sizeof(col) / sizeof(col[0]));
	if (o->val[OPT_JSON]) {
		s.j = &j;
		json_init(&j, stdout);
		json_open(&j, NULL, '{');
		json_str(&j, "schema", "aon.budget/1");
		json_open(&j, "budget", '[');
	} else {
		s.t = &t;
	}
	err = admin_ask(locate_run_dir(), "budget", ASK_MS, on_line, &s);
	if (s.j)
		json_end(&j);
	else if (err >= 0)
		table_print(&t, &out, 0);
	table_fini(&t);
	return err < 0 ? unreachable(err) : CLI_OK;
}
