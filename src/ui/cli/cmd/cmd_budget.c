/* SPDX-License-Identifier: Apache-2.0 */
/* aon budget - limits of the node, a job or a process: what is used of each, what was given up to
 * keep it, and changing them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"

#define ASK_MS   3000
#define FIELDS   7 /* of a line */
#define WORD_MAX 256

struct show {
	const struct out *out;
	struct table t;
	struct json *j; /* NULL: text */
	char error[WORD_MAX];
	bool process; /* one was begun */
};

static void table_begin(struct show *s)
{
	static const struct col col[] = { COL_TEXT("SETTING", 0), COL_TEXT("LIMIT", 0),
					  COL_NUM("USED", 0), COL_NAME("OF WHAT", 0),
					  COL_TEXT("GIVEN UP", 1) };

	table_init(&s->t, col, sizeof(col) / sizeof(col[0]));
}

static void table_end(struct show *s)
{
	table_done(&s->t, s->out, 0);
}

static void end_process(struct show *s)
{
	if (s->process && s->j) {
		json_close(s->j);
		json_close(s->j);
	} else if (s->process) {
		table_end(s);
	}
	s->process = false;
}

static void begin_process(struct show *s, const char *pid, const char *job, const char *moved)
{
	end_process(s);
	s->process = true;
	if (!s->j) {
		out_line(s->out, OUT_BOLD, "pid %s%s%s", pid, *job ? "  job " : "", job);
		if (*moved)
			out_line(s->out, OUT_PLAIN, "last move: %s", moved);
		table_begin(s);
		return;
	}
	json_open(s->j, NULL, '{');
	json_members(s->j, J_U64("pid", num_front(pid, NULL)), J_STR("job", *job ? job : NULL),
		     J_STR("moved", *moved ? moved : NULL));
	json_open(s->j, "budget", '[');
}

static void text_row(struct show *s, char *f[FIELDS])
{
	double u = num_front_real(f[3], NULL);
	bool given = num_front(f[4], NULL) != 0;

	table_add(&s->t, "%s", f[0]);
	if (!strcmp(f[1], "0"))
		table_add(&s->t, "none");
	else
		table_add(&s->t, "%s %s", f[1], f[2]);
	table_add(&s->t, u < 0 ? "-" : "%.*f", u < 10 ? 2 : 0, u);
	table_add(&s->t, "%s", f[6]);
	table_add(&s->t, given ? "%s %s" : "-", f[4], f[5]);
}

static void json_row(struct json *j, char *f[FIELDS])
{
	double u = num_front_real(f[3], NULL);

	json_object(j, NULL, J_STR("key", f[0]), J_STR("name", f[0]), J_STR("value", f[1]),
		    J_STR("unit", *f[2] ? f[2] : NULL), J_REAL("used", u < 0 ? 0.0 / 0.0 : u),
		    J_STR("what", *f[6] ? f[6] : NULL), J_U64("given_up", num_front(f[4], NULL)),
		    J_STR("given_up_what", *f[5] ? f[5] : NULL));
}

static void on_line(void *arg, char *line)
{
	struct show *s = arg;
	char *f[FIELDS] = { NULL };
	int n = 0;

	if (!strncmp(line, "error: ", 7)) {
		snprintf(s->error, sizeof(s->error), "%s", line + 7);
		return;
	}
	while (n < FIELDS && line)
		f[n++] = strsep(&line, "\t");
	if (n == 4 && !strcmp(f[0], "pid"))
		begin_process(s, f[1], f[2], f[3]);
	else if (n == FIELDS && s->j)
		json_row(s->j, f);
	else if (n == FIELDS)
		text_row(s, f);
}

/* --- */

/* Guests may ask for their own processes only: aond says so. */
static int ask(const char *word, admin_line_fn *fn, void *arg)
{
	int fd = ask_open(locate_run_dir(), ASK_MS), err;

	if (fd < 0)
		return cli_say(CLI_FAIL, "no aond answers in %s. Start one: systemctl start aond",
			       locate_run_dir());
	err = ask_on(fd, word, fn, arg);
	close(fd);
	return err < 0 ? cli_say(CLI_FAIL, "aond of %s does not answer: %s", locate_run_dir(),
				 strerror(-err))
		       : CLI_OK;
}

static void on_answer(void *arg, char *line)
{
	snprintf(arg, WORD_MAX, "%s", line);
}

/* "" the node, " pid N", " job J". */
static int set_all(const struct opts *o, const char *whom)
{
	char word[2 * WORD_MAX], said[WORD_MAX];

	for (int i = 0; i < o->argc; i++) {
		int rc;

		if (!strchr(o->argv[i], '='))
			return cli_misuse("takes KEY=VALUE, not '%s'", o->argv[i]);
		*said = '\0';
		snprintf(word, sizeof(word), *whom ? "budget%s\t%s" : "set%s %s", whom, o->argv[i]);
		rc = ask(word, on_answer, said);
		if (rc != CLI_OK)
			return rc;
		if (strcmp(said, "ok"))
			return cli_say(CLI_FAIL, "%s",
				       !strncmp(said, "error: ", 7) ? said + 7 : said);
	}
	return CLI_OK;
}

static int show(const struct opts *o, const char *whom)
{
	struct show s = { 0 };
	char word[WORD_MAX];
	struct json j;
	struct out out;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	if (!f)
		return cli_say(CLI_FAIL, "no memory");
	out_init(&out, stdout, o);
	s.out = &out;
	if (o->val[OPT_JSON]) {
		s.j = &j;
		json_begin(&j, f, "aon.budget/1");
		json_open(&j, *whom ? "processes" : "budget", '[');
	} else if (!*whom) {
		table_begin(&s);
	}
	snprintf(word, sizeof(word), "budget%s", whom);
	rc = ask(word, on_line, &s);
	end_process(&s);
	if (s.j)
		json_end(&j);
	fclose(f);
	if (rc == CLI_OK && *s.error)
		rc = cli_say(CLI_FAIL, "%s", s.error);
	if (rc == CLI_OK && s.j)
		fputs(text, stdout);
	if (!s.j && !*whom && rc == CLI_OK)
		table_print(&s.t, &out, 0);
	if (!s.j && !*whom)
		table_fini(&s.t);
	free(text);
	return rc;
}

int cmd_budget(const struct opts *o)
{
	char whom[128] = "";
	uint32_t pid = 0;
	int rc;

	if (o->val[OPT_OF_JOB] && o->val[OPT_PID])
		return cli_misuse("--job or --pid, not both");
	if (opt_u32(o, OPT_PID, &pid))
		return CLI_USAGE;
	if (pid)
		snprintf(whom, sizeof(whom), " pid %u", pid);
	if (o->val[OPT_OF_JOB])
		snprintf(whom, sizeof(whom), " job %s", o->val[OPT_OF_JOB]);
	rc = set_all(o, whom);
	return rc == CLI_OK ? show(o, whom) : rc;
}
