/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_past.c - aon capture --before: what aond has recorded of the last moments, and of those
 * that follow if they are asked for, as a trace. Nothing is asked of the programs.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/capture.h"
#include "cli/export_to.h"
#include "cli/inputs.h"
#include "cli/locate.h"
#include "model/trace.h"
#include "read/demangle.h"
#include "read/procs.h"
#include "store/trace.h"

#define FLUSH_MS 10000

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool is_wanted(const struct opts *o, const struct procs *ps, const struct process *p)
{
	const char *job = o->val[OPT_JOB];

	if (memcmp(p->boot_id, ps->boot_id, sizeof(ps->boot_id)) != 0)
		return false; /* its clock is another */
	return (!o->val[OPT_PIDS] || capture_listed(o->val[OPT_PIDS], p->pid)) &&
	       (!job || !strcmp(job, p->job) || (!*p->job && !strcmp(job, p->run))) &&
	       (!o->val[OPT_RANK] ||
		(p->origin.rank && capture_listed(o->val[OPT_RANK], p->origin.rank - 1)));
}

/* Takes the ids of those that were there in the window. Returns how many. */
static size_t choose(const struct opts *o, const struct procs *ps, const struct store_part *w,
		     uint32_t *id)
{
	size_t n = 0;

	for (size_t i = 0; i < ps->n; i++) {
		const struct process *p = &ps->p[i];

		if (is_wanted(o, ps, p) && p->first_ns < w->to_ns &&
		    (procs_live(ps, p) || p->last_ns >= w->from_ns))
			id[n++] = p->id;
	}
	return n;
}

static int load(const struct opts *o, struct store *st, const char *path, struct store_part *w,
		struct trace *t)
{
	struct procs_want want = { 0 };
	struct procs ps = { 0 };
	uint32_t *id;
	int err = procs_load(&ps, st, &want), rc = CLI_OK;

	id = calloc(ps.n + 1, sizeof(*id));
	if (!err && !id)
		err = -ENOMEM;
	if (!err) {
		w->process = id;
		w->processes = choose(o, &ps, w, id);
		if (!w->processes)
			rc = cli_say(
				CLI_FAIL,
				"%s: no such process was recorded in that time. See: aon ps --all",
				path);
	}
	if (!err && rc == CLI_OK)
		err = store_trace_part(t, st, path, w, NULL, NULL);
	if (!err && rc == CLI_OK)
		err = trace_seal(t);
	free(id);
	procs_fini(&ps);
	return err ? cli_say(CLI_FAIL, "%s: %s", path, strerror(-err)) : rc;
}

/* A signal that interrupts it ends us: there is nothing to undo. */
static void wait_until(uint64_t ns)
{
	const struct timespec to = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &to, NULL) == EINTR)
		;
}

int capture_past(const struct opts *o, uint64_t before_ms, uint64_t after_ms)
{
	const char *to = o->val[OPT_OUTPUT] ? o->val[OPT_OUTPUT] : "aon-capture.pftrace";
	struct store_part w = { 0 };
	uint64_t now = now_ns();
	char path[PATH_MAX];
	struct trace *t;
	struct store *st;
	int rc = export_check(o, to);

	if (rc != CLI_OK)
		return rc;
	if (strcmp(to, "-") && access(to, F_OK) == 0)
		return cli_say(CLI_FAIL, "%s: exists already. Name another: -o FILE", to);
	w.from_ns = now > before_ms * 1000000u ? now - before_ms * 1000000u : 0;
	w.to_ns = now + after_ms * 1000000u;
	wait_until(w.to_ns);
	admin_ask(locate_run_dir(), "flush", FLUSH_MS, NULL, NULL); /* else what is a second old */
	rc = locate_open(o->val[OPT_STORE], &st, path);
	if (rc != CLI_OK)
		return rc;
	if (trace_new(&t) < 0) {
		store_close(st);
		return cli_say(CLI_FAIL, "out of memory");
	}
	rc = load(o, st, path, &w, t);
	store_close(st);
	if (rc == CLI_OK) {
		demangle_trace(t);
		rc = export_write(o, to, "aon.capture/1", t);
	}
	trace_free(t);
	return rc;
}
