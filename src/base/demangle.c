/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - demangles names with the machine's C++ runtime, in a child process that may fail.
 *
 * Names are untrusted: a few hundred letters can expand to terabytes of text, or keep the runtime
 * busy for years. So a child with little time and memory demangles the names and sends back one
 * result after the other. A name that kills the child stays as it is, and another child continues
 * with the next name.
 */
#include "base/demangle.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define CHILDREN 8            /* for one batch of names */
#define CPU_S    1            /* of a child */
#define NAME_US  100000       /* of that CPU time, for one name */
#define WAIT_MS  15000        /* for all of them, however busy the machine is */
#define ROOM     (16ul << 20) /* bytes that a child may map */

typedef char *demangle_fn(const char *name, char *out, size_t *len, int *status);

struct known {
	char *name;
	char *text; /* NULL: none better than the name */
};

/* As it goes through the pipe, up to the end of the text; at most PIPE_BUF. */
struct result {
	uint32_t len;
	char text[DEMANGLE_MAX];
};

static void *all;                                        /* of tsearch(): struct known, by name */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* `all`, and the texts in it */
/* Held while names are learned: whoever waits for it then also knows the names learned meanwhile. */
static pthread_mutex_t learning = PTHREAD_MUTEX_INITIALIZER;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->name, ((const struct known *)b)->name);
}

static bool mangled(const char *name)
{
	return name[0] == '_' && name[1] == 'Z';
}

/* --- the child --- */

/* The runtime continues when memory is short, so time has a limit of its own. */
static int limit_time(void)
{
	const struct rlimit cpu = { CPU_S, CPU_S }, none = { 0, 0 };
	sigset_t timer;

	sigemptyset(&timer);
	sigaddset(&timer, SIGPROF);
	signal(SIGPROF, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &timer, NULL); /* aon run blocks all */
	return setrlimit(RLIMIT_CPU, &cpu) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}

/* In addition to the memory inherited from the parent, which grows with the store. */
static int limit_memory(void)
{
	unsigned long pages = 0;
	struct rlimit room;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return -errno;
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	fclose(f);
	room.rlim_cur = room.rlim_max = pages * (unsigned long)sysconf(_SC_PAGESIZE) + ROOM;
	if (!pages)
		return -EIO;
	return setrlimit(RLIMIT_AS, &room) < 0 && errno != EPERM ? -errno : 0; /* EPERM: less */
}

/* Two long names that differ stay different. */
static void cut(struct result *r, const char *name)
{
	char mark[18];

	snprintf(mark, sizeof(mark), "#%016llx", (unsigned long long)fnv_text(FNV_BASIS, name));
	memcpy(r->text + DEMANGLE_MAX - strlen(mark), mark, strlen(mark));
}

static void read_name(demangle_fn *fn, const char *name, struct result *r)
{
	int status = -1;
	char *text = fn(name, NULL, NULL, &status);
	size_t len = text && !status ? strlen(text) : 0;

	r->len = (uint32_t)(len < DEMANGLE_MAX ? len : DEMANGLE_MAX);
	memcpy(r->text, text ? text : "", r->len);
	if (len > DEMANGLE_MAX)
		cut(r, name);
	free(text);
}

/* Returns 0 when there is nothing left. */
static _Noreturn void child(int to, struct known *const name[], size_t n)
{
	const struct itimerval each = { .it_value.tv_usec = NAME_US };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	demangle_fn *fn = NULL;
	struct result r;
	size_t size;
	void *lib;

	/* The user need not know what ended the child. */
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    limit_time() < 0)
		_exit(0);
	lib = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (lib)
		*(void **)&fn = dlsym(lib, "__cxa_demangle");
	if (!fn || limit_memory() < 0)
		_exit(0);
	for (size_t i = 0; i < n; i++) {
		setitimer(ITIMER_PROF, &each, NULL);
		read_name(fn, name[i]->name, &r);
		size = offsetof(struct result, text) + r.len;
		if (write(to, &r, size) != (ssize_t)size)
			_exit(0);
	}
	_exit(0);
}

/* --- the parent --- */

/* Reads `len` bytes by `until_ms`. */
static bool receive(int from, void *to, size_t len, uint64_t until_ms)
{
	struct pollfd p = { .fd = from, .events = POLLIN };
	char *at = to;

	while (len) {
		int64_t left = (int64_t)(until_ms - clock_mono_ms());
		int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
		ssize_t got = ready > 0 ? read(from, at, len) : ready;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		len -= (size_t)got;
	}
	return true;
}

/* Returns how many results came. */
static size_t collect(int from, struct known *const name[], size_t n, uint64_t until_ms)
{
	struct result r;
	size_t i = 0;

	for (; i < n; i++) {
		if (!receive(from, &r.len, sizeof(r.len), until_ms) || r.len > DEMANGLE_MAX ||
		    !receive(from, r.text, r.len, until_ms))
			break;
		if (!r.len)
			continue;
		pthread_mutex_lock(&lock);
		name[i]->text = strndup(r.text, r.len);
		pthread_mutex_unlock(&lock);
	}
	return i;
}

/* Runs one child; returns the index at which the next one continues. */
static size_t learn_some(struct known *const name[], size_t n, uint64_t until_ms)
{
	int end[2], status = 0;
	size_t got;
	pid_t pid;

	if (pipe2(end, O_CLOEXEC) < 0)
		return n;
	pid = fork();
	if (!pid)
		child(end[1], name, n);
	close(end[1]);
	got = pid < 0 ? n : collect(end[0], name, n, until_ms);
	close(end[0]);
	if (pid < 0)
		return n;
	if (got < n && clock_mono_ms() >= until_ms)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? got + 1 : n;
}

/* NULL: it is known already, or there is no memory. */
static struct known *add(const char *name)
{
	struct known *k = calloc(1, sizeof(*k)), **in = NULL;

	if (k)
		k->name = strdup(name);
	if (k && k->name)
		in = tsearch(k, &all, by_name);
	if (in && *in == k)
		return k;
	if (k)
		free(k->name);
	free(k);
	return NULL;
}

void demangle_learn(const char *const name[], size_t n)
{
	struct known **fresh = calloc(n + 1, sizeof(struct known *));
	uint64_t until_ms = clock_mono_ms() + WAIT_MS;
	size_t count = 0, from = 0;

	pthread_mutex_lock(&learning);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; fresh && i < n; i++) {
		fresh[count] = mangled(name[i]) ? add(name[i]) : NULL;
		count += fresh[count] != NULL;
	}
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < CHILDREN && from < count && clock_mono_ms() < until_ms; i++)
		from += learn_some(fresh + from, count - from, until_ms);
	pthread_mutex_unlock(&learning);
	free(fresh);
}

const char *demangle(const char *name)
{
	struct known key = { .name = (char *)(uintptr_t)name }, *const * in;
	const char *text;

	if (!mangled(name))
		return name;
	pthread_mutex_lock(&lock);
	in = tfind(&key, &all, by_name);
	text = in && (*in)->text ? (*in)->text : name;
	pthread_mutex_unlock(&lock);
	return text;
}
