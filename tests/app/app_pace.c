/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_pace - emits at a pace, says when it joins, how long an emit took at most, and keeps the
 * truth in a file that outlives its own death.
 *
 *	app_pace [-s seconds] [-r emits/s a thread; 0: as fast as it goes] [-t threads]
 *	         [-S steps/s] [-f truth file]
 *
 * The file holds, for each thread, two words: emits begun, emits returned.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>

#include "app.h"

struct told { /* one cache line a thread */
	_Atomic uint64_t begun, done;
	uint64_t first_ns, max_ns;
	uint64_t reserved[4];
};

static struct {
	double seconds;
	unsigned rate, threads, steps;
	const char *file;
} opt = { 1, 1000, 1, 0, NULL };

static struct told *told;
static uint64_t until;

static void one(struct told *t, uint64_t i)
{
	uint64_t start = now_ns(), took;

	atomic_fetch_add_explicit(&t->begun, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&t->done, tick(i), memory_order_relaxed);
	took = now_ns() - start;
	if (i == 0)
		t->first_ns = took;
	if (took > t->max_ns)
		t->max_ns = took;
}

static void *emitter(void *arg)
{
	struct told *t = arg;
	bool joined = false;

	for (uint64_t i = 0; now_ns() < until; i++) {
		if (opt.steps && i % (opt.rate / opt.steps) == 0) {
			aon_step_begin(i); /* may join, and then emits */
			t->done += (uint64_t)aon_wants_(AON_WANT_STEP);
		}
		one(t, i);
		if (t == told && joined != aon_joined()) {
			joined = !joined;
			printf("{\"at\":%.6f,\"joined\":%d}\n", (double)now_ns() / 1e9, joined);
			fflush(stdout);
		}
		if (opt.rate)
			usleep(1000000 / opt.rate);
	}
	return NULL;
}

static void *map_told(void)
{
	int fd = opt.file ? open(opt.file, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	size_t bytes = opt.threads * sizeof(*told);
	void *map;

	if (opt.file && (fd < 0 || posix_fallocate(fd, 0, (off_t)bytes)))
		return NULL;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static void options(int argc, char *argv[])
{
	int c;

	while ((c = getopt(argc, argv, "s:r:t:S:f:")) != -1) {
		switch (c) {
		case 's':
			opt.seconds = atof(optarg);
			break;
		case 'r':
			opt.rate = (unsigned)atoi(optarg);
			break;
		case 't':
			opt.threads = (unsigned)atoi(optarg);
			break;
		case 'S':
			opt.steps = (unsigned)atoi(optarg);
			break;
		case 'f':
			opt.file = optarg;
			break;
		default:
			exit(2);
		}
	}
}

int main(int argc, char *argv[])
{
	uint64_t sum = 0, max = 0;
	pthread_t th[64];
	char more[128];

	options(argc, argv);
	truth_open();
	told = map_told();
	if (!told || opt.threads > 64)
		return 2;
	until = now_ns() + (uint64_t)(opt.seconds * 1e9);
	for (unsigned i = 1; i < opt.threads; i++)
		pthread_create(&th[i], NULL, emitter, &told[i]);
	emitter(&told[0]);
	for (unsigned i = 1; i < opt.threads; i++)
		pthread_join(th[i], NULL);
	for (unsigned i = 0; i < opt.threads; i++) {
		sum += told[i].done;
		max = told[i].max_ns > max ? told[i].max_ns : max;
	}
	truth_say(sum);
	snprintf(more, sizeof(more), ",\"first_ns\":%llu,\"max_ns\":%llu",
		 (unsigned long long)told[0].first_ns, (unsigned long long)max);
	truth_print(opt.threads, more);
	return 0;
}
