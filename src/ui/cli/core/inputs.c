/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.c - opens the inputs of a command, of any kind, as one trace. */
#include "cli/core/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "cli/core/locate.h"
#include "cli/report/answer_text.h"
#include "import/import.h"
#include "store/backend.h"
#include "insight/insight.h"
#include "insight/offset.h"
#include "model/trace_demangle.h"
#include "model/trace_sum.h"
#include "read/stretch.h"
#include "read/sweep.h"
#include "read/window.h"
#include "store/store.h"
#include "store/trace.h"

#define BAR_WIDTH 30u

static bool bar_shown;

int inputs_progress(void *arg, const char *path, uint64_t done, uint64_t size)
{
	char bar[BAR_WIDTH * 4 + 1], clean[64], name[48], n[FMT_LEN];
	const char *base = strrchr(path, '/');
	const struct opts *o = arg;
	bool ascii = o && o->val[OPT_ASCII];

	if (!isatty(STDERR_FILENO))
		return 0;
	fmt_clean(clean, sizeof(clean), base ? base + 1 : path, ascii);
	fmt_ellipsis(name, sizeof(name), clean, 30, ascii);
	if (size)
		fprintf(stderr, "\r%-30s %s %3.0f %%", name,
			fmt_bar(bar, sizeof(bar), (double)done / (double)size, BAR_WIDTH, ascii),
			100.0 * (double)done / (double)size);
	else
		fprintf(stderr, "\r%-30s %s", name, fmt_bytes(n, done));
	fflush(stderr);
	bar_shown = true;
	return 0;
}

void inputs_progress_end(void)
{
	if (bar_shown)
		fputs("\r\033[K", stderr);
	bar_shown = false;
}

void inputs_say_damage(const struct trace *t)
{
	for (size_t i = 0; i < t->files; i++) {
		const struct trace_file *f = &t->file[i];
		char rows[FMT_LEN], lost[FMT_LEN];

		if (f->broke_at == UINT64_MAX && !f->lost)
			continue;
		cli_say(CLI_FAIL, "%s: damaged: %s. Read: %s rows, lost: %s%s", f->path,
			*f->why ? f->why : "rows could not be read",
			fmt_exact(rows, f->rows - f->lost), fmt_exact(lost, f->lost),
			f->lost ? "" : " and what followed");
	}
}

int inputs_exit(const struct trace *t)
{
	return import_damaged(t) ? CLI_FAIL : CLI_OK;
}

/* Of aon why of what aon recorded: one run of the store. */
struct only {
	uint32_t *id; /* owned */
	struct store_filter f;
};

/* What to read: *part is NULL for all. CLI_FAIL after an error message. free() x->id. */
static int only_run(struct only *x, struct store *st, const char *path, const struct opts *o,
		    const struct store_filter **part)
{
	struct procs_want want = { .run = o->cmd == CMD_WHY ? o->val[OPT_RUN] : NULL };
	struct procs ps = { 0 }, some = { 0 };
	int rc = CLI_OK;

	*part = NULL;
	x->id = NULL;
	if (o->cmd != CMD_WHY || store_is_elsewhere(path) || procs_load(&ps, st, &want) < 0)
		return CLI_OK;
	if (!ps.n && want.run)
		rc = cli_say(CLI_FAIL, "%s: no run '%s'. List them: aon report %s --by process",
			     path, want.run, path);
	if (ps.n && !ps.p[0].origin.file)
		some = answer_newest_run(&ps);
	if (some.n && (some.n < ps.n || want.run))
		x->id = calloc(some.n, sizeof(*x->id));
	for (size_t i = 0; x->id && i < some.n; i++)
		x->id[i] = some.p[i].id;
	x->f = (struct store_filter){ .process = x->id, .processes = some.n };
	*part = x->id ? &x->f : NULL;
	free(some.p);
	procs_fini(&ps);
	return rc;
}

/* A store's events, or those of the run that is asked for. */
static int load_store(struct trace *t, struct store *st, const char *path, const struct opts *o)
{
	const struct store_filter *part;
	struct only x;
	int err;

	if (only_run(&x, st, path, o, &part) != CLI_OK)
		return -ECANCELED;
	err = store_trace_part(t, st, path, part, NULL, NULL);
	free(x.id);
	return err;
}

