// SPDX-License-Identifier: Apache-2.0
// kind: threads of a C program hold a mutex that its step needs
// family: host_code cpu_bound lock
// culprit: plant_f
// says: lock
// action: lock
// needs: cc
// draw: ms=6..40 other=4..10
#include <aon/aon.h>
#include <pthread.h>
#include <unistd.h>
#include "planted.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *arg)
{
	double ms = *(double *)arg;

	for (;;) {
		pthread_mutex_lock(&lock);
		usleep((useconds_t)(ms * 1e3));
		pthread_mutex_unlock(&lock);
		usleep(1000);
	}
	return NULL;
}

static __attribute__((noinline)) void plant_f(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("");
}

int main(void)
{
	int on = (int)param("on", 1);
	double ms = param("ms", 10);
	pthread_t t;

	if (on)
		pthread_create(&t, NULL, hold, &ms);
	for (long i = 0; more(); i++) {
		double from;

		aon_step_begin((uint64_t)i);
		burn(param("other", 4));
		from = now_ms();
		plant_f();
		cost(now_ms() - from);
		aon_step_end((uint64_t)i);
	}
	return said();
}
