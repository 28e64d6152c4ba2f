/* SPDX-License-Identifier: Apache-2.0 */
/* aon run - run a program, then say where its time went. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/msg.h"
#include "abi/fabric.h"
#include "base/clock.h"
#include "cli/core/child.h"
#include "cli/capture/flight.h"
#include "cli/capture/fabric.h"
#include "cli/core/locate.h"
#include "cli/core/temp_daemon.h"
#include "cli/core/probe.h"
#include "read/procs.h"
#include "cli/report/report.h"
#include "cli/report/answer_text.h"

#define FOLD_ROWS 6u
#define FLUSH_MS  10000
#define SHORT_NS  5000000000ull

struct run {
	const struct opts *o;
	struct out out;
	char id[16];
	char store[PATH_MAX];
	bool own;    /* a private aond, else the node's */
	bool fresh;  /* the store was not there before */
	ino_t inode; /* of the one that was */
	struct temp_daemon aond;
	struct child child;
	uint64_t begin_ns, end_ns;
};

/* The run's name: what was asked for, or random; four digits unless such a file is here. */
static int choose_id(struct run *r)
{
	const char *name = r->o->val[OPT_NAME];
	char file[64];
	uint32_t bits;

	if (name) {
		size_t len = strlen(name);

		if (len < 1 || len > 15 ||
		    strspn(name,
			   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
			    len)
			return cli_misuse("--name takes 1 to 15 of a-z A-Z 0-9 . _ -, not '%s'",
					  name);
		snprintf(r->id, sizeof(r->id), "%s", name);
		return CLI_OK;
	}
	for (int digits = 4; digits <= 8; digits++) {
		if (getrandom(&bits, sizeof(bits), 0) != sizeof(bits))
			bits = (uint32_t)clock_mono_ns();
		snprintf(r->id, sizeof(r->id), "%0*x", digits,
			 digits < 8 ? bits & ((1u << 4 * digits) - 1) : bits);
		snprintf(file, sizeof(file), "aon-%s.db", r->id);
		if (access(file, F_OK) < 0)
			break;
	}
	return CLI_OK;
}

/* The node's aond serves if it answers us and we may read what it writes. */
static bool node_serves(struct run *r)
{
	struct admin_status s;
	struct store *st;

	if (r->o->val[OPT_OUTPUT] || admin_status(locate_run_dir(), &s) < 0 || !*s.store)
		return false;
	if (store_open_ro(&st, s.store, NULL) < 0)
		return false;
	store_close(st);
	snprintf(r->store, sizeof(r->store), "%s", s.store);
	return true;
}

/* Only aond's own folder is made: a mistyped one shall not be. */
static int check_folder(const struct run *r, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	struct stat sb;
	int err;

	if (slash) /* with it: that of the root is all of its name */
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + 1), path);
	err = stat(dir, &sb) < 0 ? errno : S_ISDIR(sb.st_mode) ? 0 : ENOTDIR;
	return err ? cli_say(CLI_FAIL, "%s: its folder %s: %s. Make it, or choose another file.",
			     r->store, dir, strerror(err))
		   : CLI_OK;
}

/* What is there already must be a store: aond would put anything else aside. */
static int check_target(struct run *r)
{
	struct store_why why = { "" };
	struct store *st;
	struct stat sb;
	int err;

	r->fresh = lstat(r->store, &sb) < 0;
	if (r->fresh)
		return CLI_OK;
	r->inode = stat(r->store, &sb) < 0 ? 0 : sb.st_ino;
	err = store_open_ro(&st, r->store, &why);
	if (err < 0)
		return locate_failed(r->store, err, &why);
	store_close(st);
	return CLI_OK;
}

/* What was there is another file now if aond found it damaged. */
static void say_added(const struct run *r)
{
	struct stat sb;

	if (stat(r->store, &sb) == 0 && sb.st_ino != r->inode)
		cli_say(0, "%s was damaged. It is kept as %s.bad-N; a new store is begun.",
			r->store, r->store);
	else if (!r->o->val[OPT_NOREPORT])
		fprintf(stderr, "%s is there already: this run is added to it.\n", r->store);
}

/* A store that was made for this run and is empty is removed. */
static void remove_store(const struct run *r)
{
	static const char *const tail[] = { "", "-wal", "-shm" };
	char path[PATH_MAX + 8];

	for (size_t i = 0; r->fresh && i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", r->store, tail[i]);
		unlink(path);
	}
}

