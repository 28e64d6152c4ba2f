/* SPDX-License-Identifier: Apache-2.0 */
/* aon export - stores and traces as other tools read them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/store/export_to.h"
#include "cli/core/inputs.h"
#include "cli/core/out.h"
#include "export/export_file.h"

struct target {
	struct export_to to;
	const struct opts *o;
};

/* --- where to --- */

static int pick_format(struct target *t)
{
	bool gz = false;
	int guess = t->to.to ? export_format_of(t->to.to, &gz) : -1;
	int format = opt_choice(t->o, OPT_FORMAT, guess >= 0 ? guess : EXPORT_COUNT);

	if (format < 0)
		return CLI_USAGE;
	if (format == EXPORT_COUNT && t->o->val[OPT_FORMAT])
		return cli_misuse("steps are written of stores alone, by aon export");
	if (format == EXPORT_COUNT && t->to.to && !t->to.folder)
		return cli_misuse("cannot tell the format from '%s': name it with --format",
				  t->to.to);
	if (format == EXPORT_COUNT)
		return cli_misuse("in which format? --format %s", opt_table[OPT_FORMAT].arg);
	t->to.format = (enum export_format)format;
	t->to.gz = gz;
	return CLI_OK;
}

static int pick_target(struct target *t)
{
	struct stat sb;
	int rc;

	if (t->to.to && !strcmp(t->to.to, "-"))
		t->to.to = NULL;
	if (t->to.to && !*t->to.to)
		return cli_misuse("-o takes the name of a file or folder");
	t->to.folder = t->to.to && (t->to.to[strlen(t->to.to) - 1] == '/' ||
				    (stat(t->to.to, &sb) == 0 && S_ISDIR(sb.st_mode)));
	rc = pick_format(t);
	if (rc != CLI_OK)
		return rc;
	if (!t->to.to && t->o->val[OPT_JSON])
		return cli_misuse("--json says what was written: name a file with -o");
	if (!t->to.to && export_kinds[t->to.format].flags & EXPORT_BINARY && isatty(STDOUT_FILENO))
		return cli_misuse("%s is binary, not for a terminal: name a file with -o",
				  export_kinds[t->to.format].name);
	return CLI_OK;
}

/* --- what was written --- */

struct session {
	struct target t;
	struct json j;
	struct out out;
};

static void say_json(struct json *j, const struct export_wrote *w)
{
	json_open(j, NULL, '{');
	json_members(j, J_STR("path", w->path), J_I64_IF("rank", w->rank >= 0, w->rank),
		     J_U64("bytes", w->bytes), J_U64("events", w->n.events),
		     J_U64("gpu_events", w->n.gpu), J_U64("left", w->n.left));
	if (w->n.stacks)
		json_u64(j, "stacks", w->n.stacks);
	json_close(j);
}

static void on_wrote(void *arg, const struct export_wrote *w)
{
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], clean[512];
	struct session *s = arg;

	inputs_progress_end();
	if (s->t.o->val[OPT_JSON])
		say_json(&s->j, w);
	else if (s->t.to.to)
		out_line(&s->out, OUT_PLAIN, "%s  %s, %s events, %s of them GPU work",
			 fmt_clean(clean, sizeof(clean), w->path, s->out.ascii),
			 fmt_bytes(a, w->bytes), fmt_exact(b, w->n.events), fmt_exact(c, w->n.gpu));
}

static int failed(const struct target *t, const char *path, int err)
{
	if (err == -EPIPE && !t->to.to)
		return CLI_FAIL;
	return cli_say(CLI_FAIL, "%s: %s. %s", t->to.to ? path : "standard output", strerror(-err),
		       t->to.to ? "Nothing was left behind." : "What was written is not whole.");
}

static int write_trace(struct session *s, const struct trace *t)
{
	char path[PATH_MAX] = "";
	int err;

	s->t.to.progress = inputs_progress;
	s->t.to.arg = (void *)(uintptr_t)s->t.o;
	err = export_files(t, &s->t.to, on_wrote, s, path);
	inputs_progress_end();
	if (err == -EMLINK && !*path)
		return cli_misuse("a %s file holds one rank, and these are %zu: name a folder "
				  "with -o DIR/",
				  export_kinds[s->t.to.format].name, t->files);
	return err ? failed(&s->t, path, err) : CLI_OK;
}

int export_check(const struct opts *o, const char *to)
{
	struct target t = { .o = o, .to.to = to };

	return pick_target(&t);
}

bool export_is_single(const struct opts *o, const char *to)
{
	struct target t = { .o = o, .to.to = to };

	return pick_target(&t) == CLI_OK && !t.to.folder &&
	       export_kinds[t.to.format].flags & EXPORT_ONE;
}

int export_write(const struct opts *o, const char *to, const char *schema, const struct trace *t,
		 export_more_fn *more, void *arg)
{
	struct session s = { .t = { .o = o, .to.to = to } };
	int rc = pick_target(&s.t);

	if (rc != CLI_OK)
		return rc;
	out_init(&s.out, stdout, o);
	if (o->val[OPT_JSON]) {
		json_begin(&s.j, stdout, schema);
		json_str(&s.j, "format", export_kinds[s.t.to.format].name);
		json_open(&s.j, "files", '[');
	}
	rc = write_trace(&s, t);
	if (o->val[OPT_JSON]) {
		json_close(&s.j);
		if (more)
			more(arg, &s.j);
		json_end(&s.j);
	}
	if (!o->val[OPT_JSON] && s.t.to.to && rc == CLI_OK)
		out_line(&s.out, OUT_DIM, "opens in  %s", export_kinds[s.t.to.format].what);
	return rc;
}

int cmd_export(const struct opts *o)
{
	const char *to = o->val[OPT_OUTPUT_TO];
	struct trace *t;
	int rc;

	if (fleet_asked(o) && (o->val[OPT_OF_CAPTURE] || export_wants_steps(o, to)))
		return fleet_as_store(o, cmd_export);
	if (fleet_asked(o))
		return cli_misuse("of a cluster: --job J with --capture C, or --format steps");
	if (export_wants_steps(o, to))
		return export_steps(o, to);
	rc = export_check(o, to);
	if (rc == CLI_OK)
		rc = inputs_load(&t, o);
	if (rc != CLI_OK)
		return rc;
	rc = export_write(o, to, "aon.export/1", t, NULL, NULL);
	rc = rc == CLI_OK ? inputs_exit(t) : rc;
	trace_free(t);
	return rc;
}
