/* SPDX-License-Identifier: Apache-2.0 */
/* alarms.c - journal entries that are alarms, as text and as JSON; see alarms.h. */
#include "cli/report/alarms.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/core/locate.h"

#define BRIEF 6u

struct list {
	const struct out *out; /* these NULL: only counted */
	struct json *j;
	size_t n, skip;
};

static int on_entry(void *arg, const struct journal_entry *e)
{
	struct list *l = arg;
	char when[40], text[ENTRY_TEXT], clean[OUT_TEXT];
	time_t s = (time_t)(e->wall_ns / 1000000000u);
	struct tm tm;

	if (!entry_is_alarm(e) || l->n++ < l->skip || (!l->out && !l->j))
		return 0;
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&s, &tm));
	entry_text(e, text);
	if (!l->j) {
		out_line(l->out, OUT_PLAIN, "%s  %-14s %s", when, entry_kinds[e->kind].word,
			 fmt_clean(clean, sizeof(clean), text, l->out->ascii));
		return 0;
	}
	json_open(l->j, NULL, '{');
	json_members(l->j, J_U64("wall_ns", e->wall_ns), J_STR("at", when),
		     J_STR("kind", entry_kinds[e->kind].word), J_STR("text", text));
	entry_json(l->j, e);
	json_close(l->j);
	return 0;
}

long alarms_text(struct store *st, const struct out *out, size_t last)
{
	struct list all = { 0 }, l = { .out = out };
	int err = store_each_entry(st, on_entry, &all);

	l.skip = all.n > last ? all.n - last : 0;
	err = err ? err : store_each_entry(st, on_entry, &l);
	return err < 0 ? err : (long)all.n;
}

int alarms_json(struct json *j, struct store *st)
{
	struct list l = { .j = j };
	int err;

	json_open(j, "alarms", '[');
	err = store_each_entry(st, on_entry, &l);
	json_close(j);
	return err;
}

void alarms_brief(struct store *st, const struct out *out, const char *path)
{
	struct list all = { 0 };

	if (store_each_entry(st, on_entry, &all) < 0 || !all.n)
		return;
	out_line(out, OUT_WARN, "\nTold while it ran%s:", all.n > BRIEF ? ", the newest" : "");
	alarms_text(st, out, BRIEF);
	if (all.n > BRIEF)
		out_line(out, OUT_COPY, "all %zu  aon alarms %s", all.n, path);
}

struct store *alarms_store(const struct opts *o, char path[PATH_MAX])
{
	struct store *st;
	struct stat sb;

	if (!o->argc)
		return locate_open(NULL, &st, path) == CLI_OK ? st : NULL;
	snprintf(path, PATH_MAX, "%s", o->argv[0]);
	if (o->argc > 1 || stat(path, &sb) < 0 || !S_ISREG(sb.st_mode) ||
	    store_open_ro(&st, path, NULL) < 0)
		return NULL;
	return st;
}
