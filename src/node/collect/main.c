/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aon-collect - measures the node and its devices for aond.
 *
 *	aon-collect [options] [COLLECTOR[=ARGUMENT]...]
 *
 * Each collector has a process; this one supervises them: a collector that exceeds its limit is
 * killed, and one that ended is restarted after a delay that doubles, up to a minute. Vendors'
 * libraries, networks and privileges stay out of aond.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/msg.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "base/options.h"
#include "collect/run.h"

#define LOOK_NS     1000000000ull /* between two looks at who hangs */
#define BACK_MIN_NS 1000000000ull /* until one that ended is started again: doubles */
#define BACK_MAX_NS 60000000000ull
#define NOTHING_NS  300000000000ull /* the same where there was nothing to measure */
#define END_NS      3000000000ull   /* that they may take to end */
#define GOOD_NS     60000000000ull  /* after which it is taken for well */
#define CHILDREN    16u

static const struct collector table[] = {
#define COLLECTOR(name, interval, limit, always, help) \
	{ #name, interval, limit, always, help, &name##_collector },
#include "collect/collector.tbl.h"
};
#define TABLE_N (sizeof(table) / sizeof(table[0]))

struct child {
	struct collector_run run;
	pid_t pid; /* 0: not running */
	bool killed;
	uint64_t started_ns, again_ns, back_ns;
	_Atomic uint64_t since_ns; /* shared with it */
};

static struct child *child; /* shared mapping: children write their since_ns */
static unsigned children;

/* --- children --- */

static void start(struct child *c, uint64_t now)
{
	pid_t parent = getpid(), pid;

	atomic_store_explicit(&c->since_ns, 0, memory_order_relaxed);
	pid = fork(); /* not into *c, which both share */
	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, c->run.is->name);
		_exit(getppid() == parent ? run_collector(&c->run) : 0);
	}
	if (pid < 0) {
		log_err("%s: fork: %s", c->run.is->name, strerror(errno));
		c->again_ns = now + BACK_MAX_NS;
		return;
	}
	c->pid = pid;
	c->killed = false;
	c->started_ns = now;
}

static void ended(struct child *c, int status, uint64_t now)
{
	const char *name = c->run.is->name;

	c->pid = 0;
	if (now - c->started_ns > GOOD_NS)
		c->back_ns = 0;
	c->back_ns = !c->back_ns                    ? BACK_MIN_NS
		     : c->back_ns * 2 < BACK_MAX_NS ? c->back_ns * 2
						    : BACK_MAX_NS;
	c->again_ns = now + c->back_ns;
	if (WIFEXITED(status) && WEXITSTATUS(status) == RUN_NOTHING) {
		c->again_ns = now + NOTHING_NS;
		log_info("%s: nothing to measure here; looking again in 5 minutes", name);
	} else if (c->killed) {
		log_warn("%s: hung for more than %u ms and was killed; again in %llu s", name,
			 c->run.is->limit_ms, (unsigned long long)(c->back_ns / 1000000000u));
	} else {
		log_warn("%s: ended (%s %d); again in %llu s", name,
			 WIFSIGNALED(status) ? "signal" : "exit",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			 (unsigned long long)(c->back_ns / 1000000000u));
	}
}

/* A process that the kernel does not let go (a driver that hangs) stays: it is not started twice. */
static void look(struct child *c, uint64_t now)
{
	uint64_t since = atomic_load_explicit(&c->since_ns, memory_order_relaxed);
	int status;

	if (c->pid && waitpid(c->pid, &status, WNOHANG) == c->pid)
		ended(c, status, now);
	if (c->pid && !c->killed && since &&
	    now > since + (uint64_t)c->run.is->limit_ms * 1000000u) {
		c->killed = true;
		kill(c->pid, SIGKILL);
	}
	if (!c->pid && now >= c->again_ns)
		start(c, now);
}

/* They may end by themselves first: a session of a BMC is given back. Those that hang are killed. */
static void end_all(const sigset_t *set)
{
	struct timespec tick = { .tv_nsec = 50000000 };
	uint64_t until = clock_mono_ns() + END_NS;
	unsigned left = 1;

	for (unsigned i = 0; i < children; i++)
		if (child[i].pid)
			kill(child[i].pid, SIGTERM);
	while (left && clock_mono_ns() < until) {
		left = 0;
		for (unsigned i = 0; i < children; i++) {
			if (child[i].pid && waitpid(child[i].pid, NULL, WNOHANG) == child[i].pid)
				child[i].pid = 0;
			left += child[i].pid != 0;
		}
		if (left)
			sigtimedwait(set, NULL, &tick);
	}
	for (unsigned i = 0; i < children; i++)
		if (child[i].pid)
			kill(child[i].pid, SIGKILL);
}

/* Until a signal ends it. Children die with it. */
static int supervise(void)
{
	struct timespec tick = { .tv_sec = LOOK_NS / 1000000000ull };
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_TIMERSLACK, 200000000ul);
	do {
		for (unsigned i = 0; i < children; i++)
			look(&child[i], clock_mono_ns());
		sig = sigtimedwait(&set, NULL, &tick);
	} while (sig != SIGTERM && sig != SIGINT);
	end_all(&set);
	return 0;
}

