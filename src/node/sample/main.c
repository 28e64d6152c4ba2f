/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aon-sample - where threads are, looked at from outside many times a second; they are never stopped,
 * and nothing is sent to them.
 *
 *	aon-sample --run-dir DIR [--as UID:GID] [--cpu-percent P]
 *		for aond: says at DIR/sample.sock what it sees of the threads that aond names there
 *	aon-sample --pid PID [--tid TID]... [--all-threads] [--hz N] [--seconds S] --stream
 *		the same messages (wire.h) on stdout, each behind its length of 32 bits; by default of
 *		the main thread and those that run Python
 *
 * A program of its own because it reads what strangers wrote and may need rights for it: what goes
 * wrong here ends nobody else.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/options.h"
#include "sample/sampler.h"
#include "stacks/rights.h"

#define RESCAN_NS 1000000000ull
#define LATE_NS   200000000ull
#define HZ_MAX    1000.0

enum opt_id { RUN_DIR, PID, TID, ALL_THREADS, HZ, SECONDS, STREAM, AS, CPU_PERCENT, OPTS };

static const struct option_row opts[OPTS] = {
	[RUN_DIR] = { .name = "run-dir", .arg = "DIR" },
	[PID] = { .name = "pid", .arg = "PID" },
	[TID] = { .name = "tid", .arg = "TID" },
	[ALL_THREADS] = { .name = "all-threads" },
	[HZ] = { .name = "hz", .arg = "N" },
	[SECONDS] = { .name = "seconds", .arg = "S" },
	[STREAM] = { .name = "stream" },
	[AS] = { .name = "as", .arg = "UID:GID" },
	[CPU_PERCENT] = { .name = "cpu-percent", .arg = "P" },
};

static struct {
	const char *run_dir, *as;
	uint32_t pid;
	pid_t tid[SWIRE_TARGETS];
	size_t tids;
	bool all_threads, stream;
	double hz, seconds, cpu_percent;
} set = { .hz = 49, .cpu_percent = -1 };

static volatile sig_atomic_t ends;

static void on_end(int sig)
{
	(void)sig;
	ends = 1;
}

/* --- where messages go --- */

