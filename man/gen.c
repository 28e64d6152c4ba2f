/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen.c - fills the pages and the example of aond.conf from the tables that the code is made of.
 *
 *	gen TEMPLATE [FILE]
 *
 * A line @settings@, @options@, @collectors@, @counters@, @losses@, @kinds@, @conf@ and the like becomes that table;
 * @ship_settings@ and @ship_conf@ of aon ship, @bmc@ of BMCs among them;
 * @file@ becomes FILE as it is (`aon help --roff`), @code@ becomes FILE as an example;
 * @version@ becomes the version.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct setting {
	const char *key, *type, *def, *unit, *live, *help;
	long min, max;
};

static const struct setting settings[] = {
#define PARAM(key, type, def, min, max, unit, live, help) \
	{ #key, #type, def, unit, #live, help, min, max },
#include "daemon/core/param.tbl.h"
};

static const struct setting ship_settings[] = {
#define PARAM(key, type, def, min, max, unit, live, help) \
	{ #key, #type, def, unit, #live, help, min, max },
#include "ship/conf.tbl.h"
};

struct row {
	const char *name, *word, *help;
};

/* Settings of a BMC: the key, its default and its range as words. */
static const struct row bmc[] = {
#define BMC_TEXT(key, bytes, def, help)   { #key, def, help },
#define BMC_NUM(key, def, min, max, help) { #key, #def " (" #min " to " #max ")", help },
#define BMC_FLAG(key, def, help)          { #key, def ? "yes" : "no", help },
#include "collect/bmc/bmc_conf.tbl.h"
};

struct option {
	int letter;
	const char *name, *arg, *help;
};

static const struct option options[] = {
#define OPT(ID, letter, name, arg, help) { letter, name, arg, help },
#include "daemon/core/opt.tbl.h"
};

static const struct row collectors[] = {
#define COLLECTOR(name, interval, limit, always, help) \
	{ #name, always ? "runs if none is named" : "", help },
#include "collect/collector.tbl.h"
};

static const struct row counters[] = {
#define COUNT(name, kind, help) { #name, #kind, help },
#include "daemon/core/count.tbl.h"
};

static const struct row losses[] = {
#define LOSS(num, NAME, word, side, help) { word, #side, help },
#include "abi/loss.tbl.h"
};

static const struct row kinds[] = {
#define KIND(num, NAME, word, form, want) { word, #want, #num },
#include "abi/kind.tbl.h"
};

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* What roff would read as its own is escaped. */
static void text(const char *s)
{
	if (*s == '.' || *s == '\'')
		fputs("\\&", stdout);
	for (; *s; s++) {
		if (*s == '\\')
			fputs("\\e", stdout);
		else if (*s == '-')
			fputs("\\-", stdout);
		else
			putchar(*s);
	}
}

static void sentence(const char *s)
{
	char first[2] = { (char)toupper((unsigned char)*s), 0 };

	text(first);
	text(s + 1);
	printf(".\n");
}

static void put_settings(const struct setting *s, size_t n)
{
	for (; n--; s++) {
		printf(".TP\n.B %s\n", s->key);
		sentence(s->help);
		if (!strcmp(s->type, "WORD")) {
			printf("One of ");
			text(s->unit);
			printf(".\n");
		} else if (!strcmp(s->type, "NUM")) {
			printf("From %ld to %ld%s%s.\n", s->min, s->max, *s->unit ? " " : "",
			       s->unit);
		} else if (!strcmp(s->type, "SHARE")) {
			printf("From %g to %g%%, in steps of 0.1%%.\n", (double)s->min / 10,
			       (double)s->max / 10);
		}
		printf("Default: ");
		text(*s->def ? s->def : "empty");
		text(strcmp(s->type, "SHARE") ? "" : s->unit);
		printf(".%s\n", strcmp(s->live, "LIVE") ? "\nRead at start only." : "");
	}
}

static void put_bmc(void)
{
	for (size_t i = 0; i < sizeof(bmc) / sizeof(bmc[0]); i++) {
		printf(".TP\n.B %s\n", bmc[i].name);
		sentence(bmc[i].help);
		printf("Default: ");
		text(*bmc[i].word ? bmc[i].word : "empty");
		printf(".\n");
	}
}

static void put_options(void)
{
	for (size_t i = 0; i < LEN(options); i++) {
		const struct option *o = &options[i];

		if (!o->help)
			continue;
		printf(".TP\n");
		if (o->letter)
			printf("\\fB\\-%c\\fR, ", o->letter);
		printf("\\fB\\-\\-");
		text(o->name);
		printf("\\fR%s%s%s\n", o->arg ? " \\fI" : "", o->arg ? o->arg : "",
		       o->arg ? "\\fR" : "");
		sentence(o->help);
	}
}

static void put_rows(const struct row *r, size_t n)
{
	for (; n--; r++) {
		printf(".TP\n.B %s\n", r->name);
		sentence(r->help);
	}
}

static void put_losses(void)
{
	for (size_t i = 0; i < LEN(losses); i++) {
		printf(".TP\n.B %s\n", losses[i].name);
		sentence(losses[i].help);
		printf("%s.\n", strcmp(losses[i].word, "APP") ? "Counted by aond"
							      : "Counted in the process");
	}
}

static void put_kinds(void)
{
	for (size_t i = 0; i < LEN(kinds); i++)
		printf("%s\t%s\tAON_WANT_%s\n", kinds[i].help, kinds[i].name, kinds[i].word);
}

static void put_conf(const struct setting *s, size_t n)
{
	for (; n--; s++) {
		printf("\n# %s%s%s%s\n", s->help, *s->unit ? " [" : "", s->unit,
		       *s->unit ? "]" : "");
		printf("#%s =%s%s\n", s->key, *s->def ? " " : "", s->def);
	}
}

static int put_file(const char *path, int code)
{
	char line[1024];
	FILE *f = path ? fopen(path, "r") : NULL;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		code ? text(line) : (void)fputs(line, stdout);
	fclose(f);
	return 0;
}

static int put_line(const char *line, const char *file)
{
	const char *at = strstr(line, "@version@");

	if (at)
		printf("%.*s%s%s", (int)(at - line), line, AON_VERSION, at + strlen("@version@"));
	else if (!strcmp(line, "@settings@\n"))
		put_settings(settings, LEN(settings));
	else if (!strcmp(line, "@bmc@\n"))
		put_bmc();
	else if (!strcmp(line, "@ship_settings@\n"))
		put_settings(ship_settings, LEN(ship_settings));
	else if (!strcmp(line, "@options@\n"))
		put_options();
	else if (!strcmp(line, "@collectors@\n"))
		put_rows(collectors, LEN(collectors));
	else if (!strcmp(line, "@counters@\n"))
		put_rows(counters, LEN(counters));
	else if (!strcmp(line, "@losses@\n"))
		put_losses();
	else if (!strcmp(line, "@kinds@\n"))
		put_kinds();
	else if (!strcmp(line, "@conf@\n"))
		put_conf(settings, LEN(settings));
	else if (!strcmp(line, "@ship_conf@\n"))
		put_conf(ship_settings, LEN(ship_settings));
	else if (!strcmp(line, "@file@\n") || !strcmp(line, "@code@\n"))
		return put_file(file, line[1] == 'c');
	else
		fputs(line, stdout);
	return 0;
}

int main(int argc, char *argv[])
{
	char line[1024];
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	int err = 0;

	if (!f)
		return fprintf(stderr, "usage: gen TEMPLATE [FILE]\n"), 2;
	while (!err && fgets(line, sizeof(line), f))
		err = put_line(line, argc > 2 ? argv[2] : NULL);
	fclose(f);
	return err || fflush(stdout) ? 1 : 0;
}
