/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_other.c - somebody else's tool in a program that uses a GPU: an injection that was there
 * before aon's, or one that comes later. OTHER_OUT: where it says that it was called, and what it
 * was told. OTHER_HOLD_MS: it subscribes to CUPTI at once, and leaves after so long. OTHER_ROB_MS:
 * after so long it puts its own buffers in the place of everybody's, without subscribing.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int (*subscribe)(void **, void *, void *);
static int (*unsubscribe)(void *);
static int (*buffers)(void *, void *);
static void *sub;

static long env_ms(const char *name)
{
	const char *v = getenv(name);

	return v ? atol(v) : -1;
}

static void say(const char *what, int answer)
{
	const char *path = getenv("OTHER_OUT");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%s %d\n", what, answer);
	fclose(f);
}

static void callback(void *user, int domain, uint32_t cbid, const void *data)
{
	(void)user;
	(void)domain;
	(void)cbid;
	(void)data;
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 65536;
	*max = 0;
	if (posix_memalign((void **)buffer, 8, *size))
		*buffer = NULL;
}

/* What was not ours to begin with is aon's: it may not be freed. */
static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)valid;
	if (size == 65536)
		free(buffer);
}

static void *later(void *arg)
{
	long hold = env_ms("OTHER_HOLD_MS"), rob = env_ms("OTHER_ROB_MS");

	(void)arg;
	if (hold >= 0) {
		usleep((unsigned)hold * 1000);
		say("unsubscribe", unsubscribe(sub));
	}
	if (rob >= 0) {
		usleep((unsigned)rob * 1000);
		say("rob", buffers((void *)on_request, (void *)on_complete));
	}
	return NULL;
}

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	const char *name = getenv("OTHER_CUPTI");
	void *lib = name ? dlopen(name, RTLD_NOW) : NULL;
	pthread_t t;

	say("called", 0);
	if (!lib)
		return 1;
	*(void **)&subscribe = dlsym(lib, "cuptiSubscribe");
	*(void **)&unsubscribe = dlsym(lib, "cuptiUnsubscribe");
	*(void **)&buffers = dlsym(lib, "cuptiActivityRegisterCallbacks");
	if (env_ms("OTHER_HOLD_MS") >= 0)
		say("subscribe", subscribe(&sub, (void *)callback, NULL));
	if (!pthread_create(&t, NULL, later, NULL))
		pthread_detach(t);
	return 1;
}
