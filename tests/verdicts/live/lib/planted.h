/* SPDX-License-Identifier: Apache-2.0 */
/* planted.h - what the C programs of tests/verdicts/live share: drawn numbers, a loop, the truth at the end. */
#ifndef PLANTED_H
#define PLANTED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double planted_cost, planted_from;
static long planted_steps;

static inline double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A number of the JSON object in PLANTED. */
static inline double param(const char *name, double otherwise)
{
	const char *text = getenv("PLANTED");
	char key[64];

	snprintf(key, sizeof(key), "\"%s\": ", name);
	text = text ? strstr(text, key) : NULL;
	return text ? strtod(text + strlen(key), NULL) : otherwise;
}

/* So many milliseconds of a CPU. */
static inline void burn(double ms)
{
	struct timespec t;
	double end = -1, now;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
		if (end < 0)
			end = now + ms;
	} while (now < end);
}

static inline void cost(double ms)
{
	planted_cost += ms;
}

static inline double planted_waited(void)
{
	unsigned long long ran = 0, waited = 0;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (f && fscanf(f, "%llu %llu", &ran, &waited) != 2)
		waited = 0;
	if (f)
		fclose(f);
	return (double)waited / 1e6;
}

static inline int more(void)
{
	if (!planted_from)
		planted_from = now_ms();
	else
		planted_steps++;
	return now_ms() - planted_from < param("seconds", 3) * 1e3;
}

static inline int said(void)
{
	double n = (double)planted_steps;

	printf("{\"planted\": 1, \"steps\": %.0f, \"step_ms\": %.4f, \"cost_ms\": %.4f, "
	       "\"waited_ms\": %.4f}\n",
	       n, (now_ms() - planted_from) / n, planted_cost / n, planted_waited() / n);
	return 0;
}
#endif
