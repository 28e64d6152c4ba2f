/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_fork - processes that come of an emitting, multi-threaded one, in every way.
 *
 *	app_fork storm N | orphan | vfork | workers N | names | exec | fds
 *
 * "probe" and "say" are what it executes itself as.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <aon/provider.h>

#include "app.h"

extern char **environ;

static const char *self;
static atomic_bool stop;

static void *emitter(void *arg)
{
	uint64_t *n = arg;

	while (!atomic_load(&stop)) {
		*n += ticks(50);
		usleep(500);
	}
	return NULL;
}

/* Descriptors above stderr; with `list`, printed with what they are. */
static unsigned count_fds(bool list)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int fd = atoi(e->d_name);
		char to[256];
		ssize_t len;

		if (e->d_name[0] == '.' || fd <= 2 || fd == dirfd(d))
			continue;
		n++;
		len = readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = 0;
		if (list)
			printf("%s\n", to);
	}
	if (d)
		closedir(d);
	return n;
}

static void run_self(const char *what)
{
	execl(self, self, what, (char *)NULL);
	_exit(127);
}

/* A child's first call of the library is each of them in turn. */
static void first_call(unsigned i)
{
	char name[32];

	snprintf(name, sizeof(name), "only in child %u", i);
	switch (i % 6) {
	case 0:
		aon_name(name);
		break;
	case 1:
		aon_note("test", "child", name);
		break;
	case 2:
		aon_heartbeat_launch(i, 1);
		break;
	case 3:
		aon_join(1000);
		break;
	case 4:
		aon_heartbeat_collective(i, i);
		break;
	default:
		break;
	}
}

static void child(unsigned i)
{
	uint64_t n = 0;

	first_call(i);
	switch (i % 5) {
	case 0:
		truth_say(ticks(10));
		exit(0);
	case 1:
		aon_join(1000);
		n = ticks(200);
		truth_say(n);
		_exit(3);
	case 2:
		run_self("probe");
		break;
	case 3: /* the parent is gone before its child emits */
		if (fork() == 0) {
			usleep(2000);
			aon_join(1000);
			truth_say(ticks(20));
			_exit(0);
		}
		_exit(5);
	default:
		_exit(7);
	}
}

static uint64_t reap(unsigned n, uint64_t hash)
{
	int status;

	while (n-- && wait(&status) > 0)
		hash += (uint64_t)status * 2654435761u;
	return hash;
}

static int storm(unsigned n)
{
	uint64_t emitted[2] = { 0 }, hash = 0;
	pthread_t th[2];

	aon_join(2000);
	for (int i = 0; i < 2; i++)
		pthread_create(&th[i], NULL, emitter, &emitted[i]);
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			child(i);
		if (i % 8 == 7)
			hash = reap(8, hash);
	}
	hash = reap(n % 8, hash);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(th[i], NULL);
	usleep(500000); /* for grandchildren, who are not ours to wait for */
	truth_say(emitted[0] + emitted[1]);
	truth_print(hash, "");
	return 0;
}

/* Both report: the parent, which ends at once, and the child, which only then begins. */
static int orphan(void)
{
	aon_join(2000);
	truth_say(ticks(100));
	if (fork() > 0)
		_exit(4);
	usleep(300000);
	aon_step_begin(1); /* a step is what brings a silent child back */
	aon_join(1000);
	truth_say(1 + ticks(1000));
	truth_print(1, "");
	return 0;
}

static long raw_clone(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* The parent's memory, so the parent's records. */
static __attribute__((noinline)) pid_t vfork_and_emit(_Atomic uint64_t *n)
{
	pid_t pid = vfork();

	if (pid == 0) {
		atomic_fetch_add(n, ticks(5));
		_exit(6);
	}
	return pid;
}

static uint64_t status_of(pid_t pid, uint64_t hash)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return hash * 31 + (unsigned)status;
}