/* Sums have neither operators nor streams nor memory. */
static bool takes_sums(const struct opts *o)
{
	return o->cmd == CMD_WHY || (o->cmd == CMD_REPORT && !o->val[OPT_BY] &&
				     !o->val[OPT_MEMORY] && !o->val[OPT_HTML]);
}

static int load_trace(struct trace *t, const char *path, const struct opts *o)
{
	struct import_opts io = { .progress = inputs_progress,
				  .arg = (void *)(uintptr_t)o,
				  .sums = takes_sums(o) };
	struct import_why why = { "" };
	int err = import_path(t, path, &io, &why);

	inputs_progress_end();
	return err < 0 ? cli_say(CLI_FAIL, "%s", why.text) : CLI_OK;
}

/* A pipe with a name, which nobody may ever write to; not one of the process's own: <(zcat FILE). */
static bool is_named_pipe(const char *path, const struct stat *sb)
{
	return S_ISFIFO(sb->st_mode) && strncmp(path, "/dev/", 5) != 0 &&
	       strncmp(path, "/proc/", 6) != 0;
}

/* A store, if its first bytes say so; of anything else, the importers know more. */
static int load_one(struct trace *t, const char *path, const struct opts *o)
{
	struct store_why why = { "" };
	struct store *st;
	struct stat sb;
	int err;

	if (!strcmp(path, "-"))
		return load_trace(t, path, o);
	if (!stat(path, &sb) && is_named_pipe(path, &sb))
		return cli_say(CLI_FAIL, "%s: is a pipe. Read it as standard input: - < %s", path,
			       path);
	if (!stat(path, &sb) && !S_ISREG(sb.st_mode))
		return load_trace(t, path, o);
	err = store_open_ro(&st, path, &why);
	if (err == -EMEDIUMTYPE)
		return load_trace(t, path, o);
	if (err < 0)
		return locate_failed(path, err, &why);
	err = load_store(t, st, path, o);
	store_close(st);
	if (err == -ECANCELED)
		return CLI_FAIL;
	if (store_is_elsewhere(path) && !strstr(path, "capture="))
		cli_say(CLI_OK,
			"of a cluster's job these are its steps alone: events are kept of "
			"captures (&capture=C); aon report, why and diff --cluster read sums");
	if (err == -EBADMSG)
		return cli_say(CLI_FAIL, "%s: damaged. Save what is whole: aon recover %s -o NEW",
			       path, path);
	return err < 0 ? cli_say(CLI_FAIL, "%s: %s", path, strerror(-err)) : CLI_OK;
}

static int load_default(struct trace *t, const struct opts *o)
{
	char path[PATH_MAX];
	struct store *st;
	int rc = locate_open(NULL, &st, path), err;

	if (rc != CLI_OK)
		return rc;
	err = load_store(t, st, path, o);
	store_close(st);
	if (err == -ECANCELED)
		return CLI_FAIL;
	return err < 0 ? cli_say(CLI_FAIL, "%s: %s", path, strerror(-err)) : CLI_OK;
}

/* What was recorded on several nodes, on the clock of the first one. */
static void bring_clocks_together(struct trace *t)
{
	struct offset_most most;
	char a[FMT_LEN], b[FMT_LEN];

	if (offset_trace(t, &most) < 0 || most.off_ns <= most.err_ns)
		return;
	fprintf(stderr,
		"Clocks of the nodes differ by up to %s; brought together by common ends of "
		"collectives, +- %s.\n",
		fmt_time(a, (uint64_t)most.off_ns), fmt_time(b, (uint64_t)most.err_ns));
}

int inputs_load(struct trace **out, const struct opts *o)
{
	struct trace *t;
	int rc = CLI_OK, err;

	if (trace_new(&t) < 0)
		return cli_say(CLI_FAIL, "out of memory");
	if (!o->argc)
		rc = load_default(t, o);
	for (int i = 0; i < o->argc && rc == CLI_OK; i++)
		rc = load_one(t, o->argv[i], o);
	if (rc == CLI_OK && trace_sums(t).n && t->events)
		rc = cli_say(CLI_FAIL,
			     "%s: sums without times cannot be joined with a trace: give "
			     "either alone",
			     t->file[trace_sums(t).sum[0].file].path);
	if (rc == CLI_OK) {
		err = trace_seal(t);
		if (err < 0)
			rc = cli_say(CLI_FAIL, "%s", strerror(-err));
	}
	if (rc != CLI_OK) {
		trace_free(t);
		return rc;
	}
	demangle_trace(t);
	bring_clocks_together(t);
	inputs_say_damage(t);
	*out = t;
	return CLI_OK;
}

