/* SPDX-License-Identifier: Apache-2.0 */
/* aon alarms - what aond's detectors have told, from the store's journal. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "cli/locate.h"
#include "cli/out.h"
#include "stacks/stack.h"

#define RANKS 4096u /* of a range, at most */

struct list {
	const struct out *out;
	struct json *j; /* NULL: text */
	size_t n;
};

/* "ranks 0-2,4 of job j: f <- g" of hang_stacks, as numbers and frames. */
static void put_stacks(struct json *j, const char *text)
{
	const char *at = text + strcspn(text, " "), *end = strstr(text, ": ");
	bool ranks = !strncmp(text, "rank", 4);

	json_open(j, "ranks", '[');
	while (ranks && (*at == ' ' || *at == ',') && at[1] >= '0' && at[1] <= '9') {
		char *next;
		unsigned long from = strtoul(at + 1, &next, 10), to = from;

		if (*next == '-')
			to = strtoul(next + 1, &next, 10);
		for (; from <= to && to - from < RANKS; from++)
			json_u64(j, NULL, from);
		at = next;
	}
	json_close(j);
	json_open(j, "frames", '[');
	for (at = end ? end + 2 : NULL; at; at = end ? end + strlen(STACK_BETWEEN) : NULL) {
		char frame[256];

		end = strstr(at, STACK_BETWEEN);
		snprintf(frame, sizeof(frame), "%.*s",
			 (int)(end ? end - at : (ptrdiff_t)strlen(at)), at);
		json_str(j, NULL, frame);
	}
	json_close(j);
}

static int on_journal(void *arg, uint64_t wall_ns, const char *what, const char *text)
{
	struct list *l = arg;
	size_t word = strcspn(text, ":");
	char when[40], kind[40];
	time_t s = (time_t)(wall_ns / 1000000000u);
	struct tm tm;

	if (strcmp(what, "alarm"))
		return 0;
	l->n++;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&s, &tm));
	snprintf(kind, sizeof(kind), "%.*s", (int)word, text);
	text += word;
	text += strspn(text, ": ");
	if (!l->j) {
		char clean[OUT_TEXT];

		out_line(l->out, OUT_PLAIN, "%s  %-14s %s", when, kind,
			 fmt_clean(clean, sizeof(clean), text, l->out->ascii));
		return 0;
	}
	json_open(l->j, NULL, '{');
	json_u64(l->j, "wall_ns", wall_ns);
	json_str(l->j, "at", when);
	json_str(l->j, "kind", kind);
	json_str(l->j, "text", text);
	if (!strcmp(kind, "hang_stacks"))
		put_stacks(l->j, text);
	json_close(l->j);
	return 0;
}

int cmd_alarms(const struct opts *o)
{
	char path[PATH_MAX];
	struct list l = { 0 };
	struct store *st;
	struct json j;
	struct out out;
	int rc, err;

	if (o->argc > 1)
		return cli_misuse("takes one store, not '%s' too", o->argv[1]);
	rc = locate_open(o->argc ? o->argv[0] : NULL, &st, path);
	if (rc != CLI_OK)
		return rc;
	out_init(&out, stdout, o);
	l.out = &out;
	if (o->val[OPT_JSON]) {
		l.j = &j;
		json_init(&j, stdout);
		json_open(&j, NULL, '{');
		json_str(&j, "schema", "aon.alarms/1");
		json_str(&j, "store", path);
		json_open(&j, "alarms", '[');
	}
	err = store_each_journal(st, on_journal, &l);
	if (l.j)
		json_end(&j);
	else if (!err && !l.n)
		fprintf(stderr, "No alarm in %s.\n", path);
	if (err < 0)
		rc = cli_say(CLI_FAIL, "%s: cannot be read on: %s. Check it: aon store check %s",
			     path, strerror(-err), path);
	store_close(st);
	return rc;
}
