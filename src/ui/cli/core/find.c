/* SPDX-License-Identifier: Apache-2.0 */
/* find.c - finds the command for one word, for two words, or for a mistyped one. */
#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"

#define WORD_MOST 16u /* letters of a word that is compared */

/* The command of that name, or -1. */
static int cmd_find(const char *name)
{
	for (int i = 0; i < CMD_COUNT; i++)
		if (!strcmp(cmd_table[i].name, name))
			return i;
	return -1;
}

int cmd_words(int argc, char *argv[], int *words)
{
	int first = cmd_find(argv[0]), second = argc > 1 ? cmd_find(argv[1]) : -1;
	bool both = first >= 0 && second >= 0 && (int)cmd_table[second].parent == first;

	*words = both ? 2 : 1;
	return both ? second : first;
}

const char *cmd_title(int cmd, char title[CMD_TITLE])
{
	const struct cmd *c = &cmd_table[cmd];

	snprintf(title, CMD_TITLE, "%s%s%s", c->parent == CMD_NONE ? "" : cmd_table[c->parent].name,
		 c->parent == CMD_NONE ? "" : " ", c->name);
	return title;
}

/* What people call it elsewhere. */
static const struct {
	const char *word;
	enum cmd_id cmd;
} known[] = {
	{ "record", CMD_RUN },    { "profile", CMD_RUN },  { "exec", CMD_RUN },
	{ "trace", CMD_CAPTURE }, { "dump", CMD_STACKS },  { "list", CMD_PS },
	{ "stats", CMD_REPORT },  { "status", CMD_PS },    { "ui", CMD_SERVE },
	{ "web", CMD_SERVE },     { "watch", CMD_TOP },    { "query", CMD_SQL },
	{ "explain", CMD_WHY },   { "compare", CMD_DIFF }, { "simulate", CMD_SIM },
};

/* How many letters to insert, drop, change, or swap with their neighbour. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][WORD_MOST + 1], n = (unsigned)strlen(a), m = (unsigned)strlen(b);

	if (n > WORD_MOST || m > WORD_MOST)
		return WORD_MOST;
	for (unsigned j = 0; j <= m; j++)
		row[0][j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned *now = row[i % 3], *up = row[(i + 2) % 3], *two = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			unsigned best = up[j - 1] + (a[i - 1] != b[j - 1]);

			best = best < up[j] + 1 ? best : up[j] + 1;
			best = best < now[j - 1] + 1 ? best : now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two[j - 2] + 1 < best)
				best = two[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[n % 3][m];
}

/* As many mistakes, and more, make another word. */
static unsigned too_many(const char *word)
{
	return strlen(word) > 4 ? 3 : 2;
}

int opt_like(int cmd, const char *word)
{
	unsigned best = too_many(word);
	int like = -1;

	for (int i = 0; i < OPT_COUNT; i++) {
		unsigned d = opt_has(cmd, i) ? distance(word, opt_table[i].name) : best;

		if (d < best) {
			best = d;
			like = i;
		}
	}
	return like;
}

int cmd_like(const char *word)
{
	unsigned best = too_many(word);
	int like = -1;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].word, word))
			return known[i].cmd;
	for (int i = 0; i < CMD_COUNT; i++) {
		unsigned d = distance(word, cmd_table[i].name);

		if (strlen(word) > 2 && !strncmp(cmd_table[i].name, word, strlen(word)))
			d = 1; /* a beginning */
		if (d < best) {
			best = d;
			like = i;
		}
	}
	return like;
}
