/* SPDX-License-Identifier: Apache-2.0 */
/* aon lease - who has the hardware that only one tool can have; take it, give it back. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"

#define ASK_MS      3000
#define SECONDS     60
#define SECONDS_MAX 3600

struct show {
	struct table *t; /* NULL: JSON */
	struct json *j;
	char said[256]; /* an error, or the last line of another answer */
	size_t n;
};

static void add_row(struct show *s, const char *hw, const char *of, const char *by, const char *uid,
		    const char *pid, long long left, const char *tool)
{
	char time[FMT_LEN];

	if (s->t) {
		table_add(s->t, "%s", hw);
		table_add(s->t, "%s", strcmp(of, "0") ? of : "node");
		table_add(s->t, "%s", by);
		table_add(s->t, "%s", uid);
		table_add(s->t, "%s", pid);
		table_add(s->t, "%s", left < 0 ? "-" : fmt_time(time, (uint64_t)left * 1000000u));
		table_add(s->t, "%s", tool);
		return;
	}
	json_object(s->j, NULL, J_STR("hw", hw), J_U64("of", num_front(of, NULL)), J_STR("by", by),
		    J_U64("uid", num_front(uid, NULL)), J_U64("pid", num_front(pid, NULL)),
		    J_I64_IF("left_ms", left >= 0, left), J_STR("tool", *tool ? tool : NULL));
}

static void on_line(void *arg, char *line)
{
	struct show *s = arg;
	char *field[6];

	snprintf(s->said, sizeof(s->said), "%s", line);
	for (int i = 0; i < 6; i++)
		field[i] = strsep(&line, "\t");
	if (!line || (!s->t && !s->j))
		return;
	s->n++;
	add_row(s, field[0], field[1], field[2], field[3], field[4], num_front_i64(field[5], NULL),
		line);
}

/* At the process's own aond, if it names one; else at the node's. */
static int ask(long of, const char *word, struct show *s)
{
	char dir[PATH_MAX] = "";
	int fd, err;

	if (of)
		locate_run_dir_of((pid_t)of, dir);
	fd = ask_open(*dir ? dir : locate_run_dir(), ASK_MS);
	if (fd < 0)
		return cli_say(CLI_FAIL,
			       "no aond answers in %s: %s. Start one: systemctl start aond",
			       *dir ? dir : locate_run_dir(), strerror(-fd));
	err = ask_on(fd, word, on_line, s);
	close(fd);
	if (err < 0)
		return cli_say(CLI_FAIL, "aond does not answer: %s", strerror(-err));
	if (!strncmp(s->said, "error: ", 7))
		return cli_say(CLI_FAIL, "%s", s->said + 7);
	return CLI_OK;
}

static int list(const struct opts *o)
{
	static const struct col cols[] = { COL_TEXT("HARDWARE", 0), COL_TEXT("OF", 0),
					   COL_TEXT("BY", 0),       COL_TEXT("USER", 0),
					   COL_TEXT("PID", 0),      COL_TEXT("LEFT", 0),
					   COL_NAME("TOOL", 0) };
	struct show s = { 0 };
	struct table t;
	struct json j;
	struct out out;
	int rc;

	out_init(&out, stdout, o);
	if (o->val[OPT_JSON]) {
		s.j = &j;
		json_begin(&j, stdout, "aon.lease/1");
		json_open(&j, "leases", '[');
	} else {
		s.t = &t;
		table_init(&t, cols, sizeof(cols) / sizeof(cols[0]));
	}
	rc = ask(0, "lease list", &s);
	if (s.j) {
		if (rc == CLI_OK)
			json_end(&j);
		return rc;
	}
	if (rc == CLI_OK && s.n)
		table_print(&t, &out, 0);
	else if (rc == CLI_OK)
		fprintf(stderr, "Nothing is leased.\n");
	table_fini(&t);
	return rc;
}

/* take|release HW [PID]. */
static int change(const struct opts *o, bool take)
{
	const char *hw = o->argc > 1 ? o->argv[1] : "", *secs = o->val[OPT_FOR];
	bool process = !strcmp(hw, "cupti");
	long of = 0, seconds = SECONDS, holder = 0;
	struct show s = { 0 };
	char word[160];
	int rc;

	if (!process && strcmp(hw, "pm") && strcmp(hw, "dcgm"))
		return cli_misuse("%s takes cupti PID, pm or dcgm, not '%s'", o->argv[0], hw);
	if (o->argc != 2 + process)
		return cli_misuse(process ? "cupti is one process's: give its PID"
					  : "%s is the node's: it takes no PID",
				  hw);
	if (process && num_i64(o->argv[2], 1, INT_MAX, &of))
		return cli_misuse("takes a process id, not '%s'", o->argv[2]);
	if (secs && num_i64(secs, 1, SECONDS_MAX, &seconds))
		return cli_misuse("--for takes 1 to %d seconds, not '%s'", SECONDS_MAX, secs);
	if (o->val[OPT_HOLDER] && num_i64(o->val[OPT_HOLDER], 1, INT_MAX, &holder))
		return cli_misuse("--holder takes a process id, not '%s'", o->val[OPT_HOLDER]);
	if (take)
		snprintf(word, sizeof(word), "lease take %s %ld %ld %ld %.31s", hw, of,
			 seconds * 1000, holder, o->val[OPT_TOOL] ? o->val[OPT_TOOL] : "");
	else
		snprintf(word, sizeof(word), "lease release %s %ld", hw, of);
	rc = ask(of, word, &s);
	if (rc != CLI_OK)
		return rc;
	if (o->val[OPT_JSON]) {
		struct json j;

		json_begin(&j, stdout, "aon.lease.change/1");
		json_members(&j, J_STR("what", o->argv[0]), J_STR("hw", hw),
			     J_U64("of", (uint64_t)of),
			     J_U64("seconds", take ? (uint64_t)seconds : 0));
		json_end(&j);
	} else if (take) {
		printf("%s is yours within a second, for %ld s\n", hw, seconds);
	} else {
		printf("%s is free again\n", hw);
	}
	return CLI_OK;
}

int cmd_lease(const struct opts *o)
{
	if (!o->argc || (o->argc == 1 && !strcmp(o->argv[0], "list")))
		return list(o);
	if (!strcmp(o->argv[0], "take") || !strcmp(o->argv[0], "release"))
		return change(o, !strcmp(o->argv[0], "take"));
	return cli_misuse("takes list, take or release, not '%s'", o->argv[0]);
}
