/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_run.c - orders traces, and waits for them; see capture.h.
 *
 * The processes write into a directory of ours, each into its own subdirectory; when root captures,
 * that belongs to the process's user. Kineto accepts no place but /tmp from a daemon, unless both
 * its process and aon have KINETO_ONDEMAND_TRACE_DIR. The resulting files are untrusted: no link is
 * followed, and a file counts only if it is a regular file of that user.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "abi/fabric.h"
#include "base/clock.h"
#include "cli/capture/capture.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"

#define LOOK_MS    100
#define FREE_BYTES (64ull << 20)
#define LATE_MS    3000u /* for all to have asked, beyond the time between two requests */

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = sig;
}

static void fail(struct target *t, const char *why)
{
	t->state = CAPTURE_FAILED;
	snprintf(t->why, sizeof(t->why), "%s", why);
}

/* --- directories --- */

static const char *place(void)
{
	const char *dir = getenv(FABRIC_ENV_OUT);

	return dir && *dir == '/' && strlen(dir) < 120 ? dir : "/tmp";
}

static int make_dirs(struct profiler_capture *c)
{
	struct statvfs fs;
	char path[180];

	snprintf(c->root, sizeof(c->root), "%s/aon-kineto-XXXXXX", place());
	if (!mkdtemp(c->root)) {
		c->root[0] = '\0';
		return -errno;
	}
	if (!statvfs(c->root, &fs) && (uint64_t)fs.f_bavail * fs.f_frsize < FREE_BYTES)
		return -ENOSPC;
	for (size_t i = 0; i < c->n; i++) {
		struct target *t = &c->target[i];

		snprintf(path, sizeof(path), "%s/%d", c->root, (int)t->pid);
		if (mkdir(path, 0700) < 0)
			return -errno;
		t->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (t->dir < 0)
			return -errno;
		if (t->uid != geteuid() &&
		    (fchown(t->dir, t->uid, (gid_t)-1) < 0 || chmod(c->root, 0711) < 0))
			return -errno;
	}
	return 0;
}

/* What its process has left there: the trace, or what it is being written to. */
static void look_into(struct target *t)
{
	int fd = openat(t->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat sb;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (e->d_name[0] == '.' ||
		    fstatat(t->dir, e->d_name, &sb, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(sb.st_mode))
			continue;
		t->begun = true;
		t->bytes = (uint64_t)sb.st_size;
		if (t->bytes > CAPTURE_BYTES) {
			unlinkat(t->dir, e->d_name, 0);
			fail(t, "its trace grew above 4 GiB and was given up; capture less");
		} else if (len > 5 && !strcmp(e->d_name + len - 5, ".json")) {
			snprintf(t->name, sizeof(t->name), "%s", e->d_name);
			t->state = CAPTURE_DONE;
		}
	}
	if (d)
		closedir(d);
}

static void empty(int dir)
{
	int fd = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dir, e->d_name, 0);
	if (d)
		closedir(d);
}

void capture_fini(struct profiler_capture *c)
{
	char path[180];

	if (c->ask >= 0)
		close(c->ask);
	for (size_t i = 0; i < c->n; i++) {
		struct target *t = &c->target[i];

		if (t->dir < 0)
			continue;
		if (!*c->root) { /* the process's own /tmp: only what it wrote for us */
			unlinkat(t->dir, t->name, 0);
			close(t->dir);
			continue;
		}
		empty(t->dir);
		close(t->dir);
		snprintf(path, sizeof(path), "%s/%d", c->root, (int)t->pid);
		rmdir(path);
	}
	if (*c->root)
		rmdir(c->root);
	free(c->target);
}

/* --- orders --- */

/* The step that all begin at, and what to round up to if one is past it. */
static void capture_start(const struct target *t, size_t n, uint64_t steps, uint64_t *start,
			  uint64_t *round)
{
	uint64_t last = 0, fast_ns = UINT64_MAX, ahead;

	*start = 0;
	*round = 1;
	if (n < 2)
		return;
	for (size_t i = 0; i < n; i++) {
		if (!t[i].step_ns) { /* as dynolog's own scripts do it */
			*round = steps > 100 ? steps : 100;
			return;
		}
		last = t[i].step > last ? t[i].step : last;
		fast_ns = t[i].step_ns < fast_ns ? t[i].step_ns : fast_ns;
	}
	/* All have the order before the first of them is there, also if steps get faster. */
	ahead = (FABRIC_POLL_MS + LATE_MS) * 1000000ull / fast_ns;
	*start = last + ahead + ahead / 4 + 2;
	*round = ahead > steps ? ahead : steps;
}

