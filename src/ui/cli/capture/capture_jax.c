/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_jax.c - traces by XLA's own profiler; see capture.h.
 *
 * aond puts a numbered order into the session's gate. The probe sees it at the next call of a
 * jitted function, traces for the ordered time, and writes a file with that number to its own /tmp,
 * which is accessed through /proc.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abi/msg.h"
#include "base/clock.h"
#include "base/num.h"
#include "cli/capture/capture.h"
#include "cli/core/locate.h"

#define ASK_MS  5000
#define LOOK_MS 50
#define PLACE   "/tmp" /* of the process */

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = sig;
}

/* --- choosing --- */

static int add_target(struct profiler_capture *c, long pid)
{
	struct target *t = &c->target[c->n];
	char path[64];
	struct stat sb;

	snprintf(path, sizeof(path), "/proc/%ld", pid);
	if (pid < 1 || stat(path, &sb) < 0)
		return cli_say(CLI_FAIL, "pid %ld: there is no such process. See: aon ps", pid);
	*t = (struct target){
		.pid = (pid_t)pid, .uid = sb.st_uid, .job = "-", .rank = -1, .dir = -1
	};
	c->n++;
	return CLI_OK;
}

int capture_jax_choose(struct profiler_capture *c)
{
	const char *list = c->o->val[OPT_PIDS];
	char run_dir[PATH_MAX];
	uint64_t pid;
	int got;

	if (c->o->val[OPT_JOB] || c->o->val[OPT_RANK] || c->o->val[OPT_LIST] || c->want.steps)
		return cli_misuse("--jax takes --pid and --duration only");
	if (!list || !*list)
		return cli_misuse("--jax needs --pid. See: aon ps");
	c->target = calloc(CAPTURE_MAX, sizeof(*c->target));
	if (!c->target)
		return cli_say(CLI_FAIL, "out of memory");
	while ((got = num_next(&list, INT32_MAX, &pid)) > 0 && c->n < CAPTURE_MAX)
		if (add_target(c, (long)pid) != CLI_OK)
			return CLI_FAIL;
	if (got)
		return cli_misuse("--pid takes a number, or some with commas between, not '%s'",
				  c->o->val[OPT_PIDS]);
	locate_run_dir_of(c->target[0].pid, run_dir);
	c->ask = ask_open(*run_dir ? run_dir : locate_run_dir(), ASK_MS);
	return c->ask < 0 ? cli_say(CLI_FAIL,
				    "no aond answers: %s. Start it, or the program with: "
				    "aon run -- CMD",
				    strerror(-c->ask))
			  : CLI_OK;
}

/* --- orders --- */

static void fail(struct target *t, const char *why)
{
	t->state = CAPTURE_FAILED;
	snprintf(t->why, sizeof(t->why), "%.150s", why);
}

/* "number 1a2b3c4d", or an error. */
static void on_answer(void *arg, char *line)
{
	struct target *t = arg;
	unsigned number;

	if (sscanf(line, "number %8x", &number) == 1)
		snprintf(t->name, sizeof(t->name), "aon-jax-%08x.xplane.pb", number);
	else
		fail(t, !strncmp(line, "error: no session", 17)
				? "aond does not know it as a process of yours. Start it with: aon "
				  "run -- CMD"
				: line);
}

static void order(struct profiler_capture *c, struct target *t)
{
	char text[64], path[64];
	int err;

	snprintf(text, sizeof(text), "capture %d %" PRIu64, (int)t->pid, c->want.ms);
	snprintf(path, sizeof(path), "/proc/%d/root" PLACE, (int)t->pid);
	t->state = CAPTURE_RUNS;
	err = ask_on(c->ask, text, on_answer, t);
	if (t->state == CAPTURE_FAILED)
		return;
	if (err || !*t->name) {
		fail(t, err ? strerror(-err) : "aond is too old for this");
		return;
	}
	t->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->dir < 0)
		fail(t, "you may not look into its /tmp");
}

/* --- waiting --- */

/* What the probe says went wrong, if it does. */
static void look_for_failure(struct target *t)
{
	char name[sizeof(t->name) + 8], text[120] = "", why[sizeof(t->why)];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%s.failed", t->name);
	fd = openat(t->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	close(fd);
	unlinkat(t->dir, name, 0);
	snprintf(why, sizeof(why), "its profiler says: %s", text);
	fail(t, why);
}

static void look(struct target *t)
{
	bool gone = kill(t->pid, 0) < 0 && errno == ESRCH;
	struct stat sb;

	if (fstatat(t->dir, t->name, &sb, AT_SYMLINK_NOFOLLOW) == 0)
		t->state = CAPTURE_DONE;
	else
		look_for_failure(t);
	if (t->state == CAPTURE_RUNS && gone)
		fail(t, "it ended");
}

static void wait_for(struct profiler_capture *c, struct target *t, uint64_t until_ms)
{
	const struct timespec nap = { 0, LOOK_MS * 1000000l };
	char why[160];

	for (; t->state == CAPTURE_RUNS; nanosleep(&nap, NULL)) {
		look(t);
		if (t->state != CAPTURE_RUNS)
			break;
		snprintf(why, sizeof(why),
			 "it wrote no trace within %" PRIu64
			 " s: does it call jitted functions of JAX?",
			 c->want.timeout_ms / 1000);
		if (stopped || clock_mono_ms() > until_ms)
			fail(t, stopped ? "interrupted" : why);
	}
}

int capture_jax_run(struct profiler_capture *c)
{
	struct sigaction stop = { .sa_handler = on_signal };
	uint64_t until_ms = clock_mono_ms() + c->want.timeout_ms;

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	for (size_t i = 0; i < c->n; i++)
		order(c, &c->target[i]);
	for (size_t i = 0; i < c->n; i++)
		wait_for(c, &c->target[i], until_ms);
	return CLI_OK;
}
