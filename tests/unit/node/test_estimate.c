/* SPDX-License-Identifier: Apache-2.0 */
/* Slowdown from pairs of blocks: schedule, medians, intervals that hold at every look. */
#include "govern/estimate.h"

#include <math.h>
#include <string.h>

#include "t.h"

static uint64_t state = 1;

static double uniform(void)
{
	state = aon_trial_mix(state, 0);
	return (double)(state >> 11) / (double)(1ull << 53);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform() + 1e-18)) * cos(6.283185307179586 * uniform());
}

/* A job with what real ones have: noise that lasts, bursts, checkpoints. */
struct job {
	double base_ns, noise, ar;
	uint32_t burst;
};

static uint64_t job_step(struct job *j, uint64_t n, bool on, double slow)
{
	double ns = j->base_ns * (on ? 1 + slow : 1);

	j->ar = 0.7 * j->ar + 0.714 * j->noise * normal();
	if (!j->burst && uniform() < 1.0 / 300)
		j->burst = 15;
	ns *= exp(j->ar + 0.5 * j->noise * normal());
	if (j->burst) {
		j->burst--;
		ns *= 1.1;
	}
	if (n % 10 == 9)
		ns *= 1.1;
	if (n % 200 == 199)
		ns *= 4;
	return (uint64_t)ns;
}

static const struct aon_trial half = { .block = 5, .guard = 1 };

static void test_schedule(void)
{
	struct aon_trial t = { .block = 5, .guard = 1, .gap = 108, .duty = 4 };
	uint64_t seed = 4711, on = 0, measured[2] = { 0, 0 }, first_off = 0, pairs = 0;
	bool same = true, torn = false;

	for (uint64_t i = 0; i < 120000; i++) {
		struct aon_trial_at a = aon_trial_at(t, seed, i), b;

		b = aon_trial_at(aon_trial_of(aon_trial_word(t)), seed, i);
		same = same && a.off == b.off && a.pair == b.pair && a.measured == b.measured;
		on += !a.off;
		measured[a.off] += a.measured;
		if (i % 120 == 0) {
			pairs++;
			first_off += a.off;
		}
		/* a block is of one kind, and the two of a pair are not of the same */
		torn = torn || (a.in_pair && a.off != aon_trial_at(t, seed, i - i % 120 % 6).off);
		torn = torn || (i % 120 < 6 && a.off == aon_trial_at(t, seed, i + 6).off);
	}
	T_OK(same, "the word of the gate carries all of it");
	T_OK(!torn, "a block is all on or all off, and its twin the other");
	T_OK(measured[0] == 5000 && measured[1] == 5000, "as many steps are measured on as off");
	T_OK(first_off > 430 && first_off < 570, "the coin is fair: %lu of %lu",
	     (unsigned long)first_off, (unsigned long)pairs);
	T_OK(fabs((double)on / 120000 - aon_trial_share(t)) < 0.01, "on %.3f of %.3f",
	     (double)on / 120000, aon_trial_share(t));
	T_OK(!aon_trial_at((struct aon_trial){ 0 }, 1, 77).off, "nothing asked: nothing off");
	t = (struct aon_trial){ .gap = 1, .duty = 3 };
	for (on = 0, first_off = 0; first_off < 30000; first_off++)
		on += !aon_trial_at(t, 5, first_off).off;
	T_OK(on > 9600 && on < 10400, "a duty without pairs: %lu of 30000", (unsigned long)on);
}

static void test_meter(void)
{
	struct trial_meter m;
	struct pair p = { 0 };
	uint64_t whole = 0;
	bool right = true;

	meter_init(&m, half, 9);
	for (uint64_t i = 0; i < 1200; i++) {
		bool off = aon_trial_at(half, 9, i).off;

		if (meter_step(&m, i, off ? 1000000 : 1020000, &p)) {
			whole++;
			right = right && fabs(p.median - log(1.02)) < 1e-5 &&
				fabs(p.low - log(1.02)) < 1e-5 && fabs(p.mean - log(1.02)) < 1e-5;
		}
	}
	T_OK(whole == 100 && right && m.thrown == 0, "every pair says 2 %%");
	meter_init(&m, half, 9);
	whole = 0;
	for (uint64_t i = 0; i < 1200; i++) {
		if (i == 15)
			meter_spoil(&m);
		if (i == 28)
			continue; /* a step that nobody saw */
		whole += meter_step(&m, i, 1000000, &p);
	}
	T_OK(whole == 98 && m.thrown == 2, "a spoilt pair and one with a hole are thrown away: %lu",
	     (unsigned long)whole);
}