struct answer {
	char text[160];
};

static void on_answer(void *arg, char *line)
{
	struct answer *a = arg;

	snprintf(a->text, sizeof(a->text), "%s", line);
}

static void order(struct profiler_capture *c, struct target *t, uint64_t start, uint64_t round,
		  uint64_t at)
{
	const struct profiler_want *w = &c->want;
	struct answer a = { "" };
	char line[400];
	int err;

	if (w->steps)
		snprintf(line, sizeof(line),
			 "kineto trace %d steps=%" PRIu64 " start=%" PRIu64 " round=%" PRIu64
			 " dir=%s/%d",
			 (int)t->pid, w->steps, start, round, c->root, (int)t->pid);
	else
		snprintf(line, sizeof(line),
			 "kineto trace %d ms=%" PRIu64 " at=%" PRIu64 " dir=%s/%d", (int)t->pid,
			 w->ms, at, c->root, (int)t->pid);
	err = ask_on(c->ask, line, on_answer, &a);
	if (err)
		fail(t, "aond does not answer");
	else if (strcmp(a.text, "ok"))
		fail(t, strncmp(a.text, "error: ", 7) ? "aond has ended" : a.text + 7);
}

/* Several begin at one step, or at one time. */
static void order_all(struct profiler_capture *c)
{
	uint64_t start, round, at = 0;

	capture_start(c->target, c->n, c->want.steps, &start, &round);
	if (c->n > 1)
		at = clock_wall_ns() / 1000000u + FABRIC_POLL_MS + LATE_MS;
	for (size_t i = 0; i < c->n; i++)
		order(c, &c->target[i], start, round, at);
}

/* --- waiting --- */

static void on_state(void *arg, char *line)
{
	struct profiler_capture *c = arg;
	char word[16];
	int pid;

	if (sscanf(line, "%d %15s", &pid, word) != 2)
		return;
	for (size_t i = 0; i < c->n; i++) {
		struct target *t = &c->target[i];

		if (t->pid != pid || t->state >= CAPTURE_DONE)
			continue;
		if (!strcmp(word, "given") && t->state == CAPTURE_WAITS) {
			t->state = CAPTURE_RUNS;
			t->given_ms = clock_mono_ms();
		} else if (!strcmp(word, "gone")) {
			look_into(t); /* its last act may have been to write it */
			if (t->state != CAPTURE_DONE)
				fail(t, "it ended before its trace was written");
		}
	}
}

/* Without aond: what has its order goes on, and what has not never gets it. It may have got it since
 * we last asked: then its file comes soon. */
static void alone(struct profiler_capture *c)
{
	bool late = clock_mono_ms() > c->lost_ms + c->want.ms + LATE_MS;
	char path[32];

	for (size_t i = 0; i < c->n; i++) {
		struct target *t = &c->target[i];

		snprintf(path, sizeof(path), "/proc/%d", (int)t->pid);
		if (t->state == CAPTURE_WAITS && t->begun)
			t->state = CAPTURE_RUNS;
		else if (t->state == CAPTURE_WAITS && late)
			fail(t, "aond has ended before it got its order");
		else if (t->state == CAPTURE_RUNS && access(path, F_OK) < 0) {
			look_into(t);
			if (t->state != CAPTURE_DONE)
				fail(t, "it ended before its trace was written");
		}
	}
}

/*
 * Kineto drops an order by time without a word if its thread wakes a moment too late for it, and
 * opens the file as soon as it does not. A process without a file by then gets the order again.
 */
static void order_again(struct profiler_capture *c)
{
	/* Several wait for a time that is ahead. */
	uint64_t now = clock_mono_ms(), after = FABRIC_POLL_MS + (c->n > 1 ? 2 * LATE_MS : 0);

	for (size_t i = 0; i < c->n && c->want.ms && c->ask >= 0; i++) {
		struct target *t = &c->target[i];

		if (t->state != CAPTURE_RUNS || t->begun || now < t->given_ms + after)
			continue;
		t->state = CAPTURE_WAITS;
		order(c, t, 0, 0, 0);
	}
}

