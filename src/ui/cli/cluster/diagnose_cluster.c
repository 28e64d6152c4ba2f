/* SPDX-License-Identifier: Apache-2.0 */
/* diagnose_cluster.c - aon diagnose --cluster: a job of a cluster, and with --follow all of them as they run. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/num.h"
#include "cli/cluster/diagnose.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/out.h"
#include "follow/follow.h"

#define RECORDS  400000u /* that are looked at, of the newest steps */
#define STEPS    1000000u
#define SPOOL    "/var/lib/aon-diagnose/spool"
#define CAPTURES "/var/lib/aon-diagnose/captures"
#define HOURLY   4.0
#define EVERY    10.0 /* seconds, as nodes send */
#define PATIENCE 3.0  /* looks */

extern char **environ;

/* --- once --- */

struct counted {
	uint64_t *step; /* owned */
	size_t n;
};

static int count(void *arg, const struct fleet_new_step *s)
{
	struct counted *c = arg;

	c->step[c->n++] = s->step;
	return 0;
}

static int take(void *arg, const struct step_rec *rec, size_t n)
{
	struct recording *r = arg;

	r->records += n;
	r->ranks = n > r->ranks ? (uint32_t)n : r->ranks;
	for (size_t i = 0; i < n; i++)
		r->step_ns += rec[i].flags & STEP_F_PARTIAL ? 0 : (double)rec[i].t.step;
	return diag_step(r->d, rec, n, diag_cases_hear, &r->cases);
}

static int read_job(struct recording *r, struct fleet *f, const char *job, struct fleet_span span,
		    struct store_why *why)
{
	struct counted c = { .step = malloc(STEPS * sizeof(*c.step)) };
	struct fleet_report rep;
	int err = c.step ? fleet_report(&rep, f, job, span, why) : -ENOMEM;

	if (err)
		goto free_steps;
	r->world = rep.job.world > rep.ranks ? rep.job.world : (uint32_t)rep.ranks;
	fleet_report_fini(&rep);
	if (!r->world)
		r->world = 1;
	err = fleet_new_steps(f, job, 0, span.from_ns, STEPS, count, &c, why);
	if (!err && !c.n)
		err = -ENODATA;
	if (err)
		goto free_steps;
	r->steps = (uint32_t)(c.n * r->world > RECORDS ? RECORDS / r->world + 1 : c.n);
	err = diag_new(&r->d, r->world);
	if (err)
		goto free_steps;
	diag_expect(r->d, r->steps);
	err = fleet_records(f, job, r->world, c.step[c.n - r->steps], c.step[c.n - 1], take, r,
			    why);
	err = err ? err : r->cases.err;
free_steps:
	free(c.step);
	return err;
}

int diagnose_cluster(const struct opts *o, struct json *j)
{
	const char *job = o->val[OPT_OF_JOB];
	struct recording r = { .path = job };
	struct store_why why = { "" };
	struct fleet_span span;
	struct fleet *f;
	int rc = fleet_ask_span(o, &span), err;

	if (rc == CLI_OK && !job)
		return cli_misuse("which job? --job J; aon fleet lists them. --follow takes all");
	if (rc == CLI_OK)
		rc = fleet_ask_open(&f, o);
	if (rc != CLI_OK)
		return rc;
	err = read_job(&r, f, job, span, &why);
	if (err == -ENODATA)
		rc = cli_say(CLI_UNSURE, "job %s: no record of a step is there", job);
	else if (err)
		rc = fleet_ask_failed(f, err, &why);
	else
		recording_say(o, &r, j);
	recording_fini(&r);
	fleet_close(f);
	return rc;
}

/* --- a closer look at what was found --- */

/* One capture at a time, and so many an hour: what comes meanwhile is not captured. */
struct escalate {
	const struct opts *o;
	const char *dir;
	double hourly;
	pid_t child; /* 0: none */
	uint64_t hour;
	uint32_t used;
	uint64_t skipped;
};

static bool may_capture(struct escalate *e)
{
	uint64_t hour = (uint64_t)time(NULL) / 3600;

	if (e->child && waitpid(e->child, NULL, WNOHANG) != 0)
		e->child = 0;
	if (e->hour != hour)
		e->used = 0;
	e->hour = hour;
	if (!e->child && e->used < e->hourly)
		return true;
	e->skipped++;
	log_info("no capture: %s (%llu so far)", e->child ? "one is under way" : "enough this hour",
		 (unsigned long long)e->skipped);
	return false;
}

