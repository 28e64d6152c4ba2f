/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_kineto.c - a profiler of the program's own, which links with libcupti as torch does, and makes
 * the calls of Kineto in Kineto's order. PROFILER=old: it subscribes at its first use, gives up for
 * good if that is refused, and never unsubscribes. PROFILER=new: it never subscribes. PROFILER=xla: it
 * subscribes for each trace, and is refused like everybody. PROFILER_OUT: a line for each trace, with
 * the kernels that it saw, or "cpu only".
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sim/cupti_calls.h"

#define EXPORT __attribute__((visibility("default")))

enum { KERNEL = 10, MEMCPY = 1, MEMSET = 2, RUNTIME = 5, DRIVER = 4, EXTERNAL = 39, OVERHEAD = 17 };

static const uint32_t kinds[] = { MEMCPY, MEMSET, KERNEL, RUNTIME, DRIVER, EXTERNAL, OVERHEAD };
static struct client *sub;
static bool cpu_only, tried;
static _Atomic long kernels, foreign;
static _Atomic long lent;

EXPORT void profiler_start(void);
EXPORT void profiler_stop(void);

static bool is(const char *word)
{
	const char *v = getenv("PROFILER");

	return v && !strcmp(v, word);
}

static void say(const char *text, long n)
{
	const char *path = getenv("PROFILER_OUT");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, text, n);
	fclose(f);
}

static void callback(void *user, int domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain, (void)cbid, (void)data;
}

/* Its own size tells its buffers from others'. */
#define BYTES (64u << 10)

static void on_request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = BYTES;
	*max = 0;
	lent++;
	if (posix_memalign((void **)buffer, 8, *size))
		*buffer = NULL;
}

/* What it never allocated it frees, too: as tools do. */
static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	uint8_t *record = NULL;
	uint32_t kind;

	(void)context, (void)stream;
	if (size != BYTES)
		foreign++;
	while (!cuptiActivityGetNextRecord(buffer, valid, &record)) {
		memcpy(&kind, record, sizeof(kind));
		kernels += kind == KERNEL;
	}
	lent--;
	free(buffer);
}

EXPORT void profiler_start(void)
{
	kernels = 0;
	if ((is("old") && !tried) || is("xla"))
		cpu_only = cuptiSubscribe(&sub, callback, NULL) != 0;
	tried = true;
	if (cpu_only)
		return;
	cuptiActivityRegisterCallbacks(on_request, on_complete);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityEnable(kinds[i]);
}

/* PROFILER_END: at the end of the program, after the handlers of exit(). */
__attribute__((destructor)) static void end(void)
{
	if (getenv("PROFILER_END"))
		cuptiActivityRegisterCallbacks(on_request, on_complete);
}

EXPORT void profiler_stop(void)
{
	if (cpu_only) {
		say("cpu only\n", 0);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cuptiActivityDisable(kinds[i]);
	cuptiActivityFlushAll(0);
	for (int i = 0; i < 1000 && lent; i++) /* CUPTI may deliver late */
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	if (is("xla"))
		cuptiUnsubscribe(sub);
	say("%ld\n", kernels);
	if (foreign)
		say("foreign %ld\n", foreign);
}