static void look_at_all(struct profiler_capture *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->target[i].state < CAPTURE_DONE)
			look_into(&c->target[i]);
	if (c->ask >= 0 && ask_on(c->ask, "kineto state", on_state, c)) {
		close(c->ask);
		c->ask = -1;
		c->lost_ms = clock_mono_ms();
	}
	if (c->ask < 0)
		alone(c);
	order_again(c);
}

static size_t count(const struct profiler_capture *c, enum target_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->target[i].state == state;
	return n;
}

static void progress(const struct profiler_capture *c, uint64_t ms, bool end)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (end)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr,
			"\r\033[K%zu of %zu captured, %zu running, %zu waiting  %" PRIu64 " s",
			count(c, CAPTURE_DONE), c->n, count(c, CAPTURE_RUNS),
			count(c, CAPTURE_WAITS), ms / 1000);
	fflush(stderr);
}

static void give_up(struct profiler_capture *c)
{
	char why[160];

	for (size_t i = 0; i < c->n; i++) {
		struct target *t = &c->target[i];

		if (t->state >= CAPTURE_DONE)
			continue;
		if (stopped)
			snprintf(why, sizeof(why), "interrupted");
		else if (t->state == CAPTURE_WAITS && !t->given_ms)
			snprintf(why, sizeof(why),
				 "it did not ask for orders within %" PRIu64
				 " s: is it stopped, or being profiled already?",
				 c->want.timeout_ms / 1000);
		else
			snprintf(why, sizeof(why),
				 "it wrote no trace within %" PRIu64 " s%s; wait longer: --timeout",
				 c->want.timeout_ms / 1000,
				 c->want.steps ? ": does it call an optimizer's step()?" : "");
		fail(t, why);
	}
}

int capture_run(struct profiler_capture *c)
{
	const struct timespec nap = { 0, LOOK_MS * 1000000l };
	struct sigaction stop = { .sa_handler = on_signal };
	uint64_t begin = clock_mono_ms(), ms = 0;
	int err;

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	err = make_dirs(c);
	if (err == -ENOSPC)
		return cli_say(CLI_FAIL, "%s: less than 64 MB free. Make room: traces go there.",
			       place());
	if (err)
		return cli_say(CLI_FAIL, "%s: no directory for the traces: %s", place(),
			       strerror(-err));
	order_all(c);
	while (count(c, CAPTURE_DONE) + count(c, CAPTURE_FAILED) < c->n) {
		look_at_all(c);
		ms = clock_mono_ms() - begin;
		if (stopped || ms > c->want.timeout_ms)
			give_up(c);
		progress(c, ms, false);
		nanosleep(&nap, NULL);
	}
	progress(c, ms, true);
	return CLI_OK;
}

/* --- fetching --- */

static int copy(int from, int to)
{
	static char buf[1 << 16];
	uint64_t all = 0;
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		all += (uint64_t)n;
		if (all > CAPTURE_BYTES)
			return -EFBIG;
		for (ssize_t at = 0, put; at < n; at += put) {
			put = write(to, buf + at, (size_t)(n - at));
			if (put < 0)
				return -errno;
		}
	}
	return 0;
}

int capture_fetch(const struct profiler_capture *c, struct target *t, const char *to)
{
	int from = openat(t->dir, t->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), out,
	    err;
	struct stat sb;

	(void)c;
	if (from < 0)
		return -errno;
	if (fstat(from, &sb) < 0 || !S_ISREG(sb.st_mode) || sb.st_nlink != 1 ||
	    sb.st_uid != t->uid) {
		close(from);
		return -EPERM;
	}
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	err = out < 0 ? -errno : copy(from, out);
	close(from);
	if (out >= 0 && close(out) < 0 && !err)
		err = -errno;
	if (err && out >= 0)
		unlink(to);
	if (!err) {
		t->bytes = (uint64_t)sb.st_size;
		snprintf(t->file, sizeof(t->file), "%s", to);
	}
	return err;
}
