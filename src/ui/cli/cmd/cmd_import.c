/* SPDX-License-Identifier: Apache-2.0 */
/* aon import - traces of other tools into a store, in bounded memory. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/store/import_store.h"
#include "cli/core/inputs.h"
#include "cli/core/out.h"
#include "store/store.h"

#define STEM_MAX 60u

/* "aon-worker0.db" for "runs/worker0.pt.trace.json.gz": where aon report looks without a word. */
static void default_store(char *to, size_t cap, const char *from)
{
	size_t len = strlen(from), at = len, n = 0;
	char stem[STEM_MAX + 1];

	while (at && from[at - 1] == '/')
		len = --at;
	while (at && from[at - 1] != '/')
		at--;
	for (; at < len && from[at] != '.' && n < STEM_MAX; at++)
		stem[n++] = (from[at] > ' ' && from[at] < 0x7f) ? from[at] : '_';
	stem[n] = '\0';
	snprintf(to, cap, "aon-%s.db", n && strcmp(stem, "-") ? stem : "import");
}

static void say_json(const struct trace *t, const char *to)
{
	struct json j;

	json_begin(&j, stdout, "aon.import/1");
	json_str(&j, "output", to);
	json_open(&j, "files", '[');
	for (size_t i = 0; i < t->files; i++) {
		const struct trace_file *f = &t->file[i];

		json_open(&j, NULL, '{');
		json_members(&j, J_STR("path", f->path),
			     J_I64_IF("rank", f->rank != TRACE_NO_RANK, f->rank),
			     J_U64("events", f->rows), J_U64("imported", f->imported),
			     J_U64("left", f->left), J_U64("lost", f->lost),
			     J_U64("mended", f->mended));
		if (f->broke_at != UINT64_MAX)
			json_u64(&j, "broke_at", f->broke_at);
		json_str(&j, "damage", *f->why ? f->why : NULL);
		json_close(&j);
	}
	json_close(&j);
	json_u64(&j, "names_over", t->names_over);
	json_end(&j);
}

static void say_text(const struct opts *o, const struct trace *t, const char *to)
{
	static const struct col col[] = { COL_NAME("FILE", 0), COL_NUM("RANK", 1),
					  COL_NUM("ROWS", 2), COL_NUM("EVENTS", 0),
					  COL_NUM("LOST", 0) };
	struct table table;
	struct out out;
	char n[FMT_LEN];

	out_init(&out, stdout, o);
	table_init(&table, col, sizeof(col) / sizeof(col[0]));
	for (size_t i = 0; i < t->files; i++) {
		const struct trace_file *f = &t->file[i];

		table_add_text(&table, &out, f->path);
		if (f->rank == TRACE_NO_RANK)
			table_add(&table, "-");
		else
			table_add(&table, "%d", f->rank);
		table_add(&table, "%s", fmt_exact(n, f->rows));
		table_add(&table, "%s", fmt_exact(n, f->imported));
		table_add(&table, "%s", fmt_exact(n, f->lost));
	}
	table_done(&table, &out, 0);
	if (t->names_over)
		out_line(&out, OUT_WARN, "%s names too many became (other)",
			 fmt_exact(n, t->names_over));
	out_next(&out, "aon report %s", to);
}

static bool is_store(const char *path)
{
	struct store *st;
	struct stat sb;

	if (stat(path, &sb) < 0 || !S_ISREG(sb.st_mode) || store_open_ro(&st, path, NULL) < 0)
		return false;
	store_close(st);
	return true;
}

int cmd_import(const struct opts *o)
{
	char to[IMPORT_STORE_PATH];
	struct trace *t;
	int rc;

	if (!o->argc)
		return cli_misuse("which trace?");
	if (o->val[OPT_OUTPUT])
		snprintf(to, sizeof(to), "%s", o->val[OPT_OUTPUT]);
	else
		default_store(to, sizeof(to), o->argv[0]);
	for (int i = 0; i < o->argc; i++)
		if (is_store(o->argv[i]))
			return cli_say(CLI_FAIL, "%s: is a store already: aon report %s",
				       o->argv[i], o->argv[i]);
	if (trace_new(&t) < 0)
		return cli_say(CLI_FAIL, "out of memory");
	rc = import_store(o, t, o->argv, o->argc, to);
	if (rc == CLI_OK) {
		if (o->val[OPT_JSON])
			say_json(t, to);
		else
			say_text(o, t, to);
		fflush(stdout);
		inputs_say_damage(t);
		rc = inputs_exit(t);
	}
	trace_free(t);
	return rc;
}
