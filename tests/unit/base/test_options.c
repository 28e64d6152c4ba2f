/* SPDX-License-Identifier: Apache-2.0 */
/* test_options.c - command lines: what is found, in which order, and what is wrong. */
#include "base/options.h"

#include <string.h>

#include "t.h"

static const struct option_row table[] = {
	{ 'o', "output", "FILE", "write FILE" },
	{ 'j', "json", NULL, "JSON" },
	{ 0, "job", "ID", "of a job" },
	{ 0, "jobs", NULL, NULL },
	{ 'x', NULL, NULL, NULL },
};

/* clang-format off */
static const struct { const char *line, *found; } right[] = {
	{ "",                          "" },
	{ "--output f -j",             "output=f json" },
	{ "--output=f --json",         "output=f json" },
	{ "--output= a",               "output= |a" },
	{ "--out f --js",              "output=f json" },
	{ "-of",                       "output=f" },
	{ "-jof",                      "json output=f" },
	{ "-jo f",                     "json output=f" },
	{ "-o -j",                     "output=-j" },
	{ "--output --json",           "output=--json" },
	{ "a -j b --job 1 c",          "json job=1 |a |b |c" },
	{ "a - b",                     "|a |- |b" },
	{ "a -j -- -o --json b",       "json |a |-o |--json |b" },
	{ "-j --",                     "json" },
	{ "--job 1 --jobs --job 2",    "job=1 jobs job=2" },
};

static const struct { const char *line; enum options_wrong wrong; const char *word, *line_of_it; } bad[] = {
	{ "--none",     OPTIONS_UNKNOWN,   "--none",     "unrecognized option '--none'" },
	{ "--none=1 a", OPTIONS_UNKNOWN,   "--none=1",   "unrecognized option '--none=1'" },
	{ "--outputs",  OPTIONS_UNKNOWN,   "--outputs",  "unrecognized option '--outputs'" },
	{ "a --j",      OPTIONS_AMBIGUOUS, "--j",        "option '--j' is ambiguous; possibilities: '--json' '--job' '--jobs'" },
	{ "-z",         OPTIONS_LETTER,    "-z",         "invalid option -- 'z'" },
	{ "-jz",        OPTIONS_LETTER,    "-jz",        "invalid option -- 'z'" },
	{ "-x",         OPTIONS_LETTER,    "-x",         "invalid option -- 'x'" },
	{ "a -o",       OPTIONS_LACKS_ARG, "-o",         "option requires an argument -- 'o'" },
	{ "--out",      OPTIONS_LACKS_ARG, "--out",      "option '--output' requires an argument" },
	{ "--js=1",     OPTIONS_EXTRA_ARG, "--js=1",     "option '--json' doesn't allow an argument" },
};
/* clang-format on */

struct line {
	char text[128], *argv[16];
	struct options s;
};

static struct options *begin(struct line *l, const char *text)
{
	int n = 0;

	memset(l, 0, sizeof(*l));
	snprintf(l->text, sizeof(l->text), "prog %s", text);
	for (char *w = strtok(l->text, " "); w; w = strtok(NULL, " "))
		l->argv[n++] = w;
	l->s = (struct options){ .row = table, .rows = T_LEN(table), .argc = n, .argv = l->argv };
	return &l->s;
}

/* "name=argument" of each option, "|word" of each operand. */
static int read_all(struct options *s, char *out, size_t cap)
{
	size_t n = 0;
	int id;

	*out = '\0';
	while ((id = options_next(s)) >= 0)
		n += (size_t)snprintf(out + n, cap - n, "%s%s%s%s", n ? " " : "", table[id].name,
				      s->arg ? "=" : "", s->arg ? s->arg : "");
	for (int i = 1; id == OPTIONS_DONE && i <= s->operands; i++)
		n += (size_t)snprintf(out + n, cap - n, "%s|%s", n ? " " : "", s->argv[i]);
	return id;
}

static void test_right(void)
{
	char found[256];
	struct line l;

	for (size_t i = 0; i < T_LEN(right); i++) {
		struct options *s = begin(&l, right[i].line);

		T_OK(read_all(s, found, sizeof(found)) == OPTIONS_DONE &&
			     !strcmp(found, right[i].found) && !s->argv[s->operands + 1],
		     "'%s' is '%s'", right[i].line, found);
	}
}

static void test_wrong(void)
{
	char found[256], said[256], want[256];
	struct line l;

	for (size_t i = 0; i < T_LEN(bad); i++) {
		struct options *s = begin(&l, bad[i].line);
		FILE *f = tmpfile(), *was = stderr;

		T_OK(read_all(s, found, sizeof(found)) == OPTIONS_WRONG &&
			     s->wrong == bad[i].wrong && !strcmp(s->word, bad[i].word),
		     "'%s' is wrong at '%s'", bad[i].line, s->word);
		stderr = f;
		options_complain(s);
		stderr = was;
		rewind(f);
		snprintf(want, sizeof(want), "prog: %s\n", bad[i].line_of_it);
		T_OK(fgets(said, sizeof(said), f) && !strcmp(said, want), "and says '%s'",
		     bad[i].line_of_it);
		fclose(f);
	}
}

static void test_stop_early(void)
{
	struct line l;
	struct options *s = begin(&l, "-j python -o x --json");
	char found[256];

	s->stop_early = true;
	T_OK(read_all(s, found, sizeof(found)) == OPTIONS_DONE &&
		     !strcmp(found, "json |python |-o |x |--json"),
	     "the options of another program are left to it");
}

static void test_all(void)
{
	const char *val[T_LEN(table)] = { NULL };
	struct line l;
	struct options *s = begin(&l, "-o a b -j --output c");

	T_OK(options_all(s, val) == OPTIONS_DONE && !strcmp(val[0], "c") && !strcmp(val[1], "") &&
		     !val[2] && s->operands == 1,
	     "the last of two counts; one without argument is empty; one not given is NULL");
}

static void test_left(void)
{
	char left[OPTIONS_LEFT];

	T_OK(!strcmp(options_left(&table[0], true, left), "-o, --output FILE"), "letter and name");
	T_OK(!strcmp(options_left(&table[2], true, left), "    --job ID"), "room for a letter");
	T_OK(!strcmp(options_left(&table[3], false, left), "--jobs"), "a name alone");
}

int main(void)
{
	test_right();
	test_wrong();
	test_stop_early();
	test_all();
	test_left();
	return t_done();
}