static void capture(void *arg, const char *job, const struct diag_verdict *v, const uint32_t *rank,
		    uint32_t n)
{
	struct escalate *e = arg;
	const char *argv[24] = { "aon",   "capture", "--cluster", e->o->val[OPT_ESCALATE],
				 "--job", job,       "--rank" };
	static const enum opt_id files[] = { OPT_CERT, OPT_KEY, OPT_CA };
	char ranks[64] = "", to[PATH_MAX];
	posix_spawnattr_t attr;
	sigset_t none;
	size_t at = 0, args = 7;
	int err;

	if (!may_capture(e))
		return;
	for (uint32_t i = 0; i < n; i++)
		at += (size_t)snprintf(ranks + at, sizeof(ranks) - at, "%s%u", i ? "," : "",
				       rank[i]);
	snprintf(to, sizeof(to), "%s/step%u-%llu.pftrace", e->dir, v->f.step,
		 (unsigned long long)time(NULL));
	argv[args++] = ranks;
	argv[args++] = "--steps";
	argv[args++] = "3";
	argv[args++] = "-o";
	argv[args++] = to;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (e->o->val[files[i]]) {
			argv[args++] = i == 0 ? "--cert" : i == 1 ? "--key" : "--ca";
			argv[args++] = e->o->val[files[i]];
		}
	sigemptyset(&none); /* ours waits for signals by a descriptor */
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn(&e->child, "/proc/self/exe", NULL, &attr, (char *const *)(uintptr_t)argv,
			  environ);
	if (err) {
		log_warn("no capture: %s", strerror(err));
		e->child = 0;
	} else {
		e->used++;
		log_info("capture of ranks %s of job %s: %s", ranks, job, to);
	}
	posix_spawnattr_destroy(&attr);
}

static int may_escalate(struct escalate *e)
{
	const struct opts *o = e->o;

	if (!o->val[OPT_ESCALATE])
		return CLI_OK;
	if (!o->val[OPT_CERT] || !o->val[OPT_KEY])
		return cli_misuse(
			"--escalate needs --cert FILE and --key FILE: who asks the relay");
	if (mkdir(e->dir, 0700) < 0 && errno != EEXIST)
		return cli_say(CLI_FAIL, "%s: %s", e->dir, strerror(errno));
	return opt_number(o, OPT_HOURLY, 1, 1000, &e->hourly);
}

static int seconds(const char *option, const char *text, double *s)
{
	if (text && num_real(text, 0.1, 3600, s) < 0)
		return cli_misuse("--%s takes seconds, 0.1 to 3600, not '%s'", option, text);
	return CLI_OK;
}

int diagnose_follow(const struct opts *o)
{
	struct follow_opts fo = {
		.url = o->val[OPT_CLUSTER] && *o->val[OPT_CLUSTER] ? o->val[OPT_CLUSTER]
								   : getenv("AON_CLUSTER"),
		.spool = o->val[OPT_SPOOL] ? o->val[OPT_SPOOL] : SPOOL,
		.job = o->val[OPT_OF_JOB],
		.files = *fleet_files(o),
	};
	struct escalate e = { .o = o,
			      .hourly = HOURLY,
			      .dir = o->val[OPT_CAPTURES] ? o->val[OPT_CAPTURES] : CAPTURES };
	struct net_why why = { "" };
	double every = EVERY, patience;
	int rc = seconds("every", o->val[OPT_LOOKS], &every), err;

	if (rc == CLI_OK && (!fo.url || !*fo.url))
		rc = cli_misuse("--follow needs --cluster " FLEET_PREFIX "HOST");
	patience = PATIENCE * every;
	if (rc == CLI_OK)
		rc = seconds("patience", o->val[OPT_WAITREST], &patience);
	if (rc == CLI_OK)
		rc = may_escalate(&e);
	if (rc != CLI_OK)
		return rc;
	if (o->val[OPT_ESCALATE]) {
		fo.act = capture;
		fo.arg = &e;
	}
	fo.every_ms = (uint32_t)(1000 * every);
	fo.patience_ms = (uint32_t)(1000 * patience);
	fo.stop_fd = cli_stop_fd();
	err = follow_run(&fo, &why);
	if (fo.stop_fd >= 0)
		close(fo.stop_fd);
	return err ? cli_say(CLI_FAIL, "%s", why.text) : CLI_OK;
}
