/* SPDX-License-Identifier: Apache-2.0 */
/* capture_choose.c - chooses the processes to capture; see capture.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/fabric.h"
#include "base/num.h"
#include "base/order.h"
#include "capture/node_capture.h"
#include "cli/capture/capture.h"
#include "cli/core/locate.h"

#define LOOK_MS  250u
#define KNOWN_MS (FABRIC_POLL_MS + 1500u) /* after that, who can be captured has asked once */

/* A line of `kineto list`: PID UID JOB RANK STEP STEP_NS. */
static void on_row(void *arg, char *line)
{
	struct profiler_capture *c = arg;
	struct target *t = &c->target[c->n];
	char rank[16], step[24], step_ns[24];
	int pid;

	if (c->n == CAPTURE_MAX)
		return;
	*t = (struct target){ .rank = -1, .dir = -1 };
	if (sscanf(line, "%d %u %47s %15s %23s %23s", &pid, &t->uid, t->job, rank, step, step_ns) !=
	    6)
		return;
	t->pid = pid;
	if (*rank != '-')
		t->rank = (int32_t)num_front_i64(rank, NULL);
	if (*step != '-') {
		t->step = num_front(step, NULL);
		t->step_ns = num_front(step_ns, NULL);
	}
	c->n++;
}

static int check_list(const struct opts *o, enum opt_id id)
{
	const char *s = o->val[id];

	if (s && (!*s || strspn(s, "0123456789,") != strlen(s) || *s == ',' ||
		  s[strlen(s) - 1] == ',' || strstr(s, ",,")))
		return cli_misuse("--%s takes a number, or some with commas between, not '%s'",
				  opt_table[id].name, s);
	return CLI_OK;
}

int capture_check(const struct opts *o)
{
	int rc = check_list(o, OPT_PIDS);

	return rc == CLI_OK ? check_list(o, OPT_RANK) : rc;
}

static bool is_wanted(const struct opts *o, const struct target *t)
{
	return (!o->val[OPT_PIDS] || num_listed(o->val[OPT_PIDS], t->pid)) &&
	       (!o->val[OPT_JOB] || !strcmp(o->val[OPT_JOB], t->job)) &&
	       (!o->val[OPT_RANK] || (t->rank >= 0 && num_listed(o->val[OPT_RANK], t->rank)));
}

static size_t words(const char *list)
{
	size_t n = list && *list;

	for (; list && *list; list++)
		n += *list == ',';
	return n;
}

/* Whether all that was asked for by its number has been found. */
static bool is_whole(const struct profiler_capture *c)
{
	size_t pids = words(c->o->val[OPT_PIDS]), ranks = words(c->o->val[OPT_RANK]);

	return c->n && c->n >= pids && c->n >= ranks;
}

static int look(struct profiler_capture *c)
{
	bool ranks = false;
	size_t kept = 0;
	int err;

	c->n = 0;
	err = ask_on(c->ask, "kineto list", on_row, c);
	if (err)
		return err;
	for (size_t i = 0; i < c->n; i++) {
		if (!is_wanted(c->o, &c->target[i]))
			continue;
		ranks |= c->target[i].rank >= 0;
		c->target[kept++] = c->target[i];
	}
	c->n = kept;
	/* What starts the ranks of a job imports torch, too, and trains nothing. */
	for (size_t i = kept = 0; ranks && !c->o->val[OPT_PIDS] && !c->o->val[OPT_LIST] && i < c->n;
	     i++)
		if (c->target[i].rank >= 0)
			c->target[kept++] = c->target[i];
	c->n = kept ? kept : c->n;
	return 0;
}

/* A pid of the list that no process has, or 0. */
static long missing(const char *list)
{
	const char *end;
	char path[32];

	for (; list && *list; list = *end == ',' ? end + 1 : end) {
		long pid = num_front_i64(list, &end);

		snprintf(path, sizeof(path), "/proc/%ld", pid);
		if (access(path, F_OK) < 0)
			return pid;
	}
	return 0;
}

