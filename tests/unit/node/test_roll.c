/* SPDX-License-Identifier: Apache-2.0 */
/* Rollups against a plain sum of the same events, windows in and out of order, and the bounds. */
#include "agg/roll.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "t.h"

#define S      WINDOW_NS
#define SECS   12u
#define TRACKS 3u
#define NAMES  5u
#define OTHER  777u

static uint64_t seed = 7;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* What came out, added up by (second, track, name, kind). */
#define ROWS (SECS * TRACKS * NAMES * EVENT_MAX)
static struct rollup sums[ROWS], want[ROWS];
static uint64_t windows, rows, out_of_place, total;
static uint64_t window_start[64];

static struct rollup *at(struct rollup *all, uint64_t sec, uint32_t track, uint32_t name,
			 uint32_t kind)
{
	return &all[((sec * TRACKS + track) * NAMES + name) * EVENT_MAX + kind];
}

static void clear(struct rollup *all)
{
	for (uint32_t i = 0; i < ROWS; i++)
		sketch_fini(&all[i].sketch);
	memset(all, 0, ROWS * sizeof(*all));
}

static void sum(struct rollup *to, const struct rollup *r)
{
	if (!to->count || r->min_ns < to->min_ns)
		to->min_ns = r->min_ns;
	if (r->max_ns > to->max_ns)
		to->max_ns = r->max_ns;
	to->count += r->count;
	to->total_ns += r->total_ns;
	to->bytes += r->bytes;
	if (sketch_merge(&to->sketch, &r->sketch))
		abort();
}

static void gather(void *arg, const struct window *w)
{
	(void)arg;
	window_start[windows++ % 64] = w->start_ns;
	rows += w->rows;
	out_of_place += w->rows == 0 || w->process != 5 || w->start_ns % S != 0;
	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *r = &w->row[i];

		total += r->count;
		out_of_place += r->count == 0;
		if (w->start_ns / S < SECS && r->track < TRACKS && r->name < NAMES)
			sum(at(sums, w->start_ns / S, r->track, r->name, r->kind), r);
		else
			out_of_place++;
	}
}

static void reset(void)
{
	clear(sums);
	windows = rows = out_of_place = total = 0;
}

static struct roll *new_roll(uint32_t rows_max)
{
	struct roll_opts o = { .process = 5, .rows_max = rows_max, .name_other = OTHER };
	struct roll *r;

	reset();
	if (roll_new(&r, &o))
		abort();
	return r;
}

static bool same(const struct rollup *a, const struct rollup *b)
{
	if (a->count != b->count || a->total_ns != b->total_ns || a->min_ns != b->min_ns ||
	    a->max_ns != b->max_ns || a->bytes != b->bytes || a->sketch.count != b->sketch.count)
		return false;
	for (uint32_t i = 0; i < SKETCH_CELLS; i++) {
		const struct sketch *x = &a->sketch, *y = &b->sketch;

		if ((i - x->base < x->span ? x->cell[i - x->base] : 0) !=
		    (i - y->base < y->span ? y->cell[i - y->base] : 0))
			return false;
	}
	return true;
}

static struct event random_event(uint64_t end_ns)
{
	static const uint8_t kind[] = { EVENT_RANGE, EVENT_STEP,       EVENT_KERNEL, EVENT_KERNEL,
					EVENT_COPY,  EVENT_COLLECTIVE, EVENT_MARK,   EVENT_FLOW };
	struct event e = { .name = (uint32_t)(rnd() % NAMES), .track = (uint32_t)(rnd() % TRACKS) };

	e.kind = kind[rnd() % sizeof(kind)];
	e.a = rnd() % 1000;
	if (e.kind != EVENT_MARK && e.kind != EVENT_FLOW)
		e.dur_ns = (rnd() % 20 ? 5000 * (e.name + 1) + rnd() % 100 : rnd() >> rnd() % 40);
	e.dur_ns %= end_ns;
	e.start_ns = end_ns - e.dur_ns;
	if (e.kind == EVENT_STEP)
		e.b = 1 + e.a % 3;
	return e;
}

static void expect(const struct event *e)
{
	struct rollup *r = at(want, (e->start_ns + e->dur_ns) / S, e->track, e->name, e->kind);
	struct rollup one = { .count = 1, .total_ns = e->dur_ns };

	one.min_ns = one.max_ns = e->dur_ns;
	if (e->kind == EVENT_COPY || e->kind == EVENT_COLLECTIVE)
		one.bytes = e->a;
	else if (e->kind == EVENT_STEP)
		one.bytes = e->dur_ns * e->b;
	sum(r, &one);
	if (e->kind != EVENT_MARK && e->kind != EVENT_FLOW && sketch_add(&r->sketch, e->dur_ns, 1))
		abort();
}