static int start_private(struct run *r)
{
	char cwd[PATH_MAX], path[2 * PATH_MAX];
	const char *given = r->o->val[OPT_OUTPUT];

	if (given && !*given)
		return cli_misuse("--output needs the name of a file");
	if (given)
		snprintf(r->store, sizeof(r->store), "%s", given);
	else
		snprintf(r->store, sizeof(r->store), "./aon-%s.db", r->id);
	snprintf(path, sizeof(path), "%s", r->store);
	if (r->store[0] != '/' && getcwd(cwd, sizeof(cwd)))
		snprintf(path, sizeof(path), "%s/%s", cwd, r->store);
	if (strlen(path) >= PATH_MAX)
		return cli_say(CLI_FAIL, "%s: the name is too long. Choose a shorter one.",
			       r->store);
	if (check_folder(r, path) != CLI_OK || check_target(r) != CLI_OK)
		return CLI_FAIL;
	if (temp_daemon_start(&r->aond, path, r->o->val[OPT_WITHKINETO] ? TEMP_KINETO : 0) < 0) {
		remove_store(r);
		return CLI_FAIL;
	}
	r->own = true;
	setenv(AON_ENV_RUN_DIR, r->aond.run_dir, 1);
	if (!given && !r->o->val[OPT_NOREPORT])
		fprintf(stderr,
			"No aond here; recording into %s for this run only.%c"
			"For always-on: sudo systemctl start aond\n",
			r->store, r->out.width < 110 ? '\n' : ' ');
	if (!r->fresh)
		say_added(r);
	return CLI_OK;
}

/* The script's name says more than the interpreter's. */
static const char *title(const struct opts *o)
{
	const char *word = o->argv[0], *slash;

	for (int i = 0; i < o->argc; i++) {
		size_t len = strlen(o->argv[i]);

		if (len > 3 && !strcmp(o->argv[i] + len - 3, ".py")) {
			word = o->argv[i];
			break;
		}
	}
	slash = strrchr(word, '/');
	return slash && slash[1] ? slash + 1 : word;
}

static void how_it_ended(const struct run *r, const struct gather *g)
{
	char steps[FMT_LEN], t[FMT_LEN], after[64];
	int status = r->child.status;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (g->all_steps.count)
		snprintf(after, sizeof(after), "%s steps", fmt_count(steps, g->all_steps.count));
	else
		snprintf(after, sizeof(after), "%s",
			 out_time(&r->out, t, sizeof(t), r->end_ns - r->begin_ns));
	if (WIFEXITED(status))
		out_line(&r->out, OUT_WARN, "  ended: exit %d after %s", WEXITSTATUS(status),
			 after);
	else
		out_line(&r->out, OUT_WARN, "  ended: %s after %s", strsignal(WTERMSIG(status)),
			 after);
}

static void header(const struct run *r, const struct gather *g)
{
	char left[512], right[64], seen[128], name[256], host[65] = "?";

	gethostname(host, sizeof(host) - 1);
	report_seen(g, &r->out, seen, sizeof(seen));
	snprintf(left, sizeof(left), "aon  %s on %s  %s",
		 fmt_clean(name, sizeof(name), title(r->o), r->out.ascii), host, seen);
	snprintf(right, sizeof(right), "run %s", r->id);
	fputc('\n', r->out.f);
	out_ends(&r->out, OUT_BOLD, left, right);
	how_it_ended(r, g);
	fputc('\n', r->out.f);
}

/* What is not known, and why: before the table. */
static void notes(const struct run *r, const struct gather *g)
{
	char t[FMT_LEN], text[160];

	if (!g->all_steps.count) {
		out_line(&r->out, OUT_PLAIN, "  No step markers: times are totals, not per step.");
		out_line(&r->out, OUT_PLAIN,
			 "  Mark steps with aon.step() in Python, aon_step_begin() in C.\n");
	} else if (g->all_steps.count < REPORT_STEPS_MIN) {
		snprintf(text, sizeof(text),
			 "  Only %u step%s (%s) %s seen; aon needs %u to say why.",
			 (unsigned)g->all_steps.count, g->all_steps.count == 1 ? "" : "s",
			 out_time(&r->out, t, sizeof(t), g->all_steps.total_ns),
			 g->all_steps.count == 1 ? "was" : "were", REPORT_STEPS_MIN);
		out_line(&r->out, OUT_PLAIN, "%s", text);
		out_line(&r->out, OUT_PLAIN, "  What is known:\n");
	}
}

static void cost(const struct run *r, const struct gather *g)
{
	char bytes[FMT_LEN], rss[FMT_LEN], n[FMT_LEN], cpu[64], lost[64] = "none lost";
	uint64_t gone = account_lost(&g->account), took = r->end_ns - r->begin_ns;
	const struct out *out = &r->out;
	struct stat sb = { 0 };

	if (gone)
		snprintf(lost, sizeof(lost), "%s lost", fmt_count(bytes, gone));
	stat(r->store, &sb);
	fmt_count(n, g->account.emitted);
	if (!r->own) {
		out_line(out, OUT_DIM, "aon cost: the node's aond, see aon ps; %s records, %s", n,
			 lost);
		return;
	}
	if (took < SHORT_NS) /* starting and ending would be all that is measured */
		snprintf(cpu, sizeof(cpu), "%s of CPU",
			 out_time(out, bytes, sizeof(bytes), r->aond.cpu_ns));
	else
		snprintf(cpu, sizeof(cpu), "%s %% of a core",
			 fmt_percent(bytes, (double)r->aond.cpu_ns / (double)took));
	out_line(out, OUT_DIM, "aon cost: %s, %s, %s on disk; %s records, %s", cpu,
		 fmt_bytes(rss, r->aond.rss_bytes), fmt_bytes(bytes, (uint64_t)sb.st_size), n,
		 lost);
}

