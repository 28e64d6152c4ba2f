/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals are right under any fidelity level: random programs, random walks between the fidelity levels, through the
 * trial, the weights, the windows and the estimator that the daemon and reports use. The mean over
 * many runs is the truth, and the truth lies in the interval as often as it says.
 */
#include "read/sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/trial.h"
#include "agg/roll.h"
#include "agg/weigh.h"
#include "govern/govern.h"
#include "insight/sampling_estimator.h"
#include "t.h"

enum { KERNELS = 4, LEFT = 100, UNSEEN, STEPS = 4000, RUNS = 200 };

static uint64_t steps = STEPS; /* of a run */

static uint64_t x;

static double uniform(void)
{
	x = x * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(x >> 11) + 0.5) / (double)(1ull << 53);
}

/* --- a program --- */

struct program {
	bool bursty; /* what kernels take hangs on what is recorded: a burst leads down the fidelity levels */
	bool async;  /* kernels run after the step that launched them */
	bool tracks; /* on three streams */
};

struct run {
	struct sampled sampled;
	struct sampled_sum sum[KERNELS];
	double seen[KERNELS], truth[KERNELS], count[KERNELS], true_count[KERNELS];
	struct weigh weigh;
	struct chosen chosen;
	double of_block[STEPS];
	double before; /* of all blocks */
	size_t hint;
	struct roll *roll;
	struct aon_trial trial;
	uint64_t seed;
	enum fidelity fidelity;
	uint64_t on, off;
};

static void on_window(void *arg, const struct window *w)
{
	struct run *r = arg;

	sampled_window(&r->sampled, w);
	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *u = &w->row[i];

		if (u->kind != EVENT_KERNEL)
			continue;
		r->seen[u->name - 1] += (double)u->total_ns;
		r->count[u->name - 1] += (double)u->count;
		sampled_add(&r->sampled, &r->sum[u->name - 1], u);
	}
}

/* Up or down, as budgets might lead; what aond chooses on each fidelity level (daemon/budget/cost.c). */
static void walk(struct run *r, bool down)
{
	static const enum fidelity levels[] = { FIDELITY_ALL, FIDELITY_HALF, FIDELITY_QUARTER,
						FIDELITY_TENTH };
	enum fidelity to = levels[down ? 2 + (int)(2 * uniform()) : (int)(4 * uniform())];

	r->fidelity = to;
	r->trial = (struct aon_trial){ .block = 5, .guard = 1, .duty = fidelity_table[to].duty };
	if (fidelity_table[to].duty > 1 || uniform() < 0.5)
		r->trial.gap = 18 * 6;
}

static uint32_t weight(const struct run *r, uint64_t number)
{
	struct aon_trial_at at = aon_trial_at(r->trial, r->seed, number);

	return at.off ? 0 : aon_trial_weight(r->trial, at);
}

/* The sums that a sweep over events has. */
static void in_block(struct run *r, const struct event *e)
{
	size_t at = chosen_at(&r->chosen, &r->hint, e->start_ns);

	*(at == CHOSEN_NONE ? &r->before : &r->of_block[at]) += (double)e->dur_ns;
}

static void kernels(struct run *r, const struct program *p, uint64_t at, double load, bool on)
{
	for (uint32_t k = 0; k < KERNELS; k++) {
		unsigned times = k == 3 ? uniform() < 0.1 : 1 + k; /* one is rare */

		for (unsigned i = 0; i < times; i++) {
			double ns = 1e5 * (k + 1) * load * (0.7 + 0.6 * uniform());
			struct event e = { .kind = EVENT_KERNEL,
					   .name = k + 1,
					   .track = 2 + (p->tracks ? (uint32_t)(3 * uniform()) : 0),
					   .start_ns = at + (p->async ? 12000000 : 0),
					   .dur_ns = (uint64_t)ns };

			r->truth[k] += (double)e.dur_ns;
			r->true_count[k]++;
			if (on && k == 0)
				in_block(r, &e);
			if (on)
				roll_add_many(r->roll, &e, weigh_at(&r->weigh, e.start_ns),
					      on_window, r);
		}
	}
}