static int send_socket(void *arg, const void *msg, size_t n)
{
	int fd = *(const int *)arg;

	return send(fd, msg, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n ? 0 : -EAGAIN;
}

static int send_stream(void *arg, const void *msg, size_t n)
{
	uint32_t len = (uint32_t)n;

	(void)arg;
	if (fwrite(&len, sizeof(len), 1, stdout) != 1 || fwrite(msg, n, 1, stdout) != 1 ||
	    fflush(stdout))
		ends = 1; /* nobody reads it any more */
	return 0;
}

/* --- for aond --- */

struct worker {
	struct sampler *s;
	struct look_guard *guard; /* borrowed */
};

static int take_targets(void *arg, const struct swire_target *t, size_t n)
{
	struct worker *w = arg;

	memcpy(w->guard->target, t, n * sizeof(*t));
	w->guard->targets = (uint32_t)n;
	return sampler_targets(w->s, t, n, clock_mono_ns());
}

static int take_budget(void *arg, uint32_t permille)
{
	struct worker *w = arg;

	w->guard->permille = permille;
	sampler_limit(w->s, permille / 1000.0);
	return 0;
}

/* Sleeps until then, or until the socket has something; fd -1: none. */
static bool sleep_until(int fd, uint64_t until_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now = clock_mono_ns(), ns = until_ns > now ? until_ns - now : 0;
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	return ppoll(&p, 1, &t, NULL) > 0;
}

/* What the worker before this one knew. */
static void take_over(struct worker *w)
{
	const struct look_guard *g = w->guard;

	sampler_targets(w->s, g->target, g->targets, clock_mono_ns());
	if (g->permille != UINT32_MAX)
		sampler_limit(w->s, g->permille / 1000.0);
}

static int serve(struct worker *w, int fd)
{
	static const struct swire_fns fns = { .targets = take_targets, .budget = take_budget };
	static _Alignas(8) char msg[SWIRE_BYTES];
	struct sampler *s = w->s;
	uint64_t alarm_ns = 0;

	take_over(w);

	/* Without a number left for a stack it ends, too, and is started again. */
	while (!ends && !sampler_full(s)) {
		uint64_t next, now = clock_mono_ns();
		ssize_t n;

		if (now - alarm_ns > RESCAN_NS) {
			alarm(GUARD_STUCK_S); /* it is killed, and started anew */
			alarm_ns = now;
		}
		next = sampler_run(s, now);
		if (!sleep_until(fd, next))
			continue;
		n = recv(fd, msg, sizeof(msg), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			break; /* aond is gone */
		if (n > 0 && swire_read(msg, (size_t)n, &fns, w) == -EBADMSG)
			return 1;
	}
	return 0;
}

static int work(struct look_guard *g, void *arg)
{
	struct sampler_opts *o = arg;
	struct worker w = { .guard = g };
	int err;

	o->guard = g;
	if (sampler_new(&w.s, o))
		return 1;
	err = serve(&w, *(const int *)o->arg);
	sampler_free(w.s);
	return err;
}

static int dial(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if ((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s/sample.sock", dir) >=
	    sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
	} else if (fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		return fd;
	}
	fprintf(stderr, "aon-sample: %s/sample.sock: %s\n", dir, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- one process --- */

static size_t all_threads(struct swire_target *t)
{
	char path[64];
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", set.pid);
	d = opendir(path);
	while (d && n < SWIRE_TARGETS && (e = readdir(d)))
		if (e->d_name[0] != '.')
			t[n++].tid = (uint32_t)num_front(e->d_name, NULL);
	if (d)
		closedir(d);
	return n;
}

static size_t some_threads(struct sampler *s, struct swire_target *t)
{
	static pid_t tid[SWIRE_TARGETS];
	size_t found, n = 0;

	if (set.tids) {
		for (; n < set.tids; n++)
			t[n].tid = (uint32_t)set.tid[n];
		return n;
	}
	t[n++].tid = set.pid;
	found = sampler_threads(s, (pid_t)set.pid, clock_mono_ns(), tid, SWIRE_TARGETS);
	for (size_t i = 0; i < found && n < SWIRE_TARGETS; i++)
		if ((uint32_t)tid[i] != set.pid)
			t[n++].tid = (uint32_t)tid[i];
	return n;
}

static void rescan(struct sampler *s)
{
	static struct swire_target t[SWIRE_TARGETS];
	size_t n = set.all_threads ? all_threads(t) : some_threads(s, t);

	for (size_t i = 0; i < n; i++) {
		t[i].pid = set.pid;
		t[i].centihertz = (uint32_t)(set.hz * 100 + 0.5);
	}
	sampler_targets(s, t, n, clock_mono_ns());
}

static int attach(struct sampler *s)
{
	uint64_t now = clock_mono_ns(), again = 0;
	uint64_t end = set.seconds > 0 ? now + (uint64_t)(set.seconds * 1e9) : UINT64_MAX;

	rescan(s); /* the main thread, by which the others are found */
	while (!ends && now < end && (sampler_alive(s) || !again)) {
		uint64_t next;

		if (now >= again) {
			rescan(s);
			again = set.tids ? UINT64_MAX - LATE_NS : now + RESCAN_NS;
		}
		next = sampler_run(s, now);
		if (next > again + LATE_NS) /* else it goes with the next look */
			next = again;
		sleep_until(-1, next < end ? next : end);
		now = clock_mono_ns();
	}
	sampler_flush(s, now);
	return 0;
}

/* --- the command line --- */

static bool number(const char *text, double min, double max, double *out)
{
	return !text || !num_real(text, min, max, out);
}

static bool take_option(enum opt_id id, const char *arg)
{
	switch (id) {
	case RUN_DIR:
		set.run_dir = arg;
		break;
	case AS:
		set.as = arg;
		break;
	case ALL_THREADS:
		set.all_threads = true;
		break;
	case STREAM:
		set.stream = true;
		break;
	case PID:
		return !num_u32(arg, 1, INT32_MAX, &set.pid);
	case HZ:
		return number(arg, 0.1, HZ_MAX, &set.hz);
	case SECONDS:
		return number(arg, 0, 1e9, &set.seconds);
	case CPU_PERCENT:
		return number(arg, 0.01, 100, &set.cpu_percent);
	case TID:
		if (set.tids == SWIRE_TARGETS)
			return false;
		set.tid[set.tids++] = (pid_t)num_front_i64(arg, NULL);
		break;
	case OPTS:
		break;
	}
	return true;
}

static int parse(int argc, char *argv[])
{
	struct options o = { .row = opts, .rows = OPTS, .argc = argc, .argv = argv };
	bool good = true;
	int id;

	while ((id = options_next(&o)) >= 0)
		good &= take_option((enum opt_id)id, o.arg);
	if (id == OPTIONS_WRONG) {
		options_complain(&o);
		return 2;
	}
	if (!good || o.operands || !set.run_dir == !set.pid || (set.pid && !set.stream)) {
		fprintf(stderr,
			"usage: aon-sample --run-dir DIR [--as UID:GID] [--cpu-percent P]\n"
			"       aon-sample --pid PID [--tid TID]... [--all-threads] [--hz N] "
			"[--seconds S] --stream\n");
		return 2;
	}
	return 0;
}

/* Descriptors of /proc are kept open, two a thread. */
static void raise_limit(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int main(int argc, char *argv[])
{
	struct sampler_opts o = { .send = send_stream,
				  .seed = clock_mono_ns() ^ (uint64_t)getpid() };
	pid_t parent = getppid();
	struct sampler *s;
	int fd = -1, err = parse(argc, argv);

	if (err)
		return err;
	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	signal(SIGPIPE, SIG_IGN);
	raise_limit();
	if (set.run_dir) {
		fd = dial(set.run_dir);
		if (fd < 0)
			return 1;
		o.send = send_socket;
		o.arg = &fd;
	}
	err = rights_sampler(set.as);
	if (err < 0) {
		fprintf(stderr, "aon-sample: cannot run as %s: %s\n", set.as ? set.as : "nobody",
			strerror(-err));
		return 1;
	}
	if (set.run_dir) { /* giving up rights undoes it: so here */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			return 1;
	}
	if (set.cpu_percent < 0)
		set.cpu_percent = set.run_dir ? 1.5 : 10;
	o.cpu_share = set.cpu_percent / 100;
	if (set.run_dir) {
		struct look_guard *g = guard_new(true);

		return g ? guard_run(g, work, &o) : 1;
	}
	if (sampler_new(&s, &o))
		return 1;
	err = attach(s);
	sampler_free(s);
	return err;
}
