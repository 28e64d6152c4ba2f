/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample was taken in, against a plain look at all events. */
#include "daemon/sample/place.h"

#include <stdlib.h>
#include <string.h>

#include "model/sample.h"
#include "t.h"

#define MS    1000000ull
#define WORKS 300u
#define N     500u

static uint64_t seed = 7;

static uint64_t rnd(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static struct places p;

static struct placed look(uint64_t ns, uint32_t track, bool gpu)
{
	struct placed s = { .ns = ns, .track = track, .part = HOST_PARTS };

	places_find(&p, &s, 1, gpu);
	return s;
}

static void test_parts(void)
{
	places_range(&p, 1, 20 * MS, 30 * MS, HOST_PART_BACKWARD); /* the inner one ends first */
	places_range(&p, 1, 10 * MS, 50 * MS, HOST_PART_FORWARD);
	places_step(&p, 0, 60 * MS);
	T_OK(look(25 * MS, 1, false).part == HOST_PART_BACKWARD, "the innermost range tells");
	T_OK(look(15 * MS, 1, false).part == HOST_PART_FORWARD &&
		     look(45 * MS, 1, false).part == HOST_PART_FORWARD,
	     "around it the outer one");
	T_OK(look(25 * MS, 2, false).part == HOST_PART_REST, "of its own thread alone");
	T_OK(look(55 * MS, 1, false).part == HOST_PART_REST, "else it is the rest of a step");
	T_OK(look(61 * MS, 1, false).part == HOST_PART_REST, "as is the one under way");
	T_OK(look(2000 * MS, 1, false).part == HOST_PART_OUTSIDE, "or outside of steps");
	places_fini(&p);
	T_OK(look(5, 1, false).part == HOST_PART_OUTSIDE, "without steps, too");
}

static void test_stack(void)
{
	struct placed s[2] = { { .ns = 5 * MS, .track = 1, .part = HOST_PART_DATA },
			       { .ns = 1 * MS, .track = 1, .part = HOST_PART_DATA, .of = 1 } };

	places_range(&p, 1, 4 * MS, 6 * MS, HOST_PART_LOGGING);
	places_find(&p, s, 2, false);
	T_OK(s[0].of == 1 && s[0].part == HOST_PART_DATA, "without a range the stack tells");
	T_OK(s[1].part == HOST_PART_LOGGING, "what was marked goes before it");
	places_fini(&p);
}

/* Work of several streams, in the order in which it comes: each one's own. */
static void test_gpu(void)
{
	uint64_t from[WORKS], to[WORKS];
	struct placed s[N];
	uint32_t wrong = 0, busy = 0;

	for (uint32_t i = 0; i < WORKS; i++) {
		uint64_t stream = i / (WORKS / 3);

		from[i] = MS * (i % (WORKS / 3)) + rnd(MS) * (stream + 1);
		to[i] = from[i] + rnd(MS / 4);
		places_work(&p, from[i], to[i]);
	}
	for (uint32_t i = 0; i < N; i++)
		s[i] = (struct placed){ .ns = rnd(110 * MS), .track = 1, .of = i };
	places_find(&p, s, N, true);
	for (uint32_t i = 0; i < N; i++) {
		bool is = false, near = false;

		for (uint32_t k = 0; k < WORKS; k++) {
			is |= from[k] <= s[i].ns && s[i].ns < to[k];
			near |= to[k] <= s[i].ns && s[i].ns <= to[k] + SAMPLE_TICK_NS;
		}
		busy += is;
		wrong += !near && s[i].gpu != (is ? SAMPLE_GPU_BUSY : SAMPLE_GPU_IDLE);
	}
	T_OK(!wrong && busy > N / 10 && busy < N, "a GPU is busy while any stream works (%u of %u)",
	     busy, N);
	T_OK(look(5, 1, false).gpu == SAMPLE_GPU_UNKNOWN, "without a GPU that is not known");
	places_forget(&p, 1000 * MS);
	T_OK(!p.n, "what is not asked for any more is forgotten");
	places_fini(&p);
}

static void test_bounds(void)
{
	for (uint64_t i = 0; i < 3 * PLACE_SPANS; i++)
		places_work(&p, i * MS, i * MS + MS / 2);
	T_OK(p.n <= PLACE_SPANS, "work is forgotten above a limit");
	T_OK(look(MS / 4, 1, true).gpu == SAMPLE_GPU_UNKNOWN,
	     "then it is not known what there was");
	T_OK(look(3 * PLACE_SPANS * MS - MS, 1, true).gpu == SAMPLE_GPU_BUSY &&
		     look(3 * PLACE_SPANS * MS - MS / 4, 1, true).gpu == SAMPLE_GPU_IDLE,
	     "and the newest is");
	places_fini(&p);
	for (uint64_t i = 0; i < 1000; i++) /* kernels that follow each other at once */
		places_work(&p, i * 100000, i * 100000 + 99000);
	T_OK(p.n == 1, "work that touches is one");
	places_fini(&p);
	for (uint64_t i = 1000; i > 0; i--) /* operators within operators, inner ones first */
		places_range(&p, 1, MS * i, MS * (4000 - i), HOST_PART_BACKWARD);
	T_OK(p.n == 1, "and so are ranges of the same part");
	places_fini(&p);
}

int main(void)
{
	test_parts();
	test_stack();
	test_gpu();
	test_bounds();
	return t_done();
}
