/* SPDX-License-Identifier: Apache-2.0 */
/* aon store - check a store, count what it holds, read its journal. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"

#define FAULT_LINES 20u /* of them, unless all are asked for */

struct faults {
	const struct out *out;
	struct json *j; /* NULL: text */
	size_t n;
};

static void stat_json(struct json *j, const struct store_stat *s)
{
	json_members(j, J_U64("version", s->version), J_U64("bytes", s->bytes),
		     J_U64("processes", s->processes), J_U64("tracks", s->tracks));
	json_u64(j, "lanes", s->tracks); /* the key until 0.1 */
	json_members(j, J_U64("names", s->names), J_U64("events", s->events),
		     J_U64("event_blobs", s->event_blobs), J_U64("event_bytes", s->event_bytes),
		     J_U64("rollups", s->rollups), J_U64("window_blobs", s->window_blobs),
		     J_U64("window_bytes", s->window_bytes), J_U64("steps", s->steps),
		     J_U64("step_bytes", s->step_bytes), J_U64("first_ns", s->first_ns),
		     J_U64("last_ns", s->last_ns));
}

static void stat_text(const struct out *out, const struct store_stat *s)
{
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN];

	out_line(out, OUT_PLAIN, "  version    %u", s->version);
	out_line(out, OUT_PLAIN, "  size       %s", fmt_bytes(a, s->bytes));
	out_line(out, OUT_PLAIN, "  processes  %s, with %s tracks", fmt_count(a, s->processes),
		 fmt_count(b, s->tracks));
	out_line(out, OUT_PLAIN, "  names      %s", fmt_count(a, s->names));
	out_line(out, OUT_PLAIN, "  events     %s in %s blobs, %s", fmt_count(a, s->events),
		 fmt_count(b, s->event_blobs), fmt_bytes(c, s->event_bytes));
	if (s->events)
		out_line(out, OUT_PLAIN, "             %s bytes an event",
			 fmt_value(a, (double)s->event_bytes / (double)s->events, 2));
	out_line(out, OUT_PLAIN, "  rollups    %s in %s windows, %s", fmt_count(a, s->rollups),
		 fmt_count(b, s->window_blobs), fmt_bytes(c, s->window_bytes));
	if (s->steps)
		out_line(out, OUT_PLAIN, "  steps      %s records, %s", fmt_count(a, s->steps),
			 fmt_bytes(b, s->step_bytes));
	if (s->last_ns > s->first_ns)
		out_line(out, OUT_PLAIN, "  span       %s",
			 out_time(out, a, sizeof(a), s->last_ns - s->first_ns));
}

static int do_stat(const struct opts *o, const char *path)
{
	char used[PATH_MAX];
	struct store_stat s;
	struct store *st;
	struct out out;
	struct json j;
	int rc, err;

	rc = locate_open(path, &st, used);
	if (rc != CLI_OK)
		return rc;
	err = store_stat(st, &s);
	store_close(st);
	if (err < 0)
		return cli_say(CLI_FAIL, "%s: %s. Check it: aon store check %s", path,
			       strerror(-err), path);
	out_init(&out, stdout, o);
	if (o->val[OPT_JSON]) {
		json_begin(&j, stdout, "aon.store/1");
		json_str(&j, "path", path);
		stat_json(&j, &s);
		json_end(&j);
		return CLI_OK;
	}
	fprintf(out.f, "%s\n", path);
	stat_text(&out, &s);
	return CLI_OK;
}

static void on_fault(void *arg, const char *line)
{
	struct faults *f = arg;
	char clean[OUT_TEXT];

	f->n++;
	if (f->j)
		json_str(f->j, NULL, line);
	else if (f->n <= FAULT_LINES)
		out_line(f->out, OUT_FAIL, "  FAIL  %s",
			 fmt_clean(clean, sizeof(clean), line, f->out->ascii));
}