static void step(struct run *r, const struct program *p, uint64_t number, uint64_t *now)
{
	double load = 1 + 0.3 * sin((double)number / 300);
	bool burst = p->bursty && number % 1000 > 600;
	struct event e = { .kind = EVENT_STEP, .track = 1, .start_ns = *now, .a = number };
	uint32_t w, next;

	if (number % 250 == 0)
		walk(r, burst);
	load *= burst ? 3 : 1;
	w = weight(r, number);
	e.dur_ns = (uint64_t)(8e6 * load * (0.9 + 0.2 * uniform()));
	if (w)
		weigh_step(&r->weigh, *now, w);
	chosen_step(&r->chosen, *now, e.dur_ns, w);
	kernels(r, p, *now + 1000, load, w);
	*now += e.dur_ns + 10000;
	next = weight(r, number + 1);
	if (next && (number + 1) % 250)
		weigh_step(&r->weigh, *now - 10000, next);
	e.b = w > 1 ? w : 0;
	if (!w) {
		e.flags = EVENT_UNSAMPLED;
		e.name = LEFT;
	}
	*(w ? &r->on : &r->off) += 1;
	roll_add(r->roll, &e, 1, on_window, r);
}

static void run_one(struct run *r, const struct program *p, uint64_t seed)
{
	const struct roll_opts o = { .process = 1, .rows_max = 64, .name_other = 99 };
	uint64_t now = 1000000000;

	memset(r, 0, sizeof(*r));
	x = seed * 0x9e3779b97f4a7c15ull + 1;
	r->seed = seed;
	r->sampled.left = LEFT;
	r->sampled.unseen = UNSEEN;
	if (roll_new(&r->roll, &o) < 0)
		t_skip_all("no memory");
	for (uint64_t n = 0; n < steps; n++)
		step(r, p, n, &now);
	roll_close(r->roll, UINT64_MAX, on_window, r);
	roll_free(r->roll);
}

/* --- */

static void test_program(const struct program *p, const char *name)
{
	double error[KERNELS] = { 0 }, square[KERNELS] = { 0 }, naive[KERNELS] = { 0 };
	double counts[KERNELS] = { 0 }, block = 0;
	unsigned in[KERNELS] = { 0 }, in_blocks = 0;
	struct chosen_sum sum;
	static struct run r;
	bool told = true;

	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		run_one(&r, p, seed);
		told = told && r.sampled.unsampled == r.off;
		sum = chosen_sum(&r.chosen, r.of_block, 1);
		block += ((sum.ns + r.before) / r.truth[0] - 1) / RUNS;
		in_blocks += fabs(sum.ns + r.before - r.truth[0]) <= sampled_error(sum.variance);
		chosen_fini(&r.chosen);
		for (int k = 0; k < KERNELS; k++) {
			struct sampled_more m = sampled_end(&r.sampled, &r.sum[k]);
			double rel = (r.seen[k] + m.ns) / r.truth[k] - 1;

			error[k] += rel / RUNS;
			square[k] += rel * rel / RUNS;
			counts[k] += ((r.count[k] + m.count) / r.true_count[k] - 1) / RUNS;
			naive[k] += (r.seen[k] / r.truth[k] - 1) / RUNS;
			in[k] += fabs(r.seen[k] + m.ns - r.truth[k]) <= sampled_error(m.variance);
		}
	}
	T_OK(told, "%s: every step that is left out is told", name);
	T_OK(fabs(block) < (steps < STEPS ? 0.02 : 0.003),
	     "%s: by blocks the mean is off by %+.3f %%", name, 100 * block);
	T_OK(in_blocks >= RUNS * 88 / 100, "%s: there the interval holds %.1f %% (95)", name,
	     100.0 * in_blocks / RUNS);
	for (int k = 0; k < KERNELS; k++) {
		double sure = 4 * sqrt(square[k] / RUNS) + (steps < STEPS ? 0.02 : 0.002);

		T_OK(fabs(error[k]) < sure,
		     "%s, kernel %d: the mean of %d totals is off by %+.3f %% (+-%.3f; one by "
		     "%.2f)",
		     name, k, RUNS, 100 * error[k], 100 * sure, 100 * sqrt(square[k]));
		T_OK(fabs(counts[k]) < sure + 0.005, "%s, kernel %d: the count by %+.3f %%", name,
		     k, 100 * counts[k]);
		T_OK(in[k] >= RUNS * 88 / 100, "%s, kernel %d: the interval holds %.1f %% (95)",
		     name, k, 100.0 * in[k] / RUNS);
		T_OK(sqrt(square[k]) < 0.25 || steps < STEPS,
		     "%s, kernel %d: and one run says something", name, k);
	}
	printf("# without the proportion: %+.2f %% %+.2f %%\n", 100 * naive[0], 100 * naive[3]);
}

