/* SPDX-License-Identifier: Apache-2.0 */
/* limit.c - the file of limits of aon check, line by line. */
#include "cli/report/limit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 256u

static const char *const names[METRICS] = {
#define METRIC(name, people, unit, op, slack, base) [METRIC_##name] = #name,
#include "cli/report/metric.tbl.h"
};

/* NULL, or what is wrong with it. */
static const char *parse_line(struct limits *out, const char *line)
{
	struct limit *l = &out->limit[out->n];
	char name[64], op[4], rest;

	if (!line[strspn(line, " \t\r")])
		return NULL;
	if (out->n == LIMITS_MAX)
		return "too many limits";
	if (sscanf(line, " %63s %3s %lf %c", name, op, &l->value, &rest) != 3 ||
	    !isfinite(l->value))
		return "not a limit";
	if (strcmp(op, "<=") != 0 && strcmp(op, ">=") != 0)
		return "no such comparison";
	l->least = *op == '>';
	for (l->metric = 0; l->metric < METRICS; l->metric++)
		if (!strcmp(names[l->metric], name)) {
			out->n++;
			return NULL;
		}
	return "nothing of that name is measured";
}

int limits_parse(struct limits *out, const char *text, size_t len, struct limits_why *why)
{
	const char *end = text + len, *next;

	out->n = 0;
	for (why->line = 1; text < end; text = next, why->line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text)), *hash, *bad;
		char line[LINE_MAX_BYTES];
		size_t n;

		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		hash = memchr(text, '#', (size_t)(stop - text));
		n = (size_t)((hash ? hash : stop) - text);
		snprintf(line, sizeof(line), "%.*s", (int)(n < sizeof(line) ? n : sizeof(line)),
			 text);
		bad = strlen(line) == n       ? parse_line(out, line)
		      : n >= sizeof(line) - 1 ? "too long a line"
					      : "not text";
		if (bad) {
			snprintf(why->text, sizeof(why->text),
				 "%s: '%s'. Expected: name, <= or >=, a number", bad, line);
			return -EINVAL;
		}
	}
	return 0;
}