/* --- why not --- */

static int pid_is_not_there(const char *list)
{
	char path[32];
	struct stat sb;
	long pid = num_front_i64(list, NULL);

	snprintf(path, sizeof(path), "/proc/%ld", pid);
	if (stat(path, &sb) == 0 && geteuid() != 0 && sb.st_uid != geteuid())
		return cli_say(CLI_FAIL,
			       "pid %ld: belongs to user %u. Only they, or root, can capture it.",
			       pid, sb.st_uid);
	return cli_say(CLI_FAIL,
		       "pid %ld: does not ask aond for orders. Start it with: aon run --kineto -- "
		       "CMD (or with KINETO_USE_DAEMON=1, when aond runs)",
		       pid);
}

static int nobody(const struct profiler_capture *c)
{
	const char *pids = c->o->val[OPT_PIDS];

	for (; pids && *pids; pids += strcspn(pids, ","), pids += *pids == ',') {
		bool found = false;

		for (size_t i = 0; i < c->n; i++)
			found |= c->target[i].pid == num_front_i64(pids, NULL);
		if (!found)
			return pid_is_not_there(pids);
	}
	if (c->o->val[OPT_JOB] || c->o->val[OPT_RANK])
		return cli_say(
			CLI_FAIL,
			"no process of %s%s%s%s%s is running with --kineto. See all: aon capture "
			"--kineto --list",
			c->o->val[OPT_JOB] ? "job " : "",
			c->o->val[OPT_JOB] ? c->o->val[OPT_JOB] : "",
			c->o->val[OPT_JOB] && c->o->val[OPT_RANK] ? ", " : "",
			c->o->val[OPT_RANK] ? "rank " : "",
			c->o->val[OPT_RANK] ? c->o->val[OPT_RANK] : "");
	return cli_say(CLI_FAIL, "no process is running with --kineto. Start one with: aon run "
				 "--kineto -- CMD");
}

/* Without a choice there may be one process, or the ranks of one job. */
static int too_many(const struct profiler_capture *c)
{
	bool chosen = c->o->val[OPT_PIDS] || c->o->val[OPT_JOB] || c->o->val[OPT_LIST];

	for (size_t i = 1; i < c->n && !chosen; i++) {
		const struct target *a = &c->target[0], *b = &c->target[i];

		if (strcmp(a->job, b->job) || !strcmp(a->job, "-"))
			return cli_say(CLI_FAIL,
				       "%zu processes ask aond for orders, pid %d and pid %d among "
				       "them. Choose: --pid, --job or --rank; see all: --list",
				       c->n, (int)a->pid, (int)b->pid);
	}
	return CLI_OK;
}

static int by_rank(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return cmp_num(x->rank, y->rank) ?: cmp_num(x->pid, y->pid);
}

int profiler_choose(struct profiler_capture *c)
{
	const struct timespec nap = { 0, LOOK_MS * 1000000l };
	int err = 0;
	long gone;

	if (capture_check(c->o) != CLI_OK)
		return CLI_USAGE;
	c->target = calloc(CAPTURE_MAX, sizeof(*c->target));
	if (!c->target)
		return cli_say(CLI_FAIL, "out of memory");
	for (unsigned ms = 0; ms < KNOWN_MS; ms += LOOK_MS) {
		err = look(c);
		if (err || is_whole(c) || c->o->val[OPT_LIST] || missing(c->o->val[OPT_PIDS]))
			break;
		nanosleep(&nap, NULL);
	}
	if (err)
		return cli_say(CLI_FAIL, "aond does not answer: %s", strerror(-err));
	gone = missing(c->o->val[OPT_PIDS]);
	if (gone)
		return cli_say(CLI_FAIL, "pid %ld: no such process. See all: --list", gone);
	if (!is_whole(c) && !c->o->val[OPT_LIST])
		return nobody(c);
	qsort(c->target, c->n, sizeof(*c->target), by_rank);
	return too_many(c);
}