static void test_recovers(double slow, double noise, uint64_t steps)
{
	struct job j = { .base_ns = 10e6, .noise = noise };
	static struct estimate e;
	struct interval r;
	struct trial_meter m;
	struct pair p;

	meter_init(&m, half, 3);
	estimate_init(&e);
	for (uint64_t i = 0; i < steps; i++) {
		bool on = !aon_trial_at(half, 3, i).off;

		if (meter_step(&m, i, job_step(&j, i, on, slow), &p))
			estimate_add(&e, p.median);
	}
	r = estimate_at(&e, 0.05);
	T_OK(fabs(r.mid - slow) < 0.003 && r.lo <= slow && r.hi >= slow && r.known,
	     "%.1f %% under %.1f %% of noise: %.2f %% [%.2f, %.2f] after %lu steps", 100 * slow,
	     100 * noise, 100 * r.mid, 100 * r.lo, 100 * r.hi, (unsigned long)steps);
}

/* Who looks after every pair must not be fooled more often than alpha says. */
static void test_covers(void)
{
	static struct estimate e;
	uint32_t fooled = 0, runs = 60;

	for (uint32_t k = 0; k < runs; k++) {
		struct job j = { .base_ns = 10e6, .noise = 0.02 };
		struct trial_meter m;
		struct pair p;
		bool out = false;

		meter_init(&m, half, k);
		estimate_init(&e);
		for (uint64_t i = 0; i < 2400; i++) {
			bool on = !aon_trial_at(half, k, i).off;
			struct interval r;

			if (!meter_step(&m, i, job_step(&j, i, on, 0.01), &p))
				continue;
			estimate_add(&e, p.median);
			r = estimate_at(&e, 0.05);
			out = out || r.lo > 0.0101 || r.hi < 0.0099;
		}
		fooled += out;
	}
	T_OK(fooled <= 6, "looked at 200 times, the interval ever left the truth in %u of %u runs",
	     fooled, runs);
}

/* What recording costs comes and goes with a time constant of so many steps; 0: at once. */
static struct interval lag_of(double tau)
{
	static const struct aon_trial t = { .block = 20, .guard = 1 };
	static struct estimate e;
	struct trial_meter m;
	double cost = 0;

	meter_init(&m, t, 99);
	estimate_init(&e);
	for (uint64_t i = 0; i < 300ull * 42; i++) {
		double to = aon_trial_at(t, 99, i).off ? 0 : 0.05;
		struct pair p;

		cost = tau > 0 ? cost + (to - cost) / tau : to;
		if (meter_step(&m, i, (uint64_t)(1e7 * (1 + cost) * exp(0.01 * normal())), &p))
			estimate_add(&e, p.lag);
	}
	return estimate_at(&e, 0.05);
}

static void test_lag(void)
{
	struct interval at_once = lag_of(0), slowly = lag_of(10);

	T_OK(at_once.known && at_once.lo <= 0 && at_once.hi >= 0,
	     "a cost that is there at once leaves nothing behind");
	T_OK(slowly.lo > 0.001,
	     "a cost that comes and goes slowly is told by the halves of blocks");
}

static void test_edges(void)
{
	static struct estimate e;
	struct interval r;

	estimate_init(&e);
	r = estimate_at(&e, 0.05);
	T_OK(!r.known && r.over && r.under && estimate_noise(&e) == 0, "nothing is known at first");
	for (int i = 0; i < 100; i++)
		estimate_add(&e, 0.5 + 0.001 * (i % 3));
	r = estimate_at(&e, 0.05);
	T_OK(r.known && r.over, "more than is thought possible reads as at least the most");
	estimate_init(&e);
	for (int i = 0; i < 100; i++)
		estimate_add(&e, i % 2 ? NAN : 0.02);
	r = estimate_at(&e, 0.05);
	T_OK(e.pairs == 50 && r.known && fabs(r.mid - expm1(0.02)) < 0.0003,
	     "pairs that are no number are left out; equal ones are no trouble");
}

int main(void)
{
	test_schedule();
	test_meter();
	test_recovers(0.005, 0.01, 60000);
	test_recovers(0.01, 0.01, 60000);
	test_recovers(0.05, 0.01, 60000);
	test_recovers(0.01, 0.02, 60000);
	test_recovers(0, 0.01, 60000);
	test_covers();
	test_lag();
	test_edges();
	return t_done();
}
