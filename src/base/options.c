/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. */
#include "base/options.h"

#include <string.h>

static int fail(struct options *s, enum options_wrong wrong, int id, char letter)
{
	s->wrong = wrong;
	s->id = id;
	s->letter = letter;
	s->letters = NULL;
	return OPTIONS_WRONG;
}

/* The argument of row `id`: the rest of its word, else the next word. */
static int with_arg(struct options *s, int id, const char *rest, char letter)
{
	if (!rest && s->at + 1 >= s->argc)
		return fail(s, OPTIONS_LACKS_ARG, id, letter);
	s->arg = rest ? rest : s->argv[++s->at];
	s->letters = NULL;
	return id;
}

static int next_letter(struct options *s)
{
	char letter = *s->letters++;

	if (!*s->letters)
		s->letters = NULL;
	for (size_t i = 0; i < s->rows; i++)
		if (s->row[i].name && s->row[i].letter == letter)
			return s->row[i].arg ? with_arg(s, (int)i, s->letters, letter) : (int)i;
	return fail(s, OPTIONS_LETTER, -1, letter);
}

/* The row of a name or of the only one that begins so; OPTIONS_WRONG: none or several. */
static int by_name(struct options *s, const char *name, size_t len)
{
	int found = -1;
	bool several = false;

	for (size_t i = 0; i < s->rows; i++) {
		const char *is = s->row[i].name;

		if (!is || strncmp(is, name, len) != 0)
			continue;
		if (!is[len])
			return (int)i;
		several |= found >= 0;
		found = (int)i;
	}
	if (found >= 0 && !several)
		return found;
	return fail(s, several ? OPTIONS_AMBIGUOUS : OPTIONS_UNKNOWN, -1, 0);
}

static int next_name(struct options *s)
{
	const char *name = s->word + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	int id = by_name(s, name, len);

	if (id < 0)
		return id;
	if (s->row[id].arg)
		return with_arg(s, id, value, 0);
	return value ? fail(s, OPTIONS_EXTRA_ARG, id, 0) : id;
}

/* What is left is no option. */
static int done(struct options *s)
{
	while (++s->at < s->argc)
		s->argv[++s->operands] = s->argv[s->at];
	s->at = s->argc;
	if (s->operands + 1 < s->argc)
		s->argv[s->operands + 1] = NULL;
	return OPTIONS_DONE;
}

int options_next(struct options *s)
{
	s->arg = NULL;
	if (s->letters)
		return next_letter(s);
	while (s->at + 1 < s->argc) {
		s->word = s->argv[s->at + 1];
		if (s->word[0] == '-' && s->word[1]) {
			s->at++;
			if (!strcmp(s->word, "--"))
				break;
			if (s->word[1] == '-')
				return next_name(s);
			s->letters = s->word + 1;
			return next_letter(s);
		}
		if (s->stop_early)
			break;
		s->argv[++s->operands] = s->argv[++s->at];
	}
	return done(s);
}

enum options_end options_all(struct options *s, const char *val[])
{
	int id;

	while ((id = options_next(s)) >= 0)
		val[id] = s->arg ? s->arg : "";
	return (enum options_end)id;
}

static void say_ambiguous(const struct options *s)
{
	fprintf(stderr, "option '%s' is ambiguous; possibilities:", s->word);
	for (size_t i = 0; i < s->rows; i++)
		if (s->row[i].name &&
		    !strncmp(s->row[i].name, s->word + 2, strcspn(s->word + 2, "=")))
			fprintf(stderr, " '--%s'", s->row[i].name);
	fputc('\n', stderr);
}

void options_complain(const struct options *s)
{
	const char *name = s->id >= 0 ? s->row[s->id].name : "";

	fprintf(stderr, "%s: ", s->argv[0]);
	if (s->wrong == OPTIONS_UNKNOWN)
		fprintf(stderr, "unrecognized option '%s'\n", s->word);
	else if (s->wrong == OPTIONS_AMBIGUOUS)
		say_ambiguous(s);
	else if (s->wrong == OPTIONS_LETTER)
		fprintf(stderr, "invalid option -- '%c'\n", s->letter);
	else if (s->wrong == OPTIONS_EXTRA_ARG)
		fprintf(stderr, "option '--%s' doesn't allow an argument\n", name);
	else if (s->letter)
		fprintf(stderr, "option requires an argument -- '%c'\n", s->letter);
	else
		fprintf(stderr, "option '--%s' requires an argument\n", name);
}

const char *options_left(const struct option_row *row, bool letters, char left[OPTIONS_LEFT])
{
	int n = 0;

	if (row->letter)
		n = snprintf(left, OPTIONS_LEFT, "-%c, ", row->letter);
	snprintf(left + n, OPTIONS_LEFT - (size_t)n, "%*s--%s%s%s", letters && !n ? 4 : 0, "",
		 row->name, row->arg ? " " : "", row->arg ? row->arg : "");
	return left;
}

void options_help(const struct option_row *row, size_t rows, int width)
{
	char left[OPTIONS_LEFT];
	bool letters = false;

	for (size_t i = 0; i < rows; i++)
		letters |= row[i].help && row[i].letter;
	for (size_t i = 0; i < rows; i++)
		if (row[i].help)
			printf("  %-*s %s\n", width, options_left(&row[i], letters, left),
			       row[i].help);
}
