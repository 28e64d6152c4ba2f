/* SPDX-License-Identifier: Apache-2.0 */
/* complete.c - completions for three shells, from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"

static bool has_values(int cmd, int opt)
{
	return opt_has(cmd, opt) && opt_table[opt].arg && strchr(opt_table[opt].arg, '|');
}

static void put_values(const char *arg)
{
	for (; *arg; arg++)
		putchar(*arg == '|' ? ' ' : *arg);
}

/* What may be in the place of an operand: second words, names of commands. */
static bool has_operands(int cmd)
{
	for (int i = 0; i < CMD_COUNT; i++)
		if ((int)cmd_table[i].parent == cmd)
			return true;
	return cmd == CMD_HELP;
}

static void put_operands(int cmd)
{
	const char *s = cmd_table[cmd].synopsis;

	for (; cmd == CMD_STORE && *s != ' '; s++)
		putchar(*s == '|' ? ' ' : *s);
	for (int i = 0; i < CMD_COUNT; i++)
		if ((int)cmd_table[i].parent == cmd)
			printf(" %s", cmd_table[i].name);
	for (int i = 0; cmd == CMD_HELP && i < CMD_COUNT; i++)
		printf("%s ", cmd_table[i].name);
}

static void bash_words(void)
{
	printf("\tcase \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n");
	for (int i = 0; i < CMD_COUNT; i++)
		if (cmd_table[i].parent != CMD_NONE)
			printf("\t'%s %s') cmd=%s ;;\n", cmd_table[cmd_table[i].parent].name,
			       cmd_table[i].name, cmd_table[i].name);
	printf("\tesac\n\tcase $cmd$prev in\n");
	for (int i = 0; i < CMD_COUNT; i++)
		for (int k = 0; k < OPT_COUNT; k++)
			if (has_values(i, k)) {
				printf("\t%s--%s) words='", cmd_table[i].name, opt_table[k].name);
				put_values(opt_table[k].arg);
				printf("' ;;\n");
			}
	printf("\tesac\n\t[ -n \"$words\" ] || case $cmd in\n");
	for (int i = 0; i < CMD_COUNT; i++) {
		printf("\t%s) words='", cmd_table[i].name);
		put_operands(i);
		for (int k = 0; k < OPT_COUNT; k++)
			if (opt_has(i, k))
				printf(" --%s", opt_table[k].name);
		printf("' ;;\n");
	}
	printf("\tesac\n");
}

static void bash(void)
{
	printf("# bash completion of aon, made by: aon help --complete bash\n"
	       "_aon() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words='' i\n"
	       "\tlocal cmd=${COMP_WORDS[1]}\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W '");
	for (int i = 0; i < CMD_COUNT; i++)
		if (cmd_table[i].parent == CMD_NONE)
			printf("%s%s", i ? " " : "", cmd_table[i].name);
	printf("' -- \"$cur\"))\n\t\treturn\n\tfi\n"
	       "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\t[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
	       "\t\tdeclare -F _command_offset >/dev/null && _command_offset $((i + 1))\n"
	       "\t\treturn\n"
	       "\tdone\n");
	bash_words();
	printf("\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	       "}\n"
	       "complete -o default -F _aon aon\n");
}

/* In a quoted zsh specification, brackets and colons are signs, and a quote would end it. */
static void zsh_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '\'') {
			fputs("'\\''", stdout);
			continue;
		}
		if (strchr("[]:\\", *s))
			putchar('\\');
		putchar(*s);
	}
}

static void zsh_option(const struct option_row *t)
{
	if (t->letter)
		printf(" \\\n\t\t'(-%c --%s)'{-%c,--%s}'[", t->letter, t->name, t->letter, t->name);
	else
		printf(" \\\n\t\t'--%s[", t->name);
	zsh_text(t->help);
	putchar(']');
	if (t->arg && strchr(t->arg, '|')) {
		printf(":value:(");
		put_values(t->arg);
		putchar(')');
	} else if (t->arg) {
		printf(":%s:%s", t->arg, strcmp(t->arg, "FILE") ? " " : "_files");
	}
	putchar('\'');
}

static void zsh(void)
{
	printf("#compdef aon\n# zsh completion of aon, made by: aon help --complete zsh\n"
	       "_aon() {\n\tlocal -a commands\n\tcommands=(\n");
	for (int i = 0; i < CMD_COUNT; i++) {
		if (cmd_table[i].parent != CMD_NONE)
			continue;
		printf("\t\t'%s:", cmd_table[i].name);
		zsh_text(cmd_table[i].help);
		printf("'\n");
	}
	printf("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n"
	       "\tfi\n\tlocal cmd=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
	       "\tcase \"$cmd $words[2]\" in\n");
	for (int i = 0; i < CMD_COUNT; i++)
		if (cmd_table[i].parent != CMD_NONE)
			printf("\t'%s %s') cmd=%s; shift words; (( CURRENT-- )) ;;\n",
			       cmd_table[cmd_table[i].parent].name, cmd_table[i].name,
			       cmd_table[i].name);
	printf("\tesac\n\tcase $cmd in\n");
	for (int i = 0; i < CMD_COUNT; i++) {
		printf("\t%s) _arguments -s", cmd_table[i].name);
		for (int k = 0; k < OPT_COUNT; k++)
			if (opt_has(i, k))
				zsh_option(&opt_table[k]);
		if (has_operands(i)) {
			printf(" \\\n\t\t'1:what:(");
			put_operands(i);
			printf(")'");
		}
		printf(" \\\n\t\t%s ;;\n",
		       i == CMD_RUN ? "'*::program:_normal'" : "'*:file:_files'");
	}
	printf("\tesac\n}\n_aon \"$@\"\n");
}

static void fish_quoted(const char *s)
{
	putchar('\'');
	for (; *s; s++)
		printf(*s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
	putchar('\'');
}

static void fish_option(const char *cmd, const struct option_row *t)
{
	printf("complete -c aon -n '__fish_seen_subcommand_from %s' -l %s", cmd, t->name);
	if (t->letter)
		printf(" -s %c", t->letter);
	if (t->arg) {
		printf(strcmp(t->arg, "FILE") ? " -x" : " -r");
		if (strchr(t->arg, '|')) {
			printf(" -a '");
			put_values(t->arg);
			putchar('\'');
		}
	}
	printf(" -d ");
	fish_quoted(t->help);
	putchar('\n');
}

static void fish(void)
{
	printf("# fish completion of aon, made by: aon help --complete fish\n");
	for (int i = 0; i < CMD_COUNT; i++) {
		if (cmd_table[i].parent == CMD_NONE) {
			printf("complete -c aon -f -n __fish_use_subcommand -a %s -d ",
			       cmd_table[i].name);
			fish_quoted(cmd_table[i].help);
			putchar('\n');
		}
		for (int k = 0; k < OPT_COUNT; k++)
			if (opt_has(i, k))
				fish_option(cmd_table[i].name, &opt_table[k]);
		if (has_operands(i)) {
			printf("complete -c aon -n '__fish_seen_subcommand_from %s' -a '",
			       cmd_table[i].name);
			put_operands(i);
			printf("'\n");
		}
	}
}

void help_complete(int shell)
{
	static void (*const print[])(void) = { bash, zsh, fish };

	print[shell]();
}
