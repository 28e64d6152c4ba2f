/* SPDX-License-Identifier: Apache-2.0 */
/* capture_jobs.c - see capture_jobs.h. */
#include "serve/capture_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "serve/serve.h"

#define ORDERS   16u /* that are known; the oldest that are over go */
#define AT_WORK  4u
#define SAID_MAX 16384u

enum state { ORDER_NONE, ORDER_RUNS, ORDER_DONE, ORDER_FAILED, ORDER_CANCELLED };
static const char *const state_word[] = { "none", "running", "done", "failed", "cancelled" };

struct order {
	enum state state;
	uint32_t number;
	char run[RUN_ID];
	pid_t pid;
	struct order_want want;
	char trigger[ORDER_TRIGGER];
	uint64_t begun_ns, ended_ns; /* CLOCK_MONOTONIC */
	uint64_t from_ns, to_ns;     /* of the trace; 0: not known */
	uint64_t bytes;
	char why[256]; /* it failed */
};

struct ordered {
	pthread_mutex_t lock;
	struct order order[ORDERS];
	uint32_t last;
	char folder[PATH_MAX - 32];
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void path_of(const struct ordered *o, const struct order *x, const char *ending,
		    char to[PATH_MAX])
{
	snprintf(to, PATH_MAX, "%s/c%" PRIu32 "%s", o->folder, x->number, ending);
}

static void remove_files(const struct ordered *o, const struct order *x)
{
	static const char *const ending[] = { ".pftrace", ".json", ".err" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		path_of(o, x, ending[i], path);
		unlink(path);
	}
}

int ordered_new(struct ordered **out, const char *folder)
{
	struct ordered *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	pthread_mutex_init(&o->lock, NULL);
	snprintf(o->folder, sizeof(o->folder), "%s", folder);
	*out = o;
	return 0;
}

void ordered_free(struct ordered *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < ORDERS; i++) {
		struct order *x = &o->order[i];

		if (x->state == ORDER_RUNS) {
			kill(x->pid, SIGTERM);
			waitpid(x->pid, NULL, 0);
		}
		if (x->state != ORDER_NONE)
			remove_files(o, x);
	}
	pthread_mutex_destroy(&o->lock);
	free(o);
}

/* --- what it said --- */