/* The store that is the one operand, or the node's; INPUTS_LOAD: it is none, or there are more. */
static int open_store(struct store **st, const struct opts *o, char path[PATH_MAX])
{
	struct stat sb;

	if (o->argc > 1)
		return INPUTS_LOAD;
	if (!o->argc)
		return locate_open(NULL, st, path) == CLI_OK ? CLI_OK : CLI_FAIL;
	snprintf(path, PATH_MAX, "%s", o->argv[0]);
	if (stat(path, &sb) < 0 || !S_ISREG(sb.st_mode) || store_open_ro(st, path, NULL) < 0)
		return INPUTS_LOAD;
	return CLI_OK;
}

int inputs_sweep(struct trace **t, struct insight **in, const struct opts *o, bool queues)
{
	uint64_t blob, events = 0;
	struct store *st = NULL;
	char path[PATH_MAX];
	int rc = open_store(&st, o, path), err;

	if (rc != CLI_OK)
		return rc;
	err = store_extent(st, &blob, &events);
	if (!err && !queues && events <= WINDOW_WHOLE)
		err = -ERANGE; /* events tell more, and are few */
	err = err ? err : trace_new(t);
	if (!err) {
		err = read_sweep(*t, st, path, NULL, queues, SWEEP_STRETCH, in);
		if (err < 0)
			trace_free(*t);
	}
	store_close(st);
	if (err < 0)
		return INPUTS_LOAD; /* which says what is wrong, if anything is */
	inputs_say_damage(*t);
	return CLI_OK;
}

int inputs_stretches(struct trace **t, struct insight **in, const struct opts *o)
{
	struct stretch_opts so = { .part = NULL };
	struct only only;
	uint64_t blob, events = 0;
	struct store *st = NULL;
	char path[PATH_MAX];
	int rc = open_store(&st, o, path), err;

	if (rc != CLI_OK)
		return rc;
	err = store_extent(st, &blob, &events);
	if (err < 0 || events <= WINDOW_WHOLE || trace_new(t) < 0) {
		store_close(st);
		return INPUTS_LOAD;
	}
	if (only_run(&only, st, path, o, &so.part) != CLI_OK) {
		store_close(st);
		trace_free(*t);
		*t = NULL;
		return CLI_FAIL;
	}
	err = read_stretches(*t, st, path, &so, in);
	free(only.id);
	store_close(st);
	if (!err && (*in)->torn) { /* all at once it is whole */
		insight_free(*in);
		*in = NULL;
		err = -ERANGE;
	}
	if (err < 0) {
		trace_free(*t);
		*t = NULL;
		return INPUTS_LOAD;
	}
	inputs_say_damage(*t);
	return CLI_OK;
}

static int add_span(void *arg, const struct store_piece *p)
{
	struct store_filter *part = arg;

	part->from_ns = p->t0_ns < part->from_ns ? p->t0_ns : part->from_ns;
	part->to_ns = p->t1_ns + 1 > part->to_ns ? p->t1_ns + 1 : part->to_ns;
	return 0;
}

int inputs_window(struct trace **t, const struct opts *o, uint64_t *from_ns, uint64_t *to_ns)
{
	struct store_filter part = { .from_ns = UINT64_MAX };
	uint64_t blob, events = 0;
	struct store *st = NULL;
	char path[PATH_MAX];
	int err = open_store(&st, o, path) == CLI_OK ? 0 : -ENOENT;

	if (err < 0)
		return err;
	err = store_extent(st, &blob, &events);
	err = err ? err : store_each_piece(st, 0, add_span, &part);
	err = err || !part.to_ns ? -ENODATA
				 : read_window(t, st, path, &part, (double)events, WINDOW_PART, 0);
	store_close(st);
	*from_ns = part.from_ns;
	*to_ns = part.to_ns;
	return err;
}