/* `spread`: how far, in seconds, events come out of order. */
static void check_random(uint32_t spread, const char *what)
{
	enum { N = 200000 };
	struct roll *r = new_roll(200);
	uint64_t differ = 0;

	clear(want);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t now = 1 + i * (SECS - spread) * S / N;
		struct event e = random_event(now + (spread ? rnd() % (spread * S) : 0));

		expect(&e);
		roll_add(r, &e, 1, gather, NULL);
	}
	roll_close(r, UINT64_MAX, gather, NULL);
	for (uint32_t i = 0; i < ROWS; i++)
		differ += !same(&want[i], &sums[i]);
	T_OK(differ == 0 && out_of_place == 0 && total == N,
	     "%s: every sum and every sketch is that of the events (%llu pieces)", what,
	     (unsigned long long)windows);
	roll_free(r);
}

static void add(struct roll *r, uint64_t end_ns, uint32_t name, uint64_t dur_ns)
{
	struct event e = {
		.start_ns = end_ns - dur_ns, .dur_ns = dur_ns, .name = name, .kind = EVENT_KERNEL
	};

	roll_add(r, &e, 1, gather, NULL);
}

static void check_windows(void)
{
	struct roll *r = new_roll(100);

	add(r, 2 * S, 1, 100);
	add(r, 3 * S - 1, 1, 100);
	add(r, 3 * S, 1, 100);
	roll_close(r, 3 * S - 1, gather, NULL);
	T_OK(windows == 0, "a window is open until it has ended");
	roll_close(r, 3 * S, gather, NULL);
	T_OK(windows == 1 && window_start[0] == 2 * S && total == 2,
	     "an event belongs to the second in which it ends");
	add(r, 2 * S + 5, 1, 100);
	roll_close(r, UINT64_MAX, gather, NULL);
	T_OK(windows == 3 && window_start[1] == 2 * S && window_start[2] == 3 * S && total == 4,
	     "a late event makes another piece of its window; windows close in order");
	roll_close(r, UINT64_MAX, gather, NULL);
	T_OK(windows == 3, "there is nothing to close twice");
	roll_free(r);

	r = new_roll(100);
	for (uint64_t s = 1; s <= 5; s++)
		add(r, s * S, 1, 1);
	T_OK(windows == 1 && window_start[0] == S,
	     "a fifth second closes the one unused for longest");
	roll_free(r);

	r = new_roll(100);
	for (uint64_t s = 0; s < 9; s++)
		add(r, INT64_MAX - s * S, 1, 1);
	for (uint64_t i = 0; i < 4000; i++)
		add(r, (1 + i % 3) * S + i, 1, 1);
	roll_close(r, 9 * S, gather, NULL);
	T_OK(windows <= 12 && at(sums, 1, 0, 1, EVENT_KERNEL)->count == 1334,
	     "events that claim the far future do not hold places (%llu pieces)",
	     (unsigned long long)windows);
	roll_free(r);
}

static uint64_t other_count, other_rows, most_rows;

static void count_other(void *arg, const struct window *w)
{
	(void)arg;
	most_rows = w->rows > most_rows ? w->rows : most_rows;
	for (uint32_t i = 0; i < w->rows; i++) {
		total += w->row[i].count;
		if (w->row[i].name == OTHER) {
			other_rows++;
			other_count += w->row[i].count;
		}
	}
}