static void read_said(const struct ordered *o, const struct order *x, const char *ending,
		      char to[SAID_MAX])
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	path_of(o, x, ending, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, to, SAID_MAX - 1);
	to[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static uint64_t number_after(const char **at, const char *key)
{
	const char *p = strstr(*at, key);

	*at = p ? p + strlen(key) : NULL;
	return p ? strtoull(*at, NULL, 10) : 0;
}

/* From the first beginning to the last end of a process in the trace. */
static void take_span(struct order *x, const char *said)
{
	const char *p = said;
	uint64_t v;

	while ((v = number_after(&p, "\"from_ns\":")) && p)
		x->from_ns = x->from_ns && x->from_ns < v ? x->from_ns : v;
	p = said;
	while ((v = number_after(&p, "\"to_ns\":")) && p)
		x->to_ns = v > x->to_ns ? v : x->to_ns;
}

/* The first line, without the command's name: those after it explain. */
static void take_why(struct order *x, const char *said)
{
	const char *name = "aon capture: ";

	if (!strncmp(said, name, strlen(name)))
		said += strlen(name);
	snprintf(x->why, sizeof(x->why), "%.*s", (int)strcspn(said, "\n"), said);
}

static void take_end(struct ordered *o, struct order *x, int status)
{
	char said[SAID_MAX], path[PATH_MAX];
	struct stat sb;

	x->ended_ns = now_ns();
	read_said(o, x, ".json", said);
	take_span(x, said);
	read_said(o, x, ".err", said);
	take_why(x, said);
	path_of(o, x, ".pftrace", path);
	x->bytes = stat(path, &sb) == 0 ? (uint64_t)sb.st_size : 0;
	/* Exit 1 with a trace: of some process there is less than was asked for, which it says. */
	if (x->state == ORDER_RUNS)
		x->state = x->bytes && WIFEXITED(status) ? ORDER_DONE : ORDER_FAILED;
}

static void look(struct ordered *o)
{
	for (size_t i = 0; i < ORDERS; i++) {
		struct order *x = &o->order[i];
		int status;

		if (x->pid > 0 && waitpid(x->pid, &status, WNOHANG) == x->pid) {
			x->pid = 0;
			take_end(o, x, status);
		}
	}
}

/* --- beginning --- */

static int spawn(const struct ordered *o, struct order *x, char *const argv[])
{
	posix_spawn_file_actions_t files;
	char out[PATH_MAX], err[PATH_MAX];
	posix_spawnattr_t attr;
	sigset_t none, pipes;
	int rc;

	path_of(o, x, ".json", out);
	path_of(o, x, ".err", err);
	sigemptyset(&none);
	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipes);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, out, O_WRONLY | O_CREAT | O_EXCL, 0600);
	posix_spawn_file_actions_addopen(&files, 2, err, O_WRONLY | O_CREAT | O_EXCL, 0600);
	rc = posix_spawn(&x->pid, "/proc/self/exe", &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* No shell sees any of it. */
static int start(const struct ordered *o, struct order *x)
{
	char pids[ORDER_PIDS * 11 + 1] = "", much[32], before[32], to[PATH_MAX];
	/* clang-format off */
	const char *argv[16] = { "aon", "capture", "--json", "--output", to, "--pid", pids,
				 x->want.steps ? "--steps" : "--duration", much };
	/* clang-format on */
	size_t n = 9;

	for (uint32_t i = 0, at = 0; i < x->want.pids; i++)
		at += (uint32_t)snprintf(pids + at, sizeof(pids) - at, "%s%" PRIu32, i ? "," : "",
					 x->want.pid[i]);
	path_of(o, x, ".pftrace", to);
	snprintf(much, sizeof(much), "%" PRIu64 "%s", x->want.steps ? x->want.steps : x->want.ms,
		 x->want.steps ? "" : "ms");
	snprintf(before, sizeof(before), "%" PRIu64 "ms", x->want.before_ms);
	if (x->want.before_ms) {
		argv[n++] = "--before";
		argv[n++] = before;
	}
	if (x->want.trigger) {
		argv[n++] = "--trigger";
		argv[n++] = x->trigger;
	}
	return spawn(o, x, (char *const *)(uintptr_t)argv);
}

/* A place for one more: a free one, or that of the oldest that is over. */
static struct order *place(struct ordered *o)
{
	struct order *best = NULL;
	uint32_t at_work = 0;

	for (size_t i = 0; i < ORDERS; i++) {
		struct order *x = &o->order[i];

		if (x->pid > 0)
			at_work++;
		else if (!best || x->number < best->number)
			best = x;
	}
	return at_work < AT_WORK ? best : NULL;
}

int order_begin(struct ordered *o, const struct run *r, const struct order_want *w,
		uint32_t *number)
{
	struct order *x;
	int err = -EBUSY;

	pthread_mutex_lock(&o->lock);
	look(o);
	x = place(o);
	if (x) {
		if (x->state != ORDER_NONE)
			remove_files(o, x);
		*x = (struct order){ .number = ++o->last, .want = *w, .begun_ns = now_ns() };
		snprintf(x->trigger, sizeof(x->trigger), "%s", w->trigger ? w->trigger : "");
		memcpy(x->run, r->id, RUN_ID);
		err = start(o, x);
		x->state = err ? ORDER_NONE : ORDER_RUNS;
		x->pid = err ? 0 : x->pid;
		*number = x->number;
	}
	pthread_mutex_unlock(&o->lock);
	return err;
}

static struct order *find(struct ordered *o, const struct run *r, uint32_t number)
{
	for (size_t i = 0; i < ORDERS; i++)
		if (o->order[i].state != ORDER_NONE && o->order[i].number == number &&
		    !strcmp(o->order[i].run, r->id))
			return &o->order[i];
	return NULL;
}

int order_cancel(struct ordered *o, const struct run *r, uint32_t number)
{
	struct order *x;

	pthread_mutex_lock(&o->lock);
	look(o);
	x = find(o, r, number);
	if (x && x->pid > 0) {
		x->state = ORDER_CANCELLED;
		kill(x->pid, SIGTERM);
	} else {
		x = NULL;
	}
	pthread_mutex_unlock(&o->lock);
	return x ? 0 : -ENOENT;
}

/* --- telling --- */

static void order_json(struct json *j, const struct order *x, const struct run *r)
{
	uint64_t end = x->ended_ns ? x->ended_ns : now_ns();

	json_open(j, NULL, '{');
	json_u64(j, "number", x->number);
	json_str(j, "state", state_word[x->state]);
	if (x->want.steps)
		json_u64(j, "steps", x->want.steps);
	else
		json_u64(j, "ms", x->want.ms);
	json_u64(j, "before_ms", x->want.before_ms);
	json_str(j, "trigger", x->want.trigger ? x->trigger : NULL);
	json_u64(j, "processes", x->want.pids);
	json_u64(j, "took_ms", (end - x->begun_ns) / 1000000u);
	json_u64(j, "bytes", x->bytes);
	if (x->from_ns && x->to_ns > x->from_ns && x->to_ns > r->t0) {
		json_u64(j, "from_ns", x->from_ns > r->t0 ? x->from_ns - r->t0 : 0);
		json_u64(j, "to_ns", x->to_ns - r->t0);
	} else {
		json_null(j, "from_ns");
		json_null(j, "to_ns");
	}
	json_str(j, "why", *x->why ? x->why : NULL);
	json_close(j);
}

void ordered_json(struct json *j, const char *key, struct ordered *o, const struct run *r)
{
	json_open(j, key, '[');
	pthread_mutex_lock(&o->lock);
	look(o);
	for (uint32_t n = o->last; n && n + ORDERS > o->last; n--) {
		struct order *x = find(o, r, n);

		if (x)
			order_json(j, x, r);
	}
	pthread_mutex_unlock(&o->lock);
	json_close(j);
}

int order_open(struct ordered *o, const struct run *r, uint32_t number)
{
	char path[PATH_MAX];
	struct order *x;
	int fd = -ENOENT;

	pthread_mutex_lock(&o->lock);
	look(o);
	x = find(o, r, number);
	if (x && x->state == ORDER_DONE) {
		path_of(o, x, ".pftrace", path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		fd = fd < 0 ? -ENOENT : fd;
	}
	pthread_mutex_unlock(&o->lock);
	return fd;
}
