/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_signal - emits in signal handlers, on threads that emit, on small stacks.
 *
 *	app_signal prof SECONDS | first | small
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "app.h"

#define THREADS 3

static _Atomic uint64_t by_handler, handled, wrong_errno;
static atomic_bool stop;

static void handler(int sig)
{
	int before = errno;

	(void)sig;
	errno = 1234;
	atomic_fetch_add(&by_handler, tick(1) + tick(2));
	if (errno != 1234)
		atomic_fetch_add(&wrong_errno, 1);
	atomic_fetch_add(&handled, 1);
	errno = before;
}

static void *emitter(void *arg)
{
	uint64_t *n = arg;

	while (!atomic_load(&stop)) {
		errno = 77;
		*n += ticks(1000);
		if (errno != 77)
			atomic_fetch_add(&wrong_errno, 1);
	}
	return NULL;
}

static timer_t storm_start(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec every = { { 0, 100000 }, { 0, 100000 } };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	timer_t t;

	sigaction(SIGPROF, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, &ev, &t);
	timer_settime(t, 0, &every, NULL);
	return t;
}

static int prof(unsigned seconds)
{
	uint64_t n[THREADS] = { 0 }, sum = 0;
	pthread_t th[THREADS];
	struct timespec end;
	char more[128];
	timer_t t;

	t = storm_start(); /* the handler may well be the first to emit, and join */
	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, emitter, &n[i]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		;
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	timer_delete(t);
	signal(SIGPROF, SIG_IGN);
	for (int i = 0; i < THREADS; i++)
		sum += n[i];
	truth_say(sum + atomic_load(&by_handler));
	snprintf(more, sizeof(more), ",\"handled\":%llu,\"by_handler\":%llu",
		 (unsigned long long)atomic_load(&handled),
		 (unsigned long long)atomic_load(&by_handler));
	truth_print(atomic_load(&wrong_errno), more);
	return 0;
}

#define PAINT 0x5a
#define SPARE 768u /* sigaltstack() takes no less than 2,048 in all */

/* A signal stack with a page below it that kills who goes too far. Returns its lowest byte. */
static unsigned char *small_stack(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
	unsigned char *map =
		mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t ss = { .ss_sp = map + page, .ss_size = bytes };

	mprotect(map, page, PROT_NONE);
	memset(map + page, PAINT, bytes);
	return sigaltstack(&ss, NULL) ? NULL : map + page;
}

/* Untouched bytes at the bottom: what the deepest call left free. */
static size_t untouched(const unsigned char *low, size_t bytes)
{
	size_t n = 0;

	while (n < bytes && low[n] == PAINT)
		n++;
	return n;
}

static void nothing(int sig)
{
	(void)sig;
	atomic_fetch_add(&handled, 1);
}

static size_t used_by(void (*fn)(int), size_t bytes)
{
	struct sigaction sa = { .sa_handler = fn, .sa_flags = SA_ONSTACK };
	unsigned char *low = small_stack(bytes);

	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	return low ? bytes - untouched(low, bytes) : 0;
}

/* The first emit of the process, the one that joins, in a handler on a stack with 8 KiB to
 * spare; `small`: a later one, on a stack with hardly more than an empty handler needs. */
static int on_stack(bool small)
{
	size_t frame, deep;
	char more[128];

	if (small) {
		aon_join(2000);
		truth_say(ticks(10));
	}
	frame = used_by(nothing, 16384);
	deep = used_by(handler, small ? frame + SPARE : 16384);
	truth_say(atomic_load(&by_handler) + ticks(10));
	snprintf(more, sizeof(more), ",\"frame\":%zu,\"deep\":%zu,\"own\":%zd", frame, deep,
		 (ssize_t)(deep - frame));
	truth_print(atomic_load(&wrong_errno) + 10 * atomic_load(&handled), more);
	return 0;
}

int main(int argc, char *argv[])
{
	const char *what = argc > 1 ? argv[1] : "";

	truth_open();
	if (!strcmp(what, "prof"))
		return prof(argc > 2 ? (unsigned)atoi(argv[2]) : 2);
	if (!strcmp(what, "first") || !strcmp(what, "small"))
		return on_stack(what[0] == 's');
	return 2;
}
