/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in windows: each counts once, by thread, stack and key, and their rows are bounded. */
#include "agg/roll.h"

#include <string.h>

#include "model/sample.h"
#include "t.h"

#define S       WINDOW_NS
#define TICK    SAMPLE_TICK_NS
#define THREADS 3u
#define STACKS  40u
#define TOP     16u

static uint64_t seed = 7;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct seen {
	uint64_t count, ns;
};

static struct seen want[8][THREADS][SAMPLE_STATES], got[8][THREADS][SAMPLE_STATES];
static uint64_t windows, rows_max, samples, other, named, kernels;
static struct rollup only; /* of a window of one row */

static void on_window(void *arg, const struct window *w)
{
	struct window all = *w;
	uint64_t lost;
	uint32_t work;

	(void)arg;
	work = roll_top(&all, TOP, &lost);
	other += lost;
	windows++;
	kernels += work;
	for (uint32_t i = 0; i < work; i++)
		kernels += all.row[i].kind != EVENT_KERNEL;
	rows_max = all.rows - work > rows_max ? all.rows - work : rows_max;
	for (uint32_t i = work; i < all.rows; i++) {
		const struct rollup *r = &all.row[i];
		struct sample_key k = sample_rolled_key(r->bytes);
		struct seen *to = &got[w->start_ns / S][r->track][k.state];

		only = *r;
		samples += r->kind == EVENT_SAMPLE ? r->count : 0;
		named += r->name != SAMPLE_ROLLED_OTHER ? r->count : 0;
		to->count += r->count;
		to->ns += r->total_ns;
	}
}

static struct roll *fresh(uint32_t rows)
{
	struct roll_opts o = { .process = 5, .rows_max = rows, .name_other = 1 };
	struct roll *r;

	memset(want, 0, sizeof(want));
	memset(got, 0, sizeof(got));
	windows = rows_max = samples = other = named = kernels = 0;
	if (roll_new(&r, &o))
		abort();
	return r;
}

static struct roll_sample sample(uint64_t second, uint32_t stacks)
{
	struct sample_key k = { .state = 1 + (enum sample_state)(rnd() % 3),
				.gpu = (enum sample_gpu)(rnd() % 3),
				.part = (uint8_t)(rnd() % 13) };
	struct roll_sample s = { .start_ns = second * S + rnd() % S,
				 .dur_ns = rnd() % 2 ? 100000000 : 20408163,
				 .track = 1 + (uint32_t)(rnd() % (THREADS - 1)),
				 .stack = (uint32_t)(rnd() % stacks) };

	s.key = sample_key(k);
	return s;
}

static void check_sums(uint32_t stacks, const char *what)
{
	struct roll *r = fresh(1000);
	struct event kernel = { .kind = EVENT_KERNEL, .dur_ns = 5, .track = 9, .name = 3 };

	for (uint64_t second = 1; second < 8; second++)
		for (int i = 0; i < 200; i++) {
			struct roll_sample s = sample(second, stacks);
			struct seen *to = &want[second][s.track][sample_rolled_key(s.key).state];

			kernel.start_ns = s.start_ns;
			roll_add(r, &kernel, 1, on_window, NULL);
			roll_sample(r, &s, on_window, NULL);
			to->count++;
			to->ns += s.dur_ns;
		}
	roll_close(r, UINT64_MAX, on_window, NULL);
	T_OK(!memcmp(want, got, sizeof(want)),
	     "%s: each thread and state has its samples and their time", what);
	T_OK(samples == 7 * 200 && kernels == windows, "%s: apart from other rows", what);
	T_OK(rows_max <= 2 * TOP && rows_max > TOP, "%s: at most %u rows, and %llu are used", what,
	     2 * TOP, (unsigned long long)rows_max);
	T_OK(other && named + other == samples, "%s: those that lost their stack are counted",
	     what);
	roll_free(r);
}

static void check_key(void)
{
	struct sample_key k = { SAMPLE_GIL, SAMPLE_GPU_IDLE, true, 12 }, is;
	struct roll_sample s = {
		.start_ns = 3 * S, .dur_ns = 7, .track = 2, .stack = 4711, .key = sample_key(k)
	};
	struct roll *r = fresh(100);

	s.holder = UINT32_MAX;
	roll_sample(r, &s, on_window, NULL);
	s.holder = 0; /* not known of this one */
	s.dur_ns = 9;
	roll_sample(r, &s, on_window, NULL);
	roll_close(r, UINT64_MAX, on_window, NULL);
	is = sample_rolled_key(only.bytes);
	T_OK(only.track == 2 && only.name == 4712 && only.count == 2 && only.min_ns == 7 &&
		     only.max_ns == 9 && only.total_ns == 16 && !only.sketch.count,
	     "a row has its stack and times");
	T_OK(is.state == k.state && is.gpu == k.gpu && is.holder && is.part == 12 &&
		     sample_rolled_holder(only.bytes) == UINT32_MAX,
	     "and its key, with the holder that was known");
	roll_free(r);
}

/* Other kinds may have used up the rows. */
static void check_full(void)
{
	struct event kernel = { .kind = EVENT_KERNEL, .start_ns = S, .track = 9 };
	struct roll *r = fresh(10);

	for (kernel.name = 0; kernel.name < 50; kernel.name++)
		roll_add(r, &kernel, 1, on_window, NULL);
	for (int i = 0; i < 50; i++) {
		struct roll_sample s = sample(1, STACKS);

		roll_sample(r, &s, on_window, NULL);
	}
	roll_close(r, UINT64_MAX, on_window, NULL);
	T_OK(samples == 50 && rows_max == 1 && only.name == SAMPLE_ROLLED_OTHER && !only.track,
	     "where no row is left, samples are counted in one");
	roll_free(r);
}

int main(void)
{
	check_sums(STACKS, "few stacks");
	check_sums(100000, "a stack for each sample");
	check_key();
	check_full();
	return t_done();
}
