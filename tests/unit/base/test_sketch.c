/* SPDX-License-Identifier: Apache-2.0 */
/* Sketches against the sorted values: quantiles within 1 %, merging, extremes. */
#include "base/sketch.h"

#include <errno.h>
#include <stdbool.h>

#include "t.h"

#define N 20000u

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t constant(void)
{
	return 1234567;
}

static uint64_t small(void)
{
	return rnd() % 100;
}

static uint64_t uniform(void)
{
	return 1000 + rnd() % 1000000;
}

/* Every octave equally likely. */
static uint64_t octaves(void)
{
	return rnd() >> (rnd() % 64);
}

static uint64_t two_peaks(void)
{
	return (rnd() % 10 ? 5000 : 90000000) + rnd() % 300;
}

static uint64_t heavy_tail(void)
{
	return 1000000000000ull / (1 + rnd() % 1000000);
}

static uint64_t top(void)
{
	return UINT64_MAX - rnd() % 1000;
}

static const struct {
	const char *name;
	uint64_t (*draw)(void);
} shapes[] = {
	{ "a constant", constant }, { "small integers", small }, { "uniform", uniform },
	{ "all octaves", octaves }, { "two peaks", two_peaks },  { "a heavy tail", heavy_tail },
	{ "the top of u64", top },
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool within(uint64_t got, uint64_t want)
{
	double off = got > want ? (double)(got - want) : (double)(want - got);

	return off <= 0.01 * (double)want;
}

static void check_shape(size_t k)
{
	static const double qs[] = { 0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1 };
	static uint64_t v[N];
	struct sketch s = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < N; i++) {
		v[i] = shapes[k].draw();
		err |= sketch_add(&s, v[i], 1);
	}
	qsort(v, N, sizeof(v[0]), by_value);
	T_OK(!err && s.count == N, "%s: all are counted", shapes[k].name);
	for (size_t i = 0; i < T_LEN(qs); i++) {
		uint64_t rank = (uint64_t)(qs[i] * N + 0.999999), got = sketch_quantile(&s, qs[i]);
		uint64_t want = v[rank ? rank - 1 : 0];

		T_OK(within(got, want), "%s: quantile %g is within 1 %% (%llu, exact %llu)",
		     shapes[k].name, qs[i], (unsigned long long)got, (unsigned long long)want);
	}
	sketch_fini(&s);
}

/* Equal in what they count; the spans that they hold may differ. */
static bool same(const struct sketch *a, const struct sketch *b)
{
	for (uint32_t i = 0; i < SKETCH_CELLS; i++) {
		uint32_t x = i - a->base < a->span ? a->cell[i - a->base] : 0;
		uint32_t y = i - b->base < b->span ? b->cell[i - b->base] : 0;

		if (x != y)
			return false;
	}
	return a->count == b->count;
}

static void check_merge(void)
{
	struct sketch part[3] = { 0 }, all = { 0 }, left = { 0 }, right = { 0 }, tail = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < N; i++) {
		uint64_t v = shapes[i % T_LEN(shapes)].draw();

		err |= sketch_add(&part[rnd() % 3], v, 1 + i % 3);
		seed ^= i;
	}
	/* (0 + 1) + 2, and 2 + (1 + 0) into another. */
	err |= sketch_merge(&left, &part[0]) | sketch_merge(&left, &part[1]);
	err |= sketch_merge(&left, &part[2]);
	err |= sketch_merge(&tail, &part[1]) | sketch_merge(&tail, &part[0]);
	err |= sketch_merge(&right, &part[2]) | sketch_merge(&right, &tail);
	T_OK(!err && same(&left, &right), "merging does not care for order or grouping");
	T_OK(left.count == part[0].count + part[1].count + part[2].count,
	     "merging adds the counts");
	err = sketch_merge(&left, &all);
	T_OK(!err && same(&left, &right), "merging an empty sketch changes nothing");
	err = sketch_merge(&right, &right) | sketch_merge(&left, &left);
	T_OK(!err && same(&left, &right), "a sketch may be merged into itself");
	for (int i = 0; i < 3; i++)
		sketch_fini(&part[i]);
	sketch_fini(&left);
	sketch_fini(&right);
	sketch_fini(&tail);
}

static void check_cells(void)
{
	uint32_t bad_order = 0, bad_home = 0;

	for (uint32_t i = 0; i < SKETCH_CELLS; i++) {
		bad_home += sketch_index(sketch_value(i)) != i;
		bad_order += i && sketch_value(i) <= sketch_value(i - 1);
	}
	T_OK(bad_home == 0, "the value of a cell lies in that cell, for all %u", SKETCH_CELLS);
	T_OK(bad_order == 0, "values rise with cells");
	T_OK(sketch_index(0) == 0 && sketch_index(UINT64_MAX) == SKETCH_CELLS - 1,
	     "the first and the last value have the first and the last cell");
	for (uint64_t v = 0; v < 128; v++)
		bad_home += sketch_value(sketch_index(v)) != v;
	T_OK(bad_home == 0, "values below 128 are exact");
}

static void check_extremes(void)
{
	struct sketch s = { 0 };
	struct sketch lie = { NULL, SKETCH_CELLS - 1, 2, 0 };
	int err;

	T_OK(sketch_quantile(&s, 0.5) == 0, "an empty sketch says 0");
	err = sketch_add(&s, 1, 1) | sketch_add(&s, 2, 1) | sketch_add(&s, 3, 1);
	T_OK(!err && sketch_quantile(&s, 0.5) == 2 && sketch_quantile(&s, 0.34) == 2 &&
		     sketch_quantile(&s, 0.33) == 1,
	     "the median of 1, 2, 3 is 2");
	sketch_fini(&s);
	err = sketch_add(&s, 7, UINT32_MAX) | sketch_add(&s, 7, 5);
	T_OK(!err && s.cell[7 - s.base] == UINT32_MAX, "a full cell stays full");
	T_OK(s.count == (uint64_t)UINT32_MAX + 5, "the count goes on beyond a full cell");
	T_OK(sketch_quantile(&s, 1) == 7, "a full cell still has its quantile");
	err = sketch_add(&s, UINT64_MAX, 1) | sketch_add(&s, 0, 1);
	T_OK(!err && s.span == SKETCH_CELLS, "one sketch holds 0 and the top of u64");
	T_OK(sketch_quantile(&s, 0) == 0 && within(sketch_quantile(&s, 1), UINT64_MAX),
	     "quantiles 0 and 1 are the least and the greatest");
	T_OK(sketch_quantile(&s, -1) == 0 && within(sketch_quantile(&s, 7), UINT64_MAX),
	     "shares outside 0..1 are cut");
	T_OK(sketch_add_cell(&s, SKETCH_CELLS, 1) == -EINVAL, "a cell beyond the last is refused");
	T_OK(sketch_merge(&s, &lie) == -EINVAL, "a sketch beyond the last cell is refused");
	sketch_fini(&s);
	T_OK(!s.cell && !s.span && !s.count, "fini leaves an empty sketch");
}

int main(void)
{
	for (size_t i = 0; i < T_LEN(shapes); i++)
		check_shape(i);
	check_merge();
	check_cells();
	check_extremes();
	return t_done();
}
