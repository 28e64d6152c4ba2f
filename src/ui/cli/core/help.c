/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - help and man page sections, from cmd.tbl.h and opt.tbl.h. */
#include <stdio.h>
#include <string.h>

#include "abi/msg.h"
#include "abi/segment.h"
#include "base/json.h"
#include "cli/core/cli.h"

#define HELP_COLUMNS 80
#define HELP_INDENT  24 /* where what an option does begins */
#define HELP_USAGE   11 /* behind "usage: aon " */
#define HELP_TITLE   15 /* columns of a command's name */

/*
 * Prints words, and begins a new line, indented, where they would pass the terminal's 80 columns.
 * `at` is the column where the text begins. What the table breaks by hand flows with the rest.
 */
static void fold(const char *s, int at, int indent)
{
	while (*s) {
		int n = (int)strcspn(s, " \n");

		if (at > indent && at + 1 + n > HELP_COLUMNS)
			printf("\n%*s", at = indent, "");
		else if (at > indent)
			at += printf(" ");
		at += printf("%.*s", n, s);
		s += n;
		s += strspn(s, " \n");
	}
	putchar('\n');
}

static void print_options(int cmd)
{
	char left[OPTIONS_LEFT];

	for (int i = 0; i < OPT_COUNT; i++) {
		if (!opt_has(cmd, i))
			continue;
		if (strlen(options_left(&opt_table[i], true, left)) > 20)
			printf("  %s\n%*s", left, HELP_INDENT, "");
		else
			printf("  %-*s", HELP_INDENT - 2, left);
		fold(opt_table[i].help, HELP_INDENT, HELP_INDENT);
	}
}

/* The second words of a command. */
static void print_children(int cmd)
{
	char title[CMD_TITLE];
	bool any = false;

	for (int i = 0; i < CMD_COUNT; i++) {
		if ((int)cmd_table[i].parent != cmd)
			continue;
		printf("%s  %-*s  %s\n", any ? "" : "\nMore (aon help COMMAND):\n", HELP_TITLE,
		       cmd_title(i, title), cmd_table[i].help);
		any = true;
	}
}

static void print_one(int cmd)
{
	const struct cmd *c = &cmd_table[cmd];
	char title[CMD_TITLE];

	fold(c->synopsis, printf("usage: aon %s [OPTION...]", cmd_title(cmd, title)), HELP_USAGE);
	printf("%c%s.\n", c->help[0] & ~0x20, c->help + 1);
	if (*c->more)
		fold(c->more, 0, 0);
	putchar('\n');
	print_options(cmd);
	print_children(cmd);
}

void help_print(int cmd)
{
	static const char *const heading[] = {
#define GROUP(ID, text) [GROUP_##ID] = text,
#include "cli/core/group.tbl.h"
	};
	char title[CMD_TITLE];

	if (cmd != CMD_COUNT) {
		print_one(cmd);
		return;
	}
	printf("usage: aon COMMAND [OPTION...]\n"
	       "Always-on profiling: what runs on this node, where its time goes, what to do.\n");
	for (int i = 0; i < CMD_COUNT; i++) {
		if (!i || cmd_table[i].group != cmd_table[i - 1].group)
			printf("\n%s\n", heading[cmd_table[i].group]);
		if (i != CMD_NODE) /* nothing but its second words */
			printf("  %-*s  %s\n", HELP_TITLE, cmd_title(i, title), cmd_table[i].help);
	}
	printf("\nExit: 0 done, 1 failed, 2 misuse, 3 undecided.\n"
	       "First time:  aon run -- python train.py\n"
	       "One command: aon help COMMAND\n");
}

static void roff_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '-')
			fputs("\\-", stdout);
		else if (*s == '\\')
			fputs("\\e", stdout);
		else
			putchar(*s);
	}
}

static void roff_option(const struct option_row *t)
{
	printf(".TP\n");
	if (t->letter)
		printf("\\fB\\-%c\\fR, ", t->letter);
	fputs("\\fB\\-\\-", stdout);
	roff_text(t->name);
	printf("\\fR");
	if (t->arg)
		printf(" \\fI%s\\fR", t->arg);
	putchar('\n');
	roff_text(t->help);
	putchar('\n');
}

static void help_roff(void)
{
	printf(".SH COMMANDS\n");
	for (int i = 0; i < CMD_COUNT; i++) {
		const struct cmd *c = &cmd_table[i];
		char title[CMD_TITLE];

		printf(".SS aon %s [OPTION...]%s", cmd_title(i, title), *c->synopsis ? " " : "");
		roff_text(c->synopsis);
		printf("\n%c", c->help[0] & ~0x20);
		roff_text(c->help + 1);
		printf(".\n");
		roff_text(c->more);
		printf("%s", *c->more ? "\n" : "");
		if (c->parent != CMD_NONE)
			printf("\\fBaon %s\\fR is the same.\n", c->name);
		for (int k = 0; k < OPT_COUNT; k++)
			if (opt_has(i, k) && opt_cmds[k] != CMD_EVERY)
				roff_option(&opt_table[k]);
	}
	printf(".SH OPTIONS\nEvery command takes these.\n");
	for (int k = 0; k < OPT_COUNT; k++)
		if (opt_cmds[k] == CMD_EVERY)
			roff_option(&opt_table[k]);
}

int cmd_help(const struct opts *o)
{
	int cmd = CMD_COUNT, shell = opt_choice(o, OPT_COMPLETE, 0), words = 0;

	if (shell < 0)
		return CLI_USAGE;
	if (o->argc && (cmd = cmd_words(o->argc, o->argv, &words)) < 0)
		return cli_misuse("unknown command '%s'", o->argv[0]);
	if (o->argc > words)
		return cli_misuse("one command at a time, not also '%s'", o->argv[words]);
	if (o->val[OPT_ROFF])
		help_roff();
	else if (o->val[OPT_COMPLETE])
		help_complete(shell);
	else
		help_print(cmd);
	return CLI_OK;
}

/* Only its second words are commands. */
int cmd_node(const struct opts *o)
{
	return o->argc ? cli_misuse("unknown command '%s'", o->argv[0])
		       : cli_misuse("which one? validate, telemetry, rack or audit");
}

int cmd_version(const struct opts *o)
{
	struct json j;

	if (o->argc)
		return cli_misuse("takes no operand, not '%s'", o->argv[0]);
	if (!o->val[OPT_JSON]) {
		printf("aon %s\n", AON_VERSION);
		return CLI_OK;
	}
	json_begin(&j, stdout, "aon.version/1");
	json_members(&j, J_STR("version", AON_VERSION), J_U64("message_version", AON_MSG_VERSION),
		     J_U64("segment_version", AON_SEG_VERSION));
	json_end(&j);
	return CLI_OK;
}
