/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - rows, clocks and the private aond of the benchmarks. */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/msg.h"
#include "store/store.h"

void bench_die(const char *what, int err)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

void bench_row(const char *id, double value, const char *unit, double bar, int ok, const char *note,
	       ...)
{
	va_list ap;

	printf("{\"id\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",", id, value, unit);
	if (bar < 0)
		printf("\"bar\":null,");
	else
		printf("\"bar\":%.6g,", bar);
	printf("\"ok\":%s,\"command\":\"make bench ONLY=%s\",\"note\":\"", ok ? "true" : "false",
	       id);
	va_start(ap, note);
	vprintf(note, ap);
	va_end(ap);
	printf("\"}\n");
	fflush(stdout);
}

void bench_skip(const char *id, const char *why)
{
	printf("{\"id\":\"%s\",\"value\":null,\"unit\":\"\",\"bar\":null,\"ok\":null,"
	       "\"command\":\"make bench ONLY=%s\",\"note\":\"skipped: %s\"}\n",
	       id, id, why);
	fflush(stdout);
}

int bench_wanted(const char *id)
{
	const char *ids = getenv("BENCH_IDS");

	return !ids || !*ids || strstr(ids, id);
}

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t bench_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_ns(pid_t pid)
{
	clockid_t id = CLOCK_THREAD_CPUTIME_ID;

	if (pid && clock_getcpuclockid(pid, &id))
		bench_die("the CPU clock of aond", ESRCH);
	return read_clock(id);
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

double bench_mean(const double *v, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}

double bench_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

void bench_sleep_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* --- aond --- */

#define ENV_BEGUN "AON_BENCH_PARENT"

static void remove_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

static void clean_up(void)
{
	const char *parent = getenv(ENV_BEGUN);

	/* Not in a forked feeder. */
	if (parent && atoi(parent) == getpid())
		remove_dir(getenv(AON_ENV_RUN_DIR));
}

void bench_begin(char *argv[])
{
	char dir[] = "/tmp/aon-bench-XXXXXX", pid[16];
	const char *parent = getenv(ENV_BEGUN);

	if (parent && atoi(parent) == getpid()) {
		atexit(clean_up);
		return;
	}
	if (!mkdtemp(dir))
		bench_die(dir, errno);
	snprintf(pid, sizeof(pid), "%d", (int)getpid()); /* exec keeps it */
	setenv(AON_ENV_RUN_DIR, dir, 1);
	setenv(ENV_BEGUN, pid, 1);
	execv("/proc/self/exe", argv);
	bench_die("exec", errno);
}

static void node_exec(const char *conf)
{
	const char *aond = getenv("AOND");

	prctl(PR_SET_PDEATHSIG, SIGTERM); /* no benchmark that fails leaves one behind */
	execl(aond ? aond : "build/aond", "aond", "-c", conf, NULL);
	fprintf(stderr, "bench: %s: %s\n", aond ? aond : "build/aond", strerror(errno));
	_exit(127);
}

/* The daemon's socket answers when it is ready for processes. */
static int node_answers(const struct node *n)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), ok;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", n->dir, AON_SOCKET_NAME);
	ok = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
	close(fd);
	return ok;
}

void node_start(struct node *n, const char *settings)
{
	uint64_t until = bench_ns() + 5000000000u;
	char conf[96];
	FILE *f;

	*n = (struct node){ 0 };
	snprintf(n->dir, sizeof(n->dir), "%s", getenv(AON_ENV_RUN_DIR));
	snprintf(n->store, sizeof(n->store), "%s/aon.db", n->dir);
	snprintf(conf, sizeof(conf), "%s/aond.conf", n->dir);
	f = fopen(conf, "w");
	if (!f)
		bench_die(conf, errno);
	/* Accounts count samples, too: without them stored is what the program emitted (bench/sample.py has theirs). */
	fprintf(f, "run_dir = %s\nstore = %s\nlog_level = warn\nsample = off\n%s", n->dir, n->store,
		settings);
	fclose(f);
	n->pid = fork();
	if (n->pid < 0)
		bench_die("fork", errno);
	if (n->pid == 0)
		node_exec(conf);
	while (!node_answers(n)) {
		if (bench_ns() > until || waitpid(n->pid, NULL, WNOHANG))
			bench_die("aond does not start", ETIMEDOUT);
		bench_sleep_until(bench_ns() + 10000000u);
	}
}

static int add_account(void *arg, const struct process *p)
{
	struct account *s = arg;

	s->emitted += p->account.emitted;
	s->stored += p->account.stored;
	s->overwritten += p->account.overwritten;
	s->in_flight += p->account.in_flight;
	for (unsigned i = 0; i < ACCOUNT_LOSSES; i++)
		s->lost[i] += p->account.lost[i];
	return 0;
}

void node_stop(struct node *n, struct account *sum)
{
	struct store_why why = { "" };
	struct rusage ru;
	struct store *st;
	struct stat sb;
	int err;

	kill(n->pid, SIGTERM);
	wait4(n->pid, NULL, 0, &ru);
	n->cpu_ns = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000u +
		    (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000u;
	if (stat(n->store, &sb) == 0)
		n->store_bytes = (uint64_t)sb.st_size;
	*sum = (struct account){ 0 };
	err = store_open_ro(&st, n->store, &why);
	if (err)
		bench_die(why.text, err);
	store_each_process(st, add_account, sum);
	store_close(st);
	unlink(n->store);
}

const char *account_why(const struct account *a)
{
	static const char *const word[ACCOUNT_LOSSES] = {
#define LOSS(num, NAME, text, side, help) [num] = text,
#include "abi/loss.tbl.h"
	};
	static char out[256];
	int at = 0;

	out[0] = 0;
	for (unsigned i = 0; i < ACCOUNT_LOSSES && at < (int)sizeof(out) - 64; i++)
		if (a->lost[i])
			at += snprintf(out + at, 64, "%s %s %llu", at ? "," : ":", word[i],
				       (unsigned long long)a->lost[i]);
	return out;
}

long node_kib(const struct node *n, const char *file, const char *key)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)n->pid, file);
	f = fopen(path, "r");
	if (!f)
		bench_die(path, errno);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), " %ld", &kib);
	fclose(f);
	return kib;
}