/* A slot of a program without steps: what aond does of it (daemon/budget/slot.c), and its kernels. */
static void slot(struct run *r, const struct program *p, uint64_t number, uint64_t now)
{
	double load = 1 + 0.3 * sin((double)number / 60);
	bool burst = p->bursty && number % 400 > 240;
	uint32_t w;

	if (number % 100 == 0)
		walk(r, burst);
	w = weight(r, number);
	if (w)
		weigh_step(&r->weigh, now, w);
	*(w ? &r->on : &r->off) += 1;
	for (unsigned i = 0; i < 8; i++)
		kernels(r, p, now + 1000 + 6000000 * i, load * (burst ? 3 : 1), w);
}

/* No step is in any window; the truth lies in the interval as often as it says all the same. */
static void test_slots(const struct program *p, const char *name, uint64_t slots)
{
	const struct roll_opts o = { .process = 1, .rows_max = 64, .name_other = 99 };
	double error[KERNELS] = { 0 }, square[KERNELS] = { 0 }, told[KERNELS] = { 0 };
	unsigned in[KERNELS] = { 0 };
	static struct run r;

	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		memset(&r, 0, sizeof(r));
		x = seed * 0x9e3779b97f4a7c15ull + 1;
		r.seed = seed;
		r.sampled.slots = true;
		if (roll_new(&r.roll, &o) < 0)
			t_skip_all("no memory");
		for (uint64_t n = 0; n < slots; n++)
			slot(&r, p, n, 1000000000 + 50000000 * n);
		roll_close(r.roll, UINT64_MAX, on_window, &r);
		roll_free(r.roll);
		chosen_fini(&r.chosen);
		for (int k = 0; k < KERNELS; k++) {
			struct sampled_more m = sampled_end(&r.sampled, &r.sum[k]);
			double rel = (r.seen[k] + m.ns) / r.truth[k] - 1;

			error[k] += rel / RUNS;
			square[k] += rel * rel / RUNS;
			told[k] += sampled_error(m.variance) / r.truth[k] / RUNS;
			in[k] += fabs(r.seen[k] + m.ns - r.truth[k]) <= sampled_error(m.variance);
		}
	}
	for (int k = 0; k < KERNELS; k++) {
		T_OK(fabs(error[k]) < 4 * sqrt(square[k] / RUNS) + 0.005,
		     "%s, kernel %d: the mean of %d totals is off by %+.2f %%", name, k, RUNS,
		     100 * error[k]);
		T_OK(in[k] >= RUNS * 90 / 100,
		     "%s, kernel %d: the interval holds %.1f %% (95); +-%.1f %% is told, one is "
		     "off by "
		     "%.1f",
		     name, k, 100.0 * in[k] / RUNS, 100 * told[k], 100 * sqrt(square[k]));
		T_OK(told[k] < 5 * 1.96 * sqrt(square[k]),
		     "%s, kernel %d: and is no wider than it must", name, k);
	}
}

static void test_whole(void)
{
	struct sampled s = { .left = LEFT };
	struct sampled_sum sum = { 0 };
	struct rollup row[2] = {
		{ .kind = EVENT_STEP, .count = 10, .total_ns = 1000, .bytes = 1000 },
		{ .kind = EVENT_KERNEL, .count = 7, .total_ns = 500 },
	};
	struct window w = { .rows = 2, .row = row };
	struct sampled_more m;

	sampled_window(&s, &w);
	sampled_add(&s, &sum, &row[1]);
	m = sampled_end(&s, &sum);
	T_OK(m.ns == 0 && m.count == 0 && m.variance == 0,
	     "all was recorded: nothing is estimated");
	row[0].kind = EVENT_RANGE;
	sampled_window(&s, &w);
	sampled_add(&s, &sum, &row[1]);
	T_OK(sampled_end(&s, &sum).ns == 0, "no steps: nothing either");
	T_OK(!sampled_kind(EVENT_RANGE) && !sampled_kind(EVENT_STEP) && !sampled_kind(EVENT_OP) &&
		     sampled_kind(EVENT_KERNEL),
	     "ranges and steps are recorded in every step");
}

/* Ten steps of a window, some recorded, each standing for `weight`, and kernels in them. */
static void window(struct sampled *s, struct sampled_sum *sum, uint64_t on, uint32_t weight,
		   uint64_t kernels)
{
	struct rollup row[3] = {
		{ .kind = EVENT_STEP,
		  .count = on,
		  .total_ns = 100 * on,
		  .bytes = 100 * on * weight },
		{ .kind = EVENT_STEP, .name = LEFT, .count = 10 - on, .total_ns = 100 * (10 - on) },
		{ .kind = EVENT_KERNEL,
		  .count = kernels * weight,
		  .total_ns = 50 * kernels * weight },
	};
	struct window w = { .rows = 3, .row = row };

	sampled_window(s, &w);
	if (kernels)
		sampled_add(s, sum, &row[2]);
}

