/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in pieces: put together by thread, dropped and counted when a piece is missing or too many come. */
#include <stdio.h>
#include <string.h>

#include "daemon/core/count.h"
#include "daemon/stream/texts.h"
#include "t.h"

#define K "__kernel void k(__global float *a) { a[get_global_id(0)] = 1.0f; }"

static char said[512];
static unsigned times;

static void hear(void *arg, const char *mark)
{
	(void)arg;
	snprintf(said, sizeof(said), "%s", mark);
	times++;
}

static void give(struct texts *t, const void *of, uint32_t tid, const char *text, uint32_t off,
		 uint32_t len, uint32_t total)
{
	struct understand_text p = { .tid = tid,
				     .type = AON_TEXT_OPENCL,
				     .off = off,
				     .len = len,
				     .total = total,
				     .bytes = text + off };

	texts_take(t, of, &p, hear, NULL);
}

static void check_whole(struct texts *t)
{
	uint32_t n = sizeof(K) - 1;

	give(t, "a", 1, K, 0, n, n);
	T_OK(times == 1 && !strcmp(said, "opencl work: k flops=0 type=6 mem=9:4"),
	     "a text in one piece is read (%s)", said);
	give(t, "a", 1, K, 0, 32, n);
	give(t, "a", 2, K, 0, 32, n);
	give(t, "b", 1, K, 0, 32, n);
	T_OK(times == 1, "one that has not ended is not");
	give(t, "a", 2, K, 32, n - 32, n);
	give(t, "b", 1, K, 32, n - 32, n);
	give(t, "a", 1, K, 32, n - 32, n);
	T_OK(times == 4 && count_get(COUNT_texts) == 4 && !count_get(COUNT_texts_dropped),
	     "threads and processes do not get in each other's way");
}

static void check_broken(struct texts *t)
{
	uint32_t n = sizeof(K) - 1;

	times = 0;
	give(t, "a", 1, K, 32, n - 32, n);
	T_OK(!times && !count_get(COUNT_texts_dropped), "a piece without a beginning is nothing");
	give(t, "a", 1, K, 0, 16, n);
	give(t, "a", 1, K, 32, n - 32, n);
	T_OK(!times && count_get(COUNT_texts_dropped) == 1, "a text with a gap is dropped");
	give(t, "a", 1, K, 0, 16, n);
	give(t, "a", 1, K, 16, 16, n + 8);
	T_OK(!times && count_get(COUNT_texts_dropped) == 2, "so is one that grows");
	give(t, "a", 1, K, 0, 16, n);
	texts_drop(t, "a");
	give(t, "a", 1, K, 16, n - 16, n);
	T_OK(!times && count_get(COUNT_texts_dropped) == 3, "and one whose process is gone");
	for (uint32_t tid = 1; tid <= TEXTS_OPEN + 1; tid++)
		give(t, "a", tid, K, 0, 16, n);
	give(t, "a", 1, K, 16, n - 16, n);
	give(t, "a", 2, K, 16, n - 16, n);
	T_OK(times == 1 && count_get(COUNT_texts_dropped) == 4,
	     "of too many at once the oldest makes way");
	texts_drop(t, "a");
}

static void check_budget(struct texts *t)
{
	static char text[AON_TEXT_MAX];
	uint64_t before = count_get(COUNT_texts), dropped = count_get(COUNT_texts_dropped);

	memset(text, ' ', sizeof(text));
	texts_tick(t);
	for (uint32_t i = 0; i < 2 * TEXTS_BURST / sizeof(text); i++)
		give(t, "a", 1, text, 0, sizeof(text), sizeof(text));
	T_OK(count_get(COUNT_texts) - before == TEXTS_BURST / sizeof(text) &&
		     count_get(COUNT_texts_dropped) - dropped == TEXTS_BURST / sizeof(text),
	     "what is over the budget of time is dropped and counted");
	texts_tick(t);
	give(t, "a", 1, text, 0, sizeof(text), sizeof(text));
	T_OK(count_get(COUNT_texts) - before == TEXTS_BURST / sizeof(text) + 1,
	     "a tick later there is room again");
}

int main(void)
{
	struct texts *t = NULL;

	if (texts_new(&t))
		return 1;
	check_whole(t);
	check_broken(t);
	check_budget(t);
	texts_free(t);
	texts_free(NULL);
	return t_done();
}
