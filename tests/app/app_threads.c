/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_threads - many threads, short ones, cancelled ones, and what their destructors emit.
 *
 *	app_threads short N | live N | join | cancel ROUNDS | late N
 *
 * `cancel` prints how many emits had begun beside how many had returned: a thread that is
 * cancelled in one may leave it in either state. It stays until its stdin ends.
 */
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "app.h"

#define WAVE 64u

static long rss_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size = 0, rss = 0;

	if (f) {
		if (fscanf(f, "%ld %ld", &size, &rss) != 2)
			rss = 0;
		fclose(f);
	}
	return rss * (sysconf(_SC_PAGESIZE) / 1024);
}

static _Atomic uint64_t emitted;

static void *few(void *arg)
{
	(void)arg;
	atomic_fetch_add(&emitted, ticks(3));
	return NULL;
}

static unsigned wave(void *(*fn)(void *), unsigned n)
{
	pthread_t th[WAVE];
	unsigned made = 0;

	for (; made < n && made < WAVE; made++)
		if (pthread_create(&th[made], NULL, fn, NULL))
			break;
	for (unsigned i = 0; i < made; i++)
		pthread_join(th[i], NULL);
	return made;
}

static int run_short(unsigned n)
{
	unsigned done = 0;
	char more[64];
	long early = 0;

	aon_join(2000);
	while (done < n) {
		done += wave(few, n - done);
		if (!early && done >= n / 10)
			early = rss_kib();
	}
	truth_say(atomic_load(&emitted));
	snprintf(more, sizeof(more), ",\"grew_kib\":%ld", rss_kib() - early);
	truth_print(done, more);
	return 0;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* held until all are there */
static _Atomic unsigned here;

static void *live(void *arg)
{
	(void)arg;
	atomic_fetch_add(&emitted, ticks(100));
	atomic_fetch_add(&here, 1);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return NULL;
}

static int run_live(unsigned n)
{
	pthread_t *th = calloc(n, sizeof(*th));
	pthread_attr_t attr;
	unsigned made = 0;
	char more[64];

	aon_join(2000);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_mutex_lock(&gate);
	while (made < n && !pthread_create(&th[made], &attr, live, NULL))
		made++;
	while (atomic_load(&here) < made)
		usleep(1000);
	snprintf(more, sizeof(more), ",\"rss_kib\":%ld,\"made\":%u", rss_kib(), made);
	pthread_mutex_unlock(&gate);
	for (unsigned i = 0; i < made; i++)
		pthread_join(th[i], NULL);
	truth_say(atomic_load(&emitted));
	truth_print(made == n, more);
	free(th);
	return 0;
}

static _Atomic unsigned refused;

static void *join_first(void *arg)
{
	(void)arg;
	atomic_fetch_add(&refused, aon_join(5000) != 0);
	atomic_fetch_add(&emitted, ticks(10));
	return NULL;
}

static int run_join(void)
{
	unsigned made = wave(join_first, WAVE);
	char more[64];

	truth_say(atomic_load(&emitted));
	snprintf(more, sizeof(more), ",\"refused\":%u", atomic_load(&refused));
	truth_print(made, more);
	return 0;
}

/* --- cancellation --- */

struct victim {
	_Atomic uint64_t begun, done;
	bool async;
};

static void *victim(void *arg)
{
	struct victim *v = arg;
	int old;

	pthread_setcanceltype(v->async ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED,
			      &old);
	for (uint64_t i = 0;; i++) {
		atomic_fetch_add(&v->begun, 1);
		atomic_fetch_add(&v->done, tick(i));
		if (!v->async)
			pthread_testcancel();
	}
	return NULL;
}

static int run_cancel(unsigned rounds)
{
	static struct victim v[8]; /* outlives the threads: they are cancelled anywhere */
	uint64_t begun = 0, done = 0, after;
	unsigned cancelled = 0;
	pthread_t th[8];
	char more[96];
	void *how;

	/* Nobody joins first: the first rounds are cancelled while joining. */
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < 8; i++) {
			v[i].async = i & 1;
			pthread_create(&th[i], NULL, victim, &v[i]);
		}
		usleep(r % 16 * 50);
		for (unsigned i = 0; i < 8; i++)
			pthread_cancel(th[i]);
		for (unsigned i = 0; i < 8; i++) {
			pthread_join(th[i], &how);
			cancelled += how == PTHREAD_CANCELED;
		}
	}
	for (unsigned i = 0; i < 8; i++) {
		begun += v[i].begun;
		done += v[i].done;
	}
	usleep(300000);
	after = ticks(1000); /* whatever happened: this thread can still emit */
	truth_say(done + after);
	snprintf(more, sizeof(more), ",\"begun\":%llu", (unsigned long long)(begun + after));
	truth_print(cancelled, more);
	getchar(); /* until the scenario has looked at the session */
	return 0;
}

/* --- destructors --- */

static pthread_key_t key;

/* Runs again and again, after libaon's own, as long as POSIX lets it. */
static void destructor(void *arg)
{
	uintptr_t left = (uintptr_t)arg;

	atomic_fetch_add(&emitted, ticks(2));
	if (left > 1)
		pthread_setspecific(key, (void *)(left - 1));
}

static void *with_destructor(void *arg)
{
	(void)arg;
	pthread_setspecific(key, (void *)(uintptr_t)PTHREAD_DESTRUCTOR_ITERATIONS);
	atomic_fetch_add(&emitted, ticks(3));
	return NULL;
}

static int run_late(unsigned n)
{
	unsigned done = 0;

	aon_join(2000);
	pthread_key_create(&key, destructor);
	while (done < n)
		done += wave(with_destructor, n - done);
	truth_say(atomic_load(&emitted));
	truth_print(done, "");
	return 0;
}

int main(int argc, char *argv[])
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;

	truth_open();
	if (!strcmp(what, "short"))
		return run_short(n);
	if (!strcmp(what, "live"))
		return run_live(n);
	if (!strcmp(what, "join"))
		return run_join();
	if (!strcmp(what, "cancel"))
		return run_cancel(n);
	if (!strcmp(what, "late"))
		return run_late(n);
	return 2;
}
