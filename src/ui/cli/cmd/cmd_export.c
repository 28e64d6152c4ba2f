/* SPDX-License-Identifier: Apache-2.0 */
/* aon export - stores and traces as other tools read them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/store/export_to.h"
#include "cli/core/inputs.h"
#include "cli/core/out.h"
#include "export/export.h"

struct target {
	enum export_format format;
	bool gz;
	const char *to; /* NULL: standard output */
	bool folder;    /* `to` is one: a file for each rank */
	const struct opts *o;
};

/* One output: its descriptor, and what its bytes are called until they are whole. */
struct output {
	int fd;
	char part[PATH_MAX], path[PATH_MAX];
	const struct target *t;
	uint64_t bytes;
};

static int write_all(void *arg, const void *bytes, size_t n)
{
	struct output *out = arg;
	const char *at = bytes;

	out->bytes += n;
	while (n) {
		ssize_t w = write(out->fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		at += w;
		n -= (size_t)w;
	}
	return 0;
}

static int progress(void *arg, uint64_t done, uint64_t all)
{
	struct output *out = arg;

	return inputs_progress((void *)(uintptr_t)out->t->o, out->t->to ? out->path : "export",
			       done, all);
}

/* --- where to --- */

static int pick_format(struct target *t)
{
	bool gz = false;
	int guess = t->to ? export_format_of(t->to, &gz) : -1;
	int format = opt_choice(t->o, OPT_FORMAT, guess >= 0 ? guess : EXPORT_COUNT);

	if (format < 0)
		return CLI_USAGE;
	if (format == EXPORT_COUNT && t->o->val[OPT_FORMAT])
		return cli_misuse("steps are written of stores alone, by aon export");
	if (format == EXPORT_COUNT && t->to && !t->folder)
		return cli_misuse("cannot tell the format from '%s': name it with --format", t->to);
	if (format == EXPORT_COUNT)
		return cli_misuse("in which format? --format %s", opt_table[OPT_FORMAT].arg);
	t->format = (enum export_format)format;
	t->gz = gz;
	return CLI_OK;
}

static int pick_target(struct target *t)
{
	struct stat sb;
	int rc;

	if (t->to && !strcmp(t->to, "-"))
		t->to = NULL;
	if (t->to && !*t->to)
		return cli_misuse("-o takes the name of a file or folder");
	t->folder = t->to && (t->to[strlen(t->to) - 1] == '/' ||
			      (stat(t->to, &sb) == 0 && S_ISDIR(sb.st_mode)));
	rc = pick_format(t);
	if (rc != CLI_OK)
		return rc;
	if (!t->to && t->o->val[OPT_JSON])
		return cli_misuse("--json says what was written: name a file with -o");
	if (!t->to && export_kinds[t->format].flags & EXPORT_BINARY && isatty(STDOUT_FILENO))
		return cli_misuse("%s is binary, not for a terminal: name a file with -o",
				  export_kinds[t->format].name);
	return CLI_OK;
}

static int open_output(struct output *out)
{
	if (!out->t->to) {
		fflush(stdout);
		out->fd = STDOUT_FILENO;
		return 0;
	}
	if (snprintf(out->part, sizeof(out->part), "%s.part", out->path) >= (int)sizeof(out->part))
		return -ENAMETOOLONG;
	out->fd = open(out->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	return out->fd < 0 ? -errno : 0;
}

/* What is not whole does not get the name that was asked for. */
static int close_output(struct output *out, int err)
{
	if (!out->t->to)
		return err;
	if (close(out->fd) < 0 && !err)
		err = -errno;
	if (!err && rename(out->part, out->path) < 0)
		err = -errno;
	if (err)
		unlink(out->part);
	return err;
}

/* --- what was written --- */

static void say_json(struct json *j, const struct output *out, int32_t rank,
		     const struct export_count *n)
{
	json_open(j, NULL, '{');
	json_str(j, "path", out->path);
	if (rank >= 0)
		json_i64(j, "rank", rank);
	else
		json_null(j, "rank");
	json_u64(j, "bytes", out->bytes);
	json_u64(j, "events", n->events);
	json_u64(j, "gpu_events", n->gpu);
	json_u64(j, "left", n->left);
	if (n->stacks)
		json_u64(j, "stacks", n->stacks);
	json_close(j);
}

static void say_text(const struct out *o, const struct output *out, const struct export_count *n)
{
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN], clean[512];

	out_line(o, OUT_PLAIN, "%s  %s, %s events, %s of them GPU work",
		 fmt_clean(clean, sizeof(clean), out->path, o->ascii), fmt_bytes(a, out->bytes),
		 fmt_exact(b, n->events), fmt_exact(c, n->gpu));
}

static int failed(const struct output *out, int err)
{
	if (err == -EPIPE && !out->t->to)
		return CLI_FAIL;
	return cli_say(CLI_FAIL, "%s: %s. %s", out->t->to ? out->path : "standard output",
		       strerror(-err),
		       out->t->to ? "Nothing was left behind." : "What was written is not whole.");
}

struct session {
	struct target t;
	struct json j;
	struct out out;
};

static int write_one(struct session *s, const struct trace *t, const char *path, int32_t file)
{
	struct output out = { .t = &s->t };
	struct export_opts eo = { .format = s->t.format,
				  .gz = s->t.gz,
				  .file = file,
				  .write = write_all,
				  .progress = progress,
				  .arg = &out };
	struct export_count n;
	int err;

	snprintf(out.path, sizeof(out.path), "%s", path);
	err = open_output(&out);
	if (!err) {
		err = export_trace(t, &eo, &n);
		inputs_progress_end();
		err = close_output(&out, err);
	}
	if (err)
		return failed(&out, err);
	if (s->t.o->val[OPT_JSON])
		say_json(&s->j, &out, file >= 0 ? t->file[file].rank : TRACE_NO_RANK, &n);
	else if (s->t.to)
		say_text(&s->out, &out, &n);
	return CLI_OK;
}

/* "DIR/rank-3.json": each rank by itself, as HTA wants them. */
static int write_each(struct session *s, const struct trace *t)
{
	const struct export_kind *k = &export_kinds[s->t.format];
	size_t len = strlen(s->t.to);
	char path[PATH_MAX];
	int rc = CLI_OK;

	while (len > 1 && s->t.to[len - 1] == '/')
		len--;
	if (mkdir(s->t.to, 0777) < 0 && errno != EEXIST)
		return cli_say(CLI_FAIL, "%s: %s", s->t.to, strerror(errno));
	for (size_t i = 0; i < t->files && rc == CLI_OK; i++) {
		bool known = t->file[i].rank >= 0;

		snprintf(path, sizeof(path), "%.*s/%s-%zu%s%s", (int)len, s->t.to,
			 known ? "rank" : "file", known ? (size_t)t->file[i].rank : i, k->ending,
			 k->flags & EXPORT_GZ ? ".gz" : "");
		rc = write_one(s, t, path, (int32_t)i);
	}
	return rc;
}

static int write_trace(struct session *s, const struct trace *t)
{
	const struct export_kind *k = &export_kinds[s->t.format];

	if (s->t.folder)
		return write_each(s, t);
	if (k->flags & EXPORT_ONE && t->files > 1)
		return cli_misuse("a %s file holds one rank, and these are %zu: name a folder "
				  "with -o DIR/",
				  k->name, t->files);
	return write_one(s, t, s->t.to ? s->t.to : "-", t->files == 1 ? 0 : -1);
}

int export_check(const struct opts *o, const char *to)
{
	struct target t = { .o = o, .to = to };

	return pick_target(&t);
}

bool export_is_single(const struct opts *o, const char *to)
{
	struct target t = { .o = o, .to = to };

	return pick_target(&t) == CLI_OK && !t.folder && export_kinds[t.format].flags & EXPORT_ONE;
}

int export_write(const struct opts *o, const char *to, const char *schema, const struct trace *t,
		 export_more_fn *more, void *arg)
{
	struct session s = { .t = { .o = o, .to = to } };
	int rc = pick_target(&s.t);

	if (rc != CLI_OK)
		return rc;
	out_init(&s.out, stdout, o);
	if (o->val[OPT_JSON]) {
		json_init(&s.j, stdout);
		json_open(&s.j, NULL, '{');
		json_str(&s.j, "schema", schema);
		json_str(&s.j, "format", export_kinds[s.t.format].name);
		json_open(&s.j, "files", '[');
	}
	rc = write_trace(&s, t);
	if (o->val[OPT_JSON]) {
		json_close(&s.j);
		if (more)
			more(arg, &s.j);
		json_end(&s.j);
	}
	if (!o->val[OPT_JSON] && s.t.to && rc == CLI_OK)
		out_line(&s.out, OUT_DIM, "opens in  %s", export_kinds[s.t.format].what);
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