/* No process of the run ever joined. */
static void saw_nothing(const struct run *r)
{
	char name[256], t[FMT_LEN];

	fprintf(r->out.f, "\naon: nothing of %s was recorded in %s.\n",
		fmt_clean(name, sizeof(name), title(r->o), r->out.ascii),
		out_time(&r->out, t, sizeof(t), r->end_ns - r->begin_ns));
	fprintf(r->out.f,
		"Recorded are PyTorch, JAX, CUDA, OpenCL, NCCL, NVTX and calls of libaon.\n"
		"See where any other program spends its time: aon attach PID, while it runs.\n"
		"If it uses one of these: is AON_OFF set, or %s not visible to it? aon doctor\n",
		r->own ? r->aond.run_dir : locate_run_dir());
}

static int print_report(const struct run *r, struct store *st, const struct procs *ps)
{
	struct gather g;
	int err;

	err = gather_init(&g, st, BY_NAME);
	for (size_t i = 0; i < ps->n && !err; i++)
		err = gather_process(&g, &ps->p[i], 0, true);
	if (!err) {
		bool answered;

		header(r, &g);
		answered = answer_first(&r->out, st, r->store, ps);
		notes(r, &g);
		report_text(&g, &r->out, FOLD_ROWS, answered);
		fprintf(r->out.f, "\n  next      %saon report %s --run %s%s\n\n",
			out_style(&r->out, OUT_COPY), r->store, r->id,
			out_style(&r->out, OUT_PLAIN));
		cost(r, &g);
	}
	gather_fini(&g);
	return err;
}

/* The report, if it is wanted and there is something to tell. */
static void conclude(const struct run *r)
{
	struct procs_want want = { .run = r->id, .since_ns = r->begin_ns };
	struct store_why why = { "" };
	struct procs ps = { 0 };
	struct store *st;
	bool nothing;
	int err;

	err = store_open_ro(&st, r->store, &why);
	if (err < 0) {
		locate_failed(r->store, err, &why);
		return;
	}
	err = procs_load(&ps, st, &want);
	nothing = !err && !ps.n;
	if (nothing && !r->o->val[OPT_NOREPORT])
		saw_nothing(r);
	else if (!err && !r->o->val[OPT_NOREPORT])
		err = print_report(r, st, &ps);
	if (err < 0)
		cli_say(0, "%s: no report: %s", r->store, strerror(-err));
	procs_fini(&ps);
	store_close(st);
	if (nothing)
		remove_store(r);
}

static int cannot_run(struct run *r, int err)
{
	if (r->own)
		temp_daemon_stop(&r->aond);
	remove_store(r);
	if (err == -ENOENT)
		return cli_say(127, "%s: not found. Check the name.", r->o->argv[0]);
	if (err == -EINTR)
		return cli_say(CLI_FAIL, "interrupted before %s was started.", r->o->argv[0]);
	return cli_say(126, "%s: cannot be run: %s", r->o->argv[0], strerror(-err));
}

/* Never without a daemon: torch would wait for it, for 10 s at its end. */
static void let_kineto_ask(const struct opts *o)
{
	char run_dir[PATH_MAX];
	int err = o->val[OPT_WITHKINETO] ? fabric_who(run_dir) : -ECANCELED;

	if (!err)
		setenv(FABRIC_ENV_USE, "1", 1);
	else if (err != -ECANCELED)
		cli_say(0, "--kineto: %s. Going on without it.", fabric_trouble(err));
}

int cmd_run(const struct opts *o)
{
	struct run r = { .o = o };
	char flight[FLIGHT_DIR] = "";
	int rc, err;

	if (!o->argc)
		return cli_misuse("what shall be run? aon run -- CMD [ARG...]");
	out_init(&r.out, stderr, o);
	rc = choose_id(&r);
	if (rc == CLI_OK)
		rc = probe_setenv(o);
	if (rc != CLI_OK)
		return rc;
	child_prepare(&r.child);
	r.begin_ns = clock_mono_ns();
	if (!node_serves(&r)) {
		rc = start_private(&r);
		if (rc != CLI_OK)
			return rc;
	}
	let_kineto_ask(o);
	if (o->val[OPT_WITHFLIGHT])
		flight_prepare(flight);
	setenv(AON_ENV_RUN, r.id, 1);
	setenv(AON_ENV_JOIN_MS, "200", 0); /* who runs it this way wants its first moments, too */
	r.begin_ns = clock_mono_ns();
	err = child_interrupted() ? -EINTR : child_start(&r.child, o->argv);
	if (!err)
		child_wait(&r.child);
	if (*flight)
		temp_daemon_remove_dir(flight);
	if (err < 0)
		return cannot_run(&r, err);
	r.end_ns = clock_mono_ns();
	if (!r.own)
		admin_ask(locate_run_dir(), "flush", FLUSH_MS, NULL, NULL);
	else if (temp_daemon_stop(&r.aond) < 0)
		cli_say(0, "aond did not end in time and was killed; the report may lack the end.");
	conclude(&r);
	child_mimic(&r.child);
}
