/* SPDX-License-Identifier: Apache-2.0 */
/* aon recover - save what is whole from a damaged store, or from the pools of a dead node. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "cli/store/import_store.h"
#include "cli/store/salvage.h"

static void pool_text(const struct out *out, const char *path, const struct salvage *s)
{
	char a[FMT_LEN], b[FMT_LEN];

	out_line(out, OUT_BOLD, "%s  pid %u", path, s->pid);
	out_line(out, OUT_PLAIN, "  saved      %s of %s records", fmt_exact(a, s->stored),
		 fmt_exact(b, s->records));
	out_line(out, s->stored < s->records ? OUT_WARN : OUT_PLAIN,
		 "  lost       %s not understood", fmt_exact(a, s->records - s->stored));
	if (s->units_bad)
		out_line(out, OUT_WARN, "             %s units of 32 bytes in %s damaged chunks",
			 fmt_exact(a, s->units_bad), fmt_exact(b, s->chunks_bad));
	if (s->bytes_missing)
		out_line(out, OUT_WARN, "             the file ends %s bytes early",
			 fmt_exact(a, s->bytes_missing));
	if (s->app_lost)
		out_line(out, OUT_WARN, "             %s never written: the process says so",
			 fmt_exact(a, s->app_lost));
	if (s->taken)
		out_line(out, OUT_PLAIN, "  elsewhere  %s were taken by aond before: see its store",
			 fmt_exact(a, s->taken));
}

static void pool_json(struct json *j, const char *path, const struct salvage *s)
{
	json_object(j, NULL, J_STR("path", path), J_STR("kind", "pool"), J_U64("pid", s->pid),
		    J_U64("records", s->records), J_U64("stored", s->stored),
		    J_U64("lost", s->records - s->stored), J_U64("chunks_damaged", s->chunks_bad),
		    J_U64("units_damaged", s->units_bad), J_U64("bytes_missing", s->bytes_missing),
		    J_U64("app_lost", s->app_lost), J_U64("taken_before", s->taken));
}

static void store_text(const struct out *out, const char *path, const struct store_salvage *s)
{
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN];

	out_line(out, OUT_BOLD, "%s", path);
	out_line(out, OUT_PLAIN, "  saved      %s events in %s blobs", fmt_exact(a, s->events),
		 fmt_exact(b, s->event_blobs));
	out_line(out, OUT_PLAIN, "             %s windows, %s names, %s processes",
		 fmt_exact(a, s->window_blobs), fmt_exact(b, s->names), fmt_exact(c, s->processes));
	if (s->steps)
		out_line(out, OUT_PLAIN, "             %s records of steps",
			 fmt_exact(a, s->steps));
	out_line(out, s->blobs_lost ? OUT_WARN : OUT_PLAIN,
		 "  lost       %s blobs, with at least %s events", fmt_exact(a, s->blobs_lost),
		 fmt_exact(b, s->events_lost));
	out_line(out, s->pages_bad ? OUT_WARN : OUT_PLAIN, "             %s of %s pages unreadable",
		 fmt_exact(a, s->pages_bad), fmt_exact(b, s->pages));
}

static void store_json(struct json *j, const char *path, const struct store_salvage *s)
{
	json_object(j, NULL, J_STR("path", path), J_STR("kind", "store"), J_U64("pages", s->pages),
		    J_U64("pages_damaged", s->pages_bad), J_U64("events", s->events),
		    J_U64("event_blobs", s->event_blobs), J_U64("window_blobs", s->window_blobs),
		    J_U64("steps", s->steps), J_U64("names", s->names),
		    J_U64("processes", s->processes), J_U64("blobs_lost", s->blobs_lost),
		    J_U64("events_lost", s->events_lost));
}

static void begin_json(struct json *j, const char *to)
{
	json_begin(j, stdout, "aon.recover/1");
	json_str(j, "output", to);
	json_open(j, "files", '[');
}

static int recover_store(const struct opts *o, const char *path, const char *to)
{
	struct store_why why = { "" };
	struct store_salvage s = { 0 };
	struct out out;
	struct json j;
	struct store *st;
	int err;

	err = store_open_ro(&st, path, &why);
	if (err == 0)
		store_close(st);
	else if (err == -EPROTO)
		return locate_failed(path, err,
				     &why); /* what is new in it would be dropped unseen */
	err = store_salvage(path, to, &s, &why);
	if (err < 0)
		return locate_failed(err == -EEXIST ? to : path, err, &why);
	if (!s.event_blobs && !s.window_blobs && !s.processes) {
		import_remove(to); /* it was begun and holds nothing */
		return cli_say(CLI_FAIL,
			       "%s: holds nothing that aon wrote, or nothing whole. "
			       "Try an older copy.",
			       path);
	}
	out_init(&out, stdout, o);
	if (o->val[OPT_JSON]) {
		begin_json(&j, to);
		store_json(&j, path, &s);
		json_end(&j);
	} else {
		store_text(&out, path, &s);
		out_next(&out, "aon report %s", to);
	}
	return CLI_OK;
}

static int pool_failed(const char *path, int err)
{
	if (err == -EPROTO)
		return cli_say(CLI_FAIL,
			       "%s: its head is damaged or of another version; nothing "
			       "can be saved from it.",
			       path);
	return cli_say(CLI_FAIL, "%s: %s. Nothing was changed.", path, strerror(-err));
}

static int recover_pools(const struct opts *o, const char *to)
{
	struct store_opts so = { .names_max = 1000000, .create = true };
	struct store_why why = { "" };
	int err, rc = CLI_OK, saved = 0;
	struct salvage s;
	struct store *st;
	struct out out;
	struct json j;

	err = store_open_rw(&st, to, &so, &why);
	if (err < 0)
		return locate_failed(to, err, &why);
	out_init(&out, stdout, o);
	if (o->val[OPT_JSON])
		begin_json(&j, to);
	for (int i = 0; i < o->argc; i++) {
		err = salvage_pool(st, o->argv[i], &s);
		err = err ? err : store_commit(st, 0);
		if (err < 0) {
			store_rollback(st);
			rc = pool_failed(o->argv[i], err);
			continue;
		}
		saved++;
		if (o->val[OPT_JSON])
			pool_json(&j, o->argv[i], &s);
		else
			pool_text(&out, o->argv[i], &s);
	}
	if (o->val[OPT_JSON])
		json_end(&j);
	else if (saved)
		out_next(&out, "aon report %s", to);
	store_close(st);
	if (!saved)
		import_remove(to); /* it was begun and holds nothing */
	return rc;
}

int cmd_recover(const struct opts *o)
{
	const char *to = o->val[OPT_OUTPUT];
	int pools = 0, err;
	struct stat sb;
	bool yes;

	if (!o->argc || !to || !*to)
		return cli_misuse("takes what to read and where to write: FILE... -o NEW");
	if (lstat(to, &sb) == 0)
		return cli_say(CLI_FAIL, "%s: is there already. Name a file that is not.", to);
	for (int i = 0; i < o->argc; i++) {
		err = salvage_is_pool(o->argv[i], &yes);
		if (err < 0)
			return cli_say(CLI_FAIL, "%s: %s. Nothing was changed.", o->argv[i],
				       err == -EMEDIUMTYPE ? "not a file" : strerror(-err));
		pools += yes;
	}
	if (pools == o->argc)
		return recover_pools(o, to);
	if (o->argc > 1)
		return cli_misuse("takes one store, or pools only: not both, nor two stores");
	return recover_store(o, o->argv[0], to);
}
