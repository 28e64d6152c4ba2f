/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c - see fault.h. */
#include "base/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *wanted; /* NULL: no test */
static size_t wanted_len;
static _Atomic long
	passes; /* relaxed: whoever takes the last one dies, no other word depends on it */

static void look(void)
{
	const char *text = getenv("AON_FAULT"), *colon;

	if (!text || !*text)
		return;
	colon = strchr(text, ':');
	wanted_len = colon ? (size_t)(colon - text) : strlen(text);
	atomic_store_explicit(&passes, colon ? strtol(colon + 1, NULL, 10) : 1,
			      memory_order_relaxed);
	wanted = text;
}

void fault_point(const char *place)
{
	pthread_once(&once, look);
	if (!wanted || strlen(place) != wanted_len || strncmp(place, wanted, wanted_len) != 0)
		return;
	if (atomic_fetch_sub_explicit(&passes, 1, memory_order_relaxed) == 1)
		raise(SIGKILL);
}
