/* SPDX-License-Identifier: Apache-2.0 */
/* The clock map against simulated clocks: drift, slewing, jitter, steps, long silences. */
#include "agg/clock.h"

#include <errno.h>
#include <stdbool.h>

#include "t.h"

#define S   1000000000ull
#define T0  (77 * S)
#define TSC 5000000000000ull

static uint64_t seed = 42;

static uint64_t rnd(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

/* A TSC of `hz`, off by `ppm` from the second second on; updates each `every` ns. */
static const struct {
	const char *name;
	double hz, ppm, wave_ppm;
	uint64_t every, jitter;
	double most_ns; /* error after the line had 30 updates to settle */
} cases[] = {
	/* clang-format off */
	/* name                          hz     ppm  wave      every  jitter  most */
	{ "a perfect clock",          2.445e9,    0,    0,         S,      0,     5 },
	{ "a clock of 1 GHz",             1e9,    0,    0,         S,      0,     5 },
	{ "an ARM timer of 25 MHz",      25e6,    0,    0,         S,      0,   150 },
	{ "slewed by 500 ppm",        2.445e9,  500,    0,         S,      0,    10 },
	{ "slewed by -500 ppm",       3.000e9, -500,    0,         S,      0,    10 },
	/* A step of the rate by 200 ppm cannot be known before the next moment. */
	{ "swinging by 100 ppm",      2.445e9,    0,  100,         S,      0,200010 },
	{ "read with 20 us of jitter",2.445e9,   20,    0,         S,  20000, 80000 },
	{ "updated ten times as often",2.445e9,  20,    0,    S / 10,   1000, 20000 },
	{ "updated once a minute",    2.445e9,   50,    0,    60 * S,   1000,  5000 },
	/* clang-format on */
};

/* True time goes on evenly in steps; what the TSC says at each is summed up. */
struct sim {
	double tsc, hz;
	uint64_t ns;
};

static void sim_run(struct sim *s, uint64_t ns, double ppm)
{
	s->tsc += s->hz * (1 + ppm * 1e-6) * (double)ns / 1e9;
	s->ns += ns;
}

static double off(const struct clock_map *c, const struct sim *s)
{
	double d = (double)(int64_t)(clock_map_ns(c, (uint64_t)s->tsc) - s->ns);

	return d < 0 ? -d : d;
}

static void check(size_t k)
{
	struct sim s = { (double)TSC, cases[k].hz, T0 };
	struct clock_map c, old;
	double worst = 0;
	uint64_t back = 0, last = 0, a = (uint64_t)s.tsc;
	int err;

	sim_run(&s, S, 0);
	err = clock_map_init(&c, a, T0, (uint64_t)s.tsc, s.ns);
	for (int i = 0; i < 120; i++) {
		double ppm = cases[k].ppm + cases[k].wave_ppm * ((i / 10) % 2 ? 1 : -1);

		for (int j = 0; j < 20; j++) {
			uint64_t now = clock_map_ns(&c, (uint64_t)s.tsc);

			back += now < last;
			last = now;
			sim_run(&s, cases[k].every / 20, ppm);
			if (i > 30 && off(&c, &s) > worst)
				worst = off(&c, &s);
		}
		old = c;
		err |= clock_map_update(&c, (uint64_t)s.tsc, s.ns + rnd() % (cases[k].jitter + 1));
		/* Records of the last second are read after the bend: no time changes under them. */
		for (uint64_t t = 0; t < cases[k].every; t += cases[k].every / 8) {
			uint64_t tsc = (uint64_t)(s.tsc - (double)t * s.hz / 1e9);
			int64_t d = (int64_t)(clock_map_ns(&c, tsc) - clock_map_ns(&old, tsc));

			back += d < -2 || d > 2;
		}
	}
	T_OK(!err, "%s: the TSC is steady", cases[k].name);
	T_OK(back == 0, "%s: no time runs backwards or changes", cases[k].name);
	T_OK(worst <= cases[k].most_ns, "%s: within %.0f ns (worst %.0f)", cases[k].name,
	     cases[k].most_ns, worst);
}

/* What may not be followed: the map must be as before. `dtsc` and `dns` from the last moment. */
static const struct {
	const char *name;
	int64_t dtsc, dns;
} steps[] = {
	{ "a TSC that steps back", -1, (int64_t)S },
	{ "a TSC that stands still", 0, (int64_t)S },
	{ "a TSC reset to near 0", -(int64_t)TSC, (int64_t)S },
	{ "a TSC that ran through a suspend", 3600 * 1000000000ll, 1000 },
	{ "a TSC that ran while the clock stood", 3000000000ll, 0 },
	{ "a TSC at half its rate", 500000000, (int64_t)S },
	{ "a TSC 1 % fast over a minute", 60600000000, (int64_t)(60 * S) },
	{ "a TSC that jumps by a day", 86401 * 1000000000ll, (int64_t)S },
	{ "a clock that steps back", 1000000000, -(int64_t)S },
	{ "a TSC that jumps to the end of time", INT64_MAX, (int64_t)S },
};

static void check_steps(void)
{
	struct clock_map c, was;

	for (size_t i = 0; i < T_LEN(steps); i++) {
		clock_map_init(&c, TSC, T0, TSC + S, T0 + S);
		was = c;
		T_OK(clock_map_update(&c, TSC + S + (uint64_t)steps[i].dtsc,
				      T0 + S + (uint64_t)steps[i].dns) == -ERANGE &&
			     c.tsc0 == was.tsc0 && c.ns0 == was.ns0 && c.mult == was.mult,
		     "%s is refused and changes nothing", steps[i].name);
	}
	T_OK(clock_map_update(&c, TSC + S + 1000, T0 + S + 1000) == 0 && c.tsc0 == was.tsc0,
	     "a moment too near to the last is passed over");
	T_OK(clock_map_update(&c, TSC + 11 * S, T0 + 11 * S) == 0 && c.tsc0 == TSC + 11 * S,
	     "and one after a silence is followed");
}

static void check_init(void)
{
	struct clock_map c = { .hz = 5 };

	T_OK(clock_map_init(&c, 10, 10, 10, S) == -ERANGE &&
		     clock_map_init(&c, 10, S, 20, 10) == -ERANGE &&
		     clock_map_init(&c, 10, 10, 20, 10) == -ERANGE && c.hz == 5,
	     "two moments that do not move on are refused");
	T_OK(clock_map_init(&c, 0, 0, 1, S) == -ERANGE &&
		     clock_map_init(&c, 0, 0, 1000 * S, 1) == -ERANGE,
	     "so are rates that no TSC has");
	T_OK(clock_map_init(&c, TSC, T0, TSC + 2 * S, T0 + S) == 0 && c.hz == 2 * S,
	     "two moments give the rate");
	T_OK(clock_map_ns(&c, TSC) == T0 && clock_map_ns(&c, TSC + 4 * S) == T0 + 2 * S,
	     "the line goes through both and on");
}

int main(void)
{
	check_init();
	for (size_t i = 0; i < T_LEN(cases); i++)
		check(i);
	check_steps();
	return t_done();
}
