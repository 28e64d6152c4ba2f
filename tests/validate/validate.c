/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate.c - error tables of every model against every measured table at hand, printed and
 * checked: exit 1 if a bar is broken, 77 if there are no tables here.
 *
 *	validate [--bench] [PART...]     --bench: only the rows of build/bench.json
 */
#include "validate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured.h"

static bool rows_only;
static unsigned broken, bars;

static const struct {
	const char *name, *what;
	part_fn *fn;
} parts[] = {
#define PART(name, what) { #name, what, validate_##name },
#include "part.tbl.h"
};

void validate_say(const char *fmt, ...)
{
	va_list ap;

	if (rows_only)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void validate_bar(const char *id, double percent, double bar, const char *note, ...)
{
	bool ok = percent <= bar; /* not true of NaN */
	char text[256];
	va_list ap;

	va_start(ap, note);
	vsnprintf(text, sizeof(text), note, ap);
	va_end(ap);
	bars++;
	broken += !ok;
	if (rows_only)
		printf("{\"id\":\"%s\",\"value\":%.2f,\"unit\":\"%%\",\"bar\":%g,\"ok\":%s,"
		       "\"note\":\"%s\"}\n",
		       id, percent, bar, ok ? "true" : "false", text);
	else
		printf("  %-4s %-18s %6.2f %%  (<= %g %%)  %s\n", ok ? "ok" : "NOT", id, percent,
		       bar, text);
}

static int run_part(size_t i)
{
	int err;

	validate_say("%s", parts[i].what);
	err = parts[i].fn();
	if (err == -ENOENT)
		fprintf(stderr, "validate: %s: its table is not here\n", parts[i].name);
	else if (err < 0)
		fprintf(stderr, "validate: %s: %s\n", parts[i].name, strerror(-err));
	validate_say("%s", "");
	return err;
}

static bool asked(const char *name, int argc, char *argv[])
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		any = true;
		if (!strcmp(argv[i], name))
			return true;
	}
	return !any;
}

/* bench/run.py is told why its rows are not there. */
static int skip_rows(void)
{
	char ids[512], *next = ids, *id;

	snprintf(ids, sizeof(ids), "%s", getenv("BENCH_IDS") ? getenv("BENCH_IDS") : "");
	while ((id = strsep(&next, " ")))
		if (*id)
			printf("{\"id\":\"%s\",\"value\":null,\"unit\":\"%%\",\"bar\":null,\"ok\":"
			       "null,"
			       "\"note\":\"no measured tables here\"}\n",
			       id);
	return 0;
}

int main(int argc, char *argv[])
{
	int err, failed = 0;

	for (int i = 1; i < argc; i++)
		rows_only |= !strcmp(argv[i], "--bench");
	if (!measured_here() && rows_only)
		return skip_rows();
	if (!measured_here()) {
		fprintf(stderr,
			"validate: no measured tables here (../shared/data, or AON_DATA)\n");
		return 77;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!asked(parts[i].name, argc, argv))
			continue;
		err = run_part(i);
		failed |= err < 0 && err != -ENOENT;
	}
	if (failed || broken)
		return 1;
	return bars ? 0 : 77;
}