/* --- the command line --- */

struct args {
	struct collect_env env;
	const char *run_dir;
	bool print;
	uint32_t polls;
};

static int misuse(const char *what, const char *of)
{
	fprintf(stderr, "aon-collect: %s%s (see aon-collect --help)\n", what, of);
	return 2;
}

enum opt_id { RUN_DIR, ROOT, INTERVAL, ALL, PRINT, POLLS, VERSION, HELP, OPTS };

/* clang-format off */
static const struct option_row opts[OPTS] = {
	[RUN_DIR]  = { 0, "run-dir", "DIR", "where aond's sockets are (" AON_RUN_DIR ", or AON_RUN_DIR)" },
	[ROOT]     = { 0, "root", "DIR", "read DIR/proc, DIR/sys and DIR/dev" },
	[INTERVAL] = { 0, "interval", "MS", "between two measurements, for all that are named" },
	[ALL]      = { 0, "all", NULL, "measure at every interval also what changes slowly" },
	[PRINT]    = { 0, "print", NULL, "print what is measured; nothing goes to aond" },
	[POLLS]    = { 0, "polls", "N", "end after so many" },
	[VERSION]  = { .name = "version" },
	[HELP]     = { 'h', .name = "help" },
};
/* clang-format on */

static void print_help(void)
{
	printf("usage: aon-collect [options] [COLLECTOR[=ARGUMENT]...]\n\n"
	       "Measures this node and its devices, and tells aond.\n\n");
	options_help(opts, OPTS, 18);
	printf("  --version, --help\n\nCollectors, * if none is named:\n");
	for (size_t i = 0; i < TABLE_N; i++)
		printf("  %c %-10s %6u ms  %s\n", table[i].always ? '*' : ' ', table[i].name,
		       table[i].interval_ms, table[i].help);
}

static int add_child(const struct args *a, const char *word)
{
	size_t len = strcspn(word, "=");
	struct child *c = &child[children];

	for (size_t i = 0; i < TABLE_N; i++) {
		if (strlen(table[i].name) != len || strncmp(table[i].name, word, len) != 0)
			continue;
		if (children == CHILDREN)
			return misuse("too many collectors: ", word);
		c->run = (struct collector_run){
			.is = &table[i], .env = a->env, .polls = a->polls, .since_ns = &c->since_ns
		};
		c->run.env.arg = word[len] ? word + len + 1 : NULL;
		if (!a->env.interval_ms)
			c->run.env.interval_ms = table[i].interval_ms;
		children++;
		return 0;
	}
	return misuse("there is no such collector: ", word);
}

/* -1: go on, with the operands of *s. */
static int parse(struct options *s, struct args *a)
{
	int id;

	while ((id = options_next(s)) >= 0) {
		if (id == INTERVAL && num_u32(s->arg, 10, INT32_MAX, &a->env.interval_ms))
			return misuse("--interval takes milliseconds, 10 at least, not ", s->arg);
		if (id == POLLS && num_u32(s->arg, 1, INT32_MAX, &a->polls))
			return misuse("--polls takes a number, not ", s->arg);
		if (id == HELP)
			return print_help(), 0;
		if (id == VERSION)
			return printf("aon-collect %s\n", AON_VERSION), 0;
		a->run_dir = id == RUN_DIR ? s->arg : a->run_dir;
		a->env.root = id == ROOT ? s->arg : a->env.root;
		a->env.all |= id == ALL;
		a->print |= id == PRINT;
	}
	if (id == OPTIONS_WRONG)
		return options_complain(s), 2;
	return -1;
}

static int choose(const struct args *a, char *word[], int n)
{
	int err = 0;

	for (int i = 0; i < n && !err; i++)
		err = add_child(a, word[i]);
	for (size_t i = 0; i < TABLE_N && !n && !err; i++)
		err = table[i].always ? add_child(a, table[i].name) : 0;
	return err;
}

int main(int argc, char *argv[])
{
	const char *dir = getenv(AON_ENV_RUN_DIR);
	struct args a = { .env.root = "", .run_dir = dir && *dir ? dir : AON_RUN_DIR };
	static char path[PATH_MAX];
	struct options s = { .row = opts, .rows = OPTS, .argc = argc, .argv = argv };
	int got = parse(&s, &a);

	if (got >= 0)
		return got;
	child = mmap(NULL, CHILDREN * sizeof(*child), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child == MAP_FAILED) {
		fprintf(stderr, "aon-collect: no memory\n");
		return 1;
	}
	got = choose(&a, argv + 1, s.operands);
	if (got)
		return got;
	snprintf(path, sizeof(path), "%s/%s", a.run_dir, AON_TELEMETRY_NAME);
	for (unsigned i = 0; i < children; i++)
		child[i].run.socket = a.print ? NULL : path;
	for (unsigned i = 0; i < children; i++)
		child[i].run.env.run_dir = a.run_dir;
	/* To be looked at, one is enough, and is not watched over. */
	if ((a.print || a.polls) && children == 1)
		return run_collector(&child[0].run);
	return supervise();
}