static void check_bounds(void)
{
	struct roll *r = new_roll(50);
	struct event e = { .start_ns = S, .dur_ns = 1, .kind = EVENT_KERNEL };

	for (e.name = 1000; e.name < 2000; e.name++) {
		e.kind = e.name % 2 ? EVENT_KERNEL : EVENT_COPY;
		roll_add(r, &e, 1, count_other, NULL);
	}
	roll_close(r, UINT64_MAX, count_other, NULL);
	T_OK(total == 1000 && most_rows == 52 && other_rows == 2 && other_count == 950,
	     "names beyond rows_max go into one row of each kind");
	roll_free(r);
	roll_free(NULL);

	r = new_roll(UINT32_MAX);
	total = other_rows = other_count = most_rows = 0;
	for (e.name = 1000; e.name < 71000; e.name++) {
		e.kind = EVENT_KERNEL;
		roll_add(r, &e, 1, count_other, NULL);
	}
	roll_close(r, UINT64_MAX, count_other, NULL);
	T_OK(total == 70000 && most_rows == 65504 && other_rows == 1 &&
		     other_count == 70000 - 65503,
	     "no more rows than can be numbered, whatever rows_max says");
	roll_free(r);

	/* Two ends of time in each row: the widest sketches there are. */
	r = new_roll(100);
	for (uint32_t i = 0; i < 3000; i++)
		for (uint32_t k = 0; k < 2; k++) {
			e = (struct event){ .start_ns = 1, .name = i % 100, .kind = EVENT_RANGE };
			e.dur_ns = k ? 1 : S - 2;
			roll_add(r, &e, 1, count_other, NULL);
		}
	total = 0;
	roll_close(r, UINT64_MAX, count_other, NULL);
	T_OK(total > 0 && total < 6000,
	     "a window whose memory is used up goes on as another piece");
	roll_free(r);
}

/* 70,000 of one duration pass 16 bits; the two neighbours do not. */
static void check_wide(void)
{
	struct roll *r = new_roll(10);
	const struct sketch *s = &at(sums, 1, 0, 1, EVENT_KERNEL)->sketch;

	add(r, S + 9000, 1, 4000);
	add(r, S + 9000, 1, 9000);
	for (int i = 0; i < 70000; i++)
		add(r, S + 5000, 1, 5000);
	roll_close(r, UINT64_MAX, gather, NULL);
	T_OK(windows == 1 && s->count == 70002 && s->cell[sketch_index(5000) - s->base] == 70000 &&
		     s->cell[sketch_index(4000) - s->base] == 1 &&
		     s->cell[sketch_index(9000) - s->base] == 1,
	     "a cell counts on beyond 65,535");
	roll_free(r);
}

/* min_ns and max_ns of a counter are its values as signed integers. */
static const struct {
	const char *name;
	bool is_float;
	double f[2];
	int64_t i[2];
	int64_t min, max;
} counters[] = {
	{ "integers", false, { 0 }, { -5, 3 }, -5, 3 },
	{ "the ends of i64", false, { 0 }, { INT64_MAX, INT64_MIN }, INT64_MIN, INT64_MAX },
	{ "doubles are rounded", true, { -1.6, 2.5 }, { 0 }, -2, 3 },
	{ "doubles out of range are cut", true, { -1e300, INFINITY }, { 0 }, INT64_MIN, INT64_MAX },
	{ "not a number counts as 0", true, { NAN, 4 }, { 0 }, 0, 4 },
};

static void check_counters(void)
{
	for (size_t i = 0; i < T_LEN(counters); i++) {
		struct roll *r = new_roll(10);
		const struct rollup *got = at(sums, 1, 1, 1, EVENT_COUNTER);

		for (int k = 0; k < 2; k++) {
			struct event e = {
				.start_ns = S, .kind = EVENT_COUNTER, .name = 1, .track = 1
			};

			e.flags = counters[i].is_float ? EVENT_FLOAT : 0;
			memcpy(&e.a,
			       counters[i].is_float ? (const void *)&counters[i].f[k]
						    : (const void *)&counters[i].i[k],
			       sizeof(e.a));
			roll_add(r, &e, 1, gather, NULL);
		}
		/* One window, one row: no adding up, which would compare as durations. */
		roll_close(r, UINT64_MAX, gather, NULL);
		T_OK(rows == 1 && got->count == 2 && (int64_t)got->min_ns == counters[i].min &&
			     (int64_t)got->max_ns == counters[i].max && got->sketch.count == 0,
		     "counters: %s", counters[i].name);
		roll_free(r);
	}
}

static void check_extremes(void)
{
	struct roll *r = new_roll(10);
	struct event e[2] = { { .start_ns = 1, .dur_ns = UINT64_MAX - 1, .kind = EVENT_RANGE },
			      { .start_ns = 2, .dur_ns = UINT64_MAX - 1, .kind = EVENT_RANGE } };

	total = 0;
	roll_add(r, e, 2, count_other, NULL);
	roll_close(r, UINT64_MAX, count_other, NULL);
	T_OK(total == 2, "durations up to the top of u64 are counted");
	roll_free(r);
}

int main(void)
{
	check_random(0, "in order");
	check_random(2, "up to 2 s out of order");
	check_random(8, "up to 8 s out of order");
	check_windows();
	check_bounds();
	check_wide();
	check_counters();
	check_extremes();
	reset();
	clear(want);
	return t_done();
}