static void test_few(void)
{
	struct sampled s = { .left = LEFT };
	struct sampled_sum sum = { 0 };
	struct sampled_more m;

	window(&s, &sum, 10, 1, 10);
	window(&s, &sum, 5, 2, 4);
	m = sampled_end(&s, &sum);
	T_OK(m.ns == 0 && sampled_error(m.variance) > 100,
	     "one window that was sampled is no measure of itself: +-%.0f of 400 ns",
	     sampled_error(m.variance));

	s = (struct sampled){ .left = LEFT };
	sum = (struct sampled_sum){ 0 };
	window(&s, &sum, 10, 1, 1);
	for (int i = 0; i < 20; i++)
		window(&s, &sum, 1, 10, 0);
	m = sampled_end(&s, &sum);
	T_OK(m.ns == 0 && fabs(sampled_error(m.variance) - 3 * 10 * 50) < 1,
	     "what no recorded step had may have been in three that stand for ten: +-%.0f ns",
	     sampled_error(m.variance));

	s = (struct sampled){ .left = LEFT };
	sum = (struct sampled_sum){ 0 };
	window(&s, &sum, 10, 1, 10);
	window(&s, &sum, 0, 1, 0);
	m = sampled_end(&s, &sum);
	T_OK(m.ns == 500 && m.count == 10 && fabs(sampled_error(m.variance) - 500) < 1,
	     "all were left out where some were: as the ones before, if at all");
}

static void test_chosen(void)
{
	static const double y[] = { 50, 0, 30 };
	struct chosen c = { .n = 0 };
	struct chosen_sum s;
	size_t hint = 0;

	for (uint64_t i = 0; i < 30; i++)
		chosen_step(&c, 1000 + 10 * i, 10, i < 10 ? 1 : i < 20 ? 0 : 2);
	T_OK(c.n == 3, "steps make blocks");
	T_OK(chosen_at(&c, &hint, 999) == CHOSEN_NONE && chosen_at(&c, &hint, 1000) == 0 &&
		     chosen_at(&c, &hint, 1150) == 0 && chosen_at(&c, &hint, 1200) == 2 &&
		     chosen_at(&c, &hint, 1050) == 0,
	     "work belongs to the last block that was recorded");
	T_OK(chosen_unseen(&c, 1050, 1250) == 150 && chosen_unseen(&c, 1050, 1090) == 0 &&
		     chosen_unseen(&c, 1210, 1250) == 0 && chosen_unseen(&c, 1050, 1150) == 100,
	     "of a gap that part was not seen");
	s = chosen_sum(&c, y, 1);
	T_OK(s.ns == 110 && s.times == 1, "30 in 100 ns that stand for 200, and 50 for sure: %g",
	     s.ns);
	chosen_fini(&c);
	T_OK(chosen_few(1000) < 1.02 && chosen_few(5) > 2 && chosen_few(2) > 50 &&
		     chosen_few(1) > 1000,
	     "of few units little is known for sure");
}

static void test_weigh(void)
{
	struct weigh w = { .n = 0 };

	T_OK(weigh_at(&w, 5) == 1, "all stands for itself");
	weigh_step(&w, 10, 4);
	weigh_step(&w, 20, 4);
	weigh_step(&w, 30, 2);
	T_OK(w.n == 2 && weigh_at(&w, 9) == 1 && weigh_at(&w, 10) == 4 && weigh_at(&w, 29) == 4 &&
		     weigh_at(&w, 30) == 2 && weigh_at(&w, UINT64_MAX) == 2,
	     "an event has the weight of the last recorded step before it");
	for (uint32_t i = 0; i < 1000; i++)
		weigh_step(&w, 100 + i, 1 + i % 2);
	T_OK(weigh_at(&w, 1099) == 2 && weigh_at(&w, 1098) == 1 && weigh_at(&w, 3) <= 4,
	     "the last changes are kept");
}

int main(void)
{
	static const struct program plain, bursty = { .bursty = true },
					   async = { .bursty = true, .async = true },
					   tracks = { .tracks = true };

	test_weigh();
	test_whole();
	test_few();
	test_chosen();
	test_program(&plain, "a steady program");
	test_program(&bursty, "bursts that lead down the ladder");
	test_program(&async, "kernels that run late");
	test_program(&tracks, "kernels on several streams");
	test_slots(&plain, "slots", 4000);
	test_slots(&bursty, "slots of bursts", 4000);
	test_slots(&plain, "slots of some seconds", 400);
	steps = 500;
	test_program(&plain, "a few seconds");
	return t_done();
}
