/* SPDX-License-Identifier: Apache-2.0 */
/* What allocators held: points by step and by time, peaks, growth. */
#include "insight/heap.h"
#include "t.h"
#include "tracekit.h"

static struct heaps *read_text(const char *text, struct insight **in)
{
	struct heaps *hs;

	if (insight_new(in, kit_trace(text)) < 0 || heaps_new(&hs, *in) < 0)
		abort();
	return hs;
}

static void done(struct heaps *hs, struct insight *in)
{
	struct trace *t = (struct trace *)in->t;

	heaps_free(hs);
	insight_free(in);
	trace_free(t);
}

static void check_steps(void)
{
	struct insight *in;
	struct heaps *hs = read_text("step 1 1000 100 7\n"
				     "step 1 1100 100 8\n"
				     "counter 1 1010 500 [memory] allocated\n"
				     "counter 1 1050 900 [memory] allocated\n"
				     "counter 1 1090 600 [memory] allocated\n"
				     "counter 1 1091 4 [memory] retries\n"
				     "counter 1 1150 700 [memory] allocated\n"
				     "counter 1 1151 1000 [memory] reserved\n"
				     "counter 1 1152 6 [memory] retries\n"
				     "counter 1 1153 12345 loss\n",
				     &in);
	const struct heap *h = hs->h;

	T_OK(hs->n == 1 && h->points == 2 && h->readings == 7, "a point for each step");
	T_OK(h->point[0].step == 7 && h->point[0].v[MEMORY_ALLOCATED] == 600 &&
		     h->point[0].high == 900,
	     "the last reading of a step, and its highest");
	T_OK(h->peak == 900 && h->peak_at == 0, "the peak and its step");
	T_OK(h->retries == 2 && h->ooms == HEAP_NONE, "retries since the first reading");
	T_OK(h->unused > 0.299 && h->unused < 0.301, "what is reserved and not used");
	T_OK(!h->grows, "two steps are no trend");
	done(hs, in);
}

static void check_growth(void)
{
	char text[8192] = "";
	struct insight *in;
	struct heaps *hs;
	size_t n = 0;

	for (int i = 0; i < 32; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "step 1 %d 100 %d\ncounter 1 %d %d [memory] allocated\n",
				      1000 + 100 * i, i + 1, 1050 + 100 * i,
				      i < 4 ? 5000 * i : 20000 + 10 * i);
	hs = read_text(text, &in);
	T_OK(hs->h->grows && hs->h->growth > 9.99 && hs->h->growth < 10.01,
	     "growth is of the steps after the first quarter");
	done(hs, in);
}

static void check_time(void)
{
	struct insight *in;
	struct heaps *hs = read_text("counter 1 1000 5 [memory] allocated\n"
				     "counter 1 1000000 9 [memory] allocated\n"
				     "counter 1 17000000 7 [memory] allocated\n",
				     &in);

	T_OK(hs->n == 1 && hs->h->points == 2 && hs->h->point[0].step == HEAP_NONE &&
		     hs->h->point[0].high == 9 && hs->h->peak == 9,
	     "without steps: parts of the time");
	done(hs, in);
	hs = read_text("counter 1 1000 5 loss\n", &in);
	T_OK(hs->n == 0, "no reading, no heap");
	done(hs, in);
}

int main(void)
{
	check_steps();
	check_growth();
	check_time();
	return t_done();
}