static int spawns(void)
{
	char *argv[] = { (char *)(uintptr_t)self, "probe", NULL };
	_Atomic uint64_t n = 0;
	uint64_t hash = 0;
	pid_t pid;

	aon_join(2000);
	n = ticks(100);
	for (int i = 0; i < 20; i++) {
		hash = status_of(vfork_and_emit(&n), hash);
		posix_spawn(&pid, self, NULL, NULL, argv, environ);
		hash = status_of(pid, hash);
		pid = (pid_t)raw_clone();
		if (pid == 0) {
			aon_join(1000);
			truth_say_of((int)syscall(SYS_getpid), ticks(30), aon_joined());
			_exit(8);
		}
		hash = status_of(pid, hash);
		n += ticks(10);
	}
	truth_say(n);
	truth_print(hash, "");
	return 0;
}

/* A data loader: children that live on and work while the parent does. */
static int workers(unsigned n)
{
	uint64_t emitted = 0, sum = 0;
	int fd[2];

	aon_join(2000);
	emitted += ticks(1000);
	if (pipe(fd))
		return 1;
	for (unsigned w = 0; w < n; w++) {
		if (fork() == 0) {
			uint64_t done = 0, part = 0;

			aon_join(1000);
			for (unsigned i = 0; i < 100; i++) {
				done += ticks(100);
				part += i * w;
			}
			truth_say(done);
			_exit(write(fd[1], &part, sizeof(part)) == sizeof(part) ? 0 : 1);
		}
	}
	for (unsigned w = 0; w < n; w++) {
		uint64_t part;

		emitted += ticks(1000);
		if (read(fd[0], &part, sizeof(part)) == sizeof(part))
			sum += part;
	}
	reap(n, 0);
	truth_say(emitted);
	truth_print(sum, "");
	return 0;
}

/* A child interns a name after its parent did, where its parent did: both keep their own. */
static int names(void)
{
	uint32_t mine;
	int fd[2];

	aon_join(2000);
	truth_say(ticks(10));
	if (pipe(fd))
		return 1;
	if (fork() == 0) {
		char byte;

		if (read(fd[0], &byte, 1) == 1)
			aon_name("name of the child");
		_exit(0);
	}
	mine = aon_name("name of the parent");
	if (write(fd[1], "", 1) != 1)
		return 1;
	reap(1, 0);
	if (aon_wants_(AON_WANT_MARK)) {
		aon_emit_(AON_MARK_, mine, 0, 0, 0);
		truth_say(1);
	}
	truth_print(1, "");
	return 0;
}

static void *exec_from_here(void *arg)
{
	char said[32];

	usleep(50000);
	snprintf(said, sizeof(said), "%llu", (unsigned long long)*(_Atomic uint64_t *)arg);
	execl(self, self, "say", said, (char *)NULL);
	return NULL;
}

static int exec_threaded(void)
{
	static _Atomic uint64_t n;
	pthread_t th;

	aon_join(2000);
	atomic_store(&n, ticks(1000));
	pthread_create(&th, NULL, exec_from_here, &n);
	pthread_join(th, NULL);
	return 1;
}

static int say(const char *before)
{
	unsigned inherited = count_fds(false);

	aon_join(2000);
	truth_say(strtoull(before, NULL, 10));
	truth_say(ticks(500));
	truth_print(inherited, "");
	return 0;
}

static int fds(void)
{
	int status;

	aon_join(2000);
	ticks(10);
	printf("[parent]\n");
	count_fds(true);
	printf("[exec]\n");
	fflush(stdout);
	if (fork() == 0)
		run_self("list");
	wait(&status);
	return 0;
}

int main(int argc, char *argv[])
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 100;

	self = "/proc/self/exe";
	truth_open();
	if (!strcmp(what, "storm"))
		return storm(n);
	if (!strcmp(what, "orphan"))
		return orphan();
	if (!strcmp(what, "vfork"))
		return spawns();
	if (!strcmp(what, "workers"))
		return workers(n);
	if (!strcmp(what, "names"))
		return names();
	if (!strcmp(what, "exec"))
		return exec_threaded();
	if (!strcmp(what, "say"))
		return say(argv[2]);
	if (!strcmp(what, "fds"))
		return fds();
	if (!strcmp(what, "list"))
		return count_fds(true) > 200;
	if (!strcmp(what, "probe"))
		return (int)count_fds(false);
	return 2;
}
