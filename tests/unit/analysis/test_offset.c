/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of nodes differ by what the ends of their exchanges say, with an error that holds. */
#include <errno.h>
#include <stdlib.h>

#include "insight/offset.h"
#include "t.h"

#define S   1000000000ll
#define US  1000ll
#define MAX 200000

static struct offset_end e[MAX];
static size_t n;

static uint64_t noise(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Exchange `what` at true time t: each node of [from, to) leaves up to 40 us later than it might. */
static void exchange(uint64_t what, int64_t t, uint32_t from, uint32_t to, const int64_t *off,
		     const double *drift)
{
	for (uint32_t i = from; i < to; i++)
		for (int rank = 0; rank < 2; rank++) {
			int64_t at = t + (int64_t)(noise() % (40 * US));

			e[n++] = (struct offset_end){
				what, i,
				at + off[i] + (drift ? (int64_t)(drift[i] * (double)at) : 0)
			};
		}
}

static int64_t wrong(const struct offset *o, int64_t truth)
{
	int64_t d = o->off_ns - truth;

	return d < 0 ? -d : d;
}

static void test_skew(void)
{
	const int64_t off[4] = { 0, 600 * S, -600 * S, 1234567 };
	struct offset o[4];
	bool ok = true;

	n = 0;
	for (uint64_t i = 0; i < 500; i++)
		exchange(i, 1000 * S + (int64_t)i * S / 10, 0, 4, off, NULL);
	T_OK(offset_find(o, 4, e, n) == 0, "four nodes");
	for (int i = 1; i < 4; i++)
		ok = ok && o[i].known && wrong(&o[i], off[i]) <= o[i].err_ns &&
		     o[i].err_ns < 100 * US && o[i].pairs == 500;
	T_OK(ok, "ten minutes apart, to some microseconds: %lld %lld %lld",
	     (long long)wrong(&o[1], off[1]), (long long)wrong(&o[2], off[2]),
	     (long long)wrong(&o[3], off[3]));
	T_OK(o[0].known && !o[0].off_ns && !o[0].err_ns,
	     "the first is what others are held against");
	T_OK(o[1].err_ns >= OFFSET_FLOOR_NS, "no error is below the completion skew");
}

static void test_drift(void)
{
	const int64_t off[2] = { 0, 5 * S };
	const double drift[2] = { 0, 50e-6 };
	struct offset o[2];
	int64_t begin = 100 * S, end = 400 * S, truth;

	n = 0;
	for (uint64_t i = 0; i < 300; i++)
		exchange(i, begin + (int64_t)i * S, 0, 2, off, drift);
	offset_find(o, 2, e, n);
	T_OK(o[1].drift > 45e-6 && o[1].drift < 55e-6, "clocks that run apart: %.1f ppm",
	     o[1].drift * 1e6);
	truth = off[1] + (int64_t)(50e-6 * (double)end);
	truth -= offset_at(&o[1], end + truth);
	T_OK(llabs(truth) < 200 * US, "and what that comes to at the end: off by %lld ns",
	     (long long)truth);
}

static void test_tree(void)
{
	const int64_t off[6] = { 0, 3 * S, -7 * S, 11 * S, 500, 1 };
	struct offset o[6];

	/* 0-1, 1-2 and 2-3 share exchanges, 4 only once, 5 never. */
	n = 0;
	for (uint64_t i = 0; i < 100; i++) {
		exchange(3 * i, (int64_t)i * S, 0, 2, off, NULL);
		exchange(3 * i + 1, (int64_t)i * S, 1, 3, off, NULL);
		exchange(3 * i + 2, (int64_t)i * S, 2, 4, off, NULL);
	}
	exchange(100000, S, 3, 5, off, NULL);
	offset_find(o, 6, e, n);
	T_OK(o[3].known && wrong(&o[3], off[3]) <= o[3].err_ns,
	     "along a chain of communicators: %lld", (long long)wrong(&o[3], off[3]));
	T_OK(o[3].err_ns >= 3 * OFFSET_FLOOR_NS && o[3].err_ns > o[1].err_ns, "errors add up");
	T_OK(!o[4].known && !o[5].known, "who shares too little, or nothing, has none");
}

static void test_missing(void)
{
	const int64_t off[3] = { 0, 42 * S, -1 * S };
	struct offset o[3];

	n = 0;
	for (uint64_t i = 0; i < 300; i++) {
		size_t was = n;

		exchange(i, (int64_t)i * S, 0, 3, off, NULL);
		if (i % 3 == 0) /* records of the others are lost */
			n = was + 2;
		if (i % 50 == 7) /* one that is no match: a number that began anew */
			e[n - 1].ns += 1000 * S;
	}
	T_OK(offset_find(o, 3, e, n) == 0 && o[1].known && wrong(&o[1], off[1]) <= o[1].err_ns &&
		     o[2].known && wrong(&o[2], off[2]) <= o[2].err_ns,
	     "with ranks missing, and some that do not fit");
	e[0].node = 3;
	T_OK(offset_find(o, 3, e, n) == -EINVAL, "a node that is none");
	T_OK(offset_find(o, 1, e, 0) == 0 && o[0].known, "nothing at all");
}

int main(void)
{
	test_skew();
	test_drift();
	test_tree();
	test_missing();
	return t_done();
}