static void check_text(const struct faults *f, const char *path, const struct store_stat *s)
{
	const char *plural = f->n == 1 ? "" : "s";
	char n[FMT_LEN];

	if (f->n > FAULT_LINES)
		out_line(f->out, OUT_PLAIN, "  + %zu more faults", f->n - FAULT_LINES);
	if (!f->n) {
		out_line(f->out, OUT_PLAIN, "%s: ok, every sum matches", path);
		stat_text(f->out, s);
		return;
	}
	if (s->events)
		out_line(f->out, OUT_BOLD, "%s: %zu fault%s; %s events are whole", path, f->n,
			 plural, fmt_count(n, s->events));
	else
		out_line(f->out, OUT_BOLD, "%s: %zu fault%s; it cannot be read as it is", path,
			 f->n, plural);
	fprintf(f->out->f, "save them  %saon recover %s -o NEW%s\n", out_style(f->out, OUT_COPY),
		path, out_style(f->out, OUT_PLAIN));
}

static int do_check(const struct opts *o, const char *path)
{
	struct store_stat s = { 0 };
	struct faults f = { 0 };
	struct store_why why = { "" };
	struct store *st;
	struct stat sb;
	struct out out;
	struct json j;
	int n;

	/* A file that is no store gets the usual error; a damaged store is examined. */
	n = store_open_ro(&st, path, &why);
	if (n == 0)
		store_close(st);
	else if (n != -EBADMSG || stat(path, &sb) < 0)
		return locate_failed(path, n, &why);
	out_init(&out, stdout, o);
	f.out = &out;
	if (o->val[OPT_JSON]) {
		f.j = &j;
		json_begin(&j, stdout, "aon.store.check/1");
		json_str(&j, "path", path);
		json_open(&j, "faults", '[');
	}
	n = store_check(path, on_fault, &f, &s);
	if (f.j) {
		json_close(&j);
		json_open(&j, "good", '{');
		stat_json(&j, &s);
		json_end(&j);
	}
	if (n < 0 && !f.n)
		return locate_failed(path, n, NULL);
	if (!f.j)
		check_text(&f, path, &s);
	return n ? CLI_FAIL : CLI_OK;
}

static int on_entry(void *arg, const struct journal_entry *e)
{
	const struct faults *f = arg;
	char when[FMT_LEN], a[64], b[OUT_TEXT], text[ENTRY_TEXT];

	entry_line(e, text);
	if (f->j) {
		json_open(f->j, NULL, '{');
		json_members(f->j, J_U64("wall_ns", e->wall_ns), J_STR("what", entry_what(e)),
			     J_STR("kind", entry_kinds[e->kind].word), J_STR("text", text));
		entry_json(f->j, e);
		json_close(f->j);
	} else {
		out_line(f->out, OUT_PLAIN, "%s  %-10s  %s", fmt_wall(when, e->wall_ns),
			 fmt_clean(a, sizeof(a), entry_what(e), f->out->ascii),
			 fmt_clean(b, sizeof(b), text, f->out->ascii));
	}
	return 0;
}

static int do_journal(const struct opts *o, const char *path)
{
	char used[PATH_MAX];
	struct faults f = { 0 };
	struct store *st;
	struct out out;
	struct json j;
	int rc, err;

	rc = locate_open(path, &st, used);
	if (rc != CLI_OK)
		return rc;
	out_init(&out, stdout, o);
	f.out = &out;
	if (o->val[OPT_JSON]) {
		f.j = &j;
		json_begin(&j, stdout, "aon.store.journal/1");
		json_str(&j, "path", path);
		json_open(&j, "lines", '[');
	}
	err = store_each_entry(st, on_entry, &f);
	if (f.j)
		json_end(&j);
	store_close(st);
	if (err < 0)
		return cli_say(CLI_FAIL, "%s: %s. Check it: aon store check %s", path,
			       strerror(-err), path);
	return CLI_OK;
}

int cmd_store(const struct opts *o)
{
	static const struct {
		const char *word;
		int (*fn)(const struct opts *o, const char *path);
	} what[] = { { "check", do_check }, { "stat", do_stat }, { "journal", do_journal } };

	if (o->argc != 2)
		return cli_misuse("takes check, stat or journal, and one store");
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		if (!strcmp(o->argv[0], what[i].word))
			return what[i].fn(o, o->argv[1]);
	return cli_misuse("takes check, stat or journal, not '%s'", o->argv[0]);
}
