/* SPDX-License-Identifier: Apache-2.0 */
/* opt.c - the tables of commands and options, and the parser driven by them. */
#include "cli/core/cli.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "base/num.h"

#define EVERY CMD_EVERY
#define C(ID) CMD_BIT(CMD_##ID)

const struct cmd cmd_table[CMD_COUNT] = {
#define CMD(ID, name, group, parent, synopsis, help, more) \
	[CMD_##ID] = { #name, cmd_##name, GROUP_##group, CMD_##parent, synopsis, help, more },
#include "cli/core/cmd.tbl.h"
};

const struct option_row opt_table[OPT_COUNT] = {
#define OPT(ID, letter, name, arg, cmds, help) [OPT_##ID] = { letter, name, arg, help },
#include "cli/core/opt.tbl.h"
};

const uint64_t opt_cmds[OPT_COUNT] = {
#define OPT(ID, letter, name, arg, cmds, help) [OPT_##ID] = cmds,
#include "cli/core/opt.tbl.h"
};

static char speaker[CMD_TITLE] = "help";
static bool muted;

void cli_mute(bool yes)
{
	muted = yes;
}

void cli_speaker(const char *words)
{
	snprintf(speaker, sizeof(speaker), "%s", words);
}

static void vsay(const char *tail, const char *fmt, va_list ap)
{
	char text[1024], clean[2048];

	if (muted)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	fmt_clean(clean, sizeof(clean), text, false);
	fprintf(stderr, "aon %s: %s%s\n", speaker, clean, tail);
}

int cli_say(int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay("", fmt, ap);
	va_end(ap);
	return code;
}

int cli_misuse(const char *fmt, ...)
{
	char tail[64];
	va_list ap;

	snprintf(tail, sizeof(tail), ". See: aon %s --help", speaker);
	va_start(ap, fmt);
	vsay(tail, fmt, ap);
	va_end(ap);
	return CLI_USAGE;
}

bool opt_has(int cmd, int opt)
{
	return opt_table[opt].help && opt_cmds[opt] & CMD_BIT(cmd);
}

/* No option of the command begins so, or several do. */
static int bad_name(int cmd, const struct options *s)
{
	char word[64], list[256] = "";
	int len = (int)strcspn(s->word + 2, "="), like;

	snprintf(word, sizeof(word), "%.*s", len, s->word + 2);
	for (size_t i = 0; s->wrong == OPTIONS_AMBIGUOUS && i < s->rows; i++)
		if (s->row[i].name && !strncmp(s->row[i].name, word, strlen(word)))
			snprintf(list + strlen(list), sizeof(list) - strlen(list), " --%s",
				 s->row[i].name);
	if (*list)
		return cli_misuse("'--%s' may be any of%s", word, list);
	like = opt_like(cmd, word);
	if (like >= 0)
		return cli_misuse("unknown option '--%s' (did you mean --%s?)", word,
				  opt_table[like].name);
	return cli_misuse("unknown option '--%s'", word);
}

static int bad_option(int cmd, const struct options *s)
{
	if (s->wrong == OPTIONS_LACKS_ARG)
		return cli_misuse("%s needs an argument", s->word);
	if (s->wrong == OPTIONS_LETTER && isprint((unsigned char)s->letter))
		return cli_misuse("unknown option '-%c'", s->letter);
	if (s->wrong == OPTIONS_EXTRA_ARG)
		return cli_misuse("--%s takes no argument", opt_table[s->id].name);
	return bad_name(cmd, s);
}

int opt_parse(struct opts *o, enum cmd_id cmd, int argc, char *argv[])
{
	struct option_row row[OPT_COUNT] = { 0 };
	struct options s = { .row = row, .rows = OPT_COUNT, .argc = argc, .argv = argv };

	memset(o, 0, sizeof(*o));
	o->cmd = cmd;
	s.stop_early = cmd == CMD_RUN; /* the rest belongs to the program */
	for (int i = 0; i < OPT_COUNT; i++)
		if (opt_cmds[i] & CMD_BIT(cmd))
			row[i] = opt_table[i];
	if (options_all(&s, o->val) == OPTIONS_WRONG)
		return bad_option(cmd, &s);
	o->argc = s.operands;
	o->argv = argv + 1;
	return CLI_OK;
}

int opt_number(const struct opts *o, enum opt_id id, double lo, double hi, double *out)
{
	if (o->val[id] && num_real(o->val[id], lo, hi, out) < 0)
		return cli_misuse("--%s takes a number from %.10g to %.10g, not '%s'",
				  opt_table[id].name, lo, hi, o->val[id]);
	return CLI_OK;
}

int opt_u32(const struct opts *o, enum opt_id id, uint32_t *out)
{
	double v = 0;
	int rc = opt_number(o, id, 1, UINT32_MAX, &v);

	if (rc == CLI_OK && o->val[id])
		*out = (uint32_t)v;
	return rc;
}

/* A value that had another name before 0.1. */
static const char *old_word(const char *want)
{
	return want && !strcmp(want, "lane") ? "track" : want;
}

int opt_choice(const struct opts *o, enum opt_id id, int or_else)
{
	const char *list = opt_table[id].arg, *want = old_word(o->val[id]);
	size_t len;

	if (!want)
		return or_else;
	for (int i = 0; *list; i++) {
		len = strcspn(list, "|");
		if (strlen(want) == len && !strncmp(list, want, len))
			return i;
		list += len + (list[len] == '|');
	}
	cli_misuse("--%s takes %s, not '%s'", opt_table[id].name, opt_table[id].arg, want);
	return -1;
}
