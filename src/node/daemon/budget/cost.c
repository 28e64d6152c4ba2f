/* SPDX-License-Identifier: Apache-2.0 */
/* cost.c - chooses the unsampled steps, evaluates them, and applies the governor's decisions. */
#include "daemon/budget/cost.h"

#include <stdlib.h>

#include "base/clock.h"
#include "pool/emit.h"

struct cost_sums {
	struct trial_meter meter;
	struct estimate typical, mean, lag;
};

void cost_init(struct cost *c, uint64_t seed)
{
	*c = (struct cost){ .seed = seed };
}

void cost_fini(struct cost *c)
{
	free(c->sums);
	c->sums = NULL;
}

/* --- from one measure to the next --- */

static void set_trial(struct cost *c, struct aon_trial t, uint64_t now_ns)
{
	if (aon_trial_word(t) == aon_trial_word(c->trial))
		return;
	c->was = c->trial;
	c->trial = t;
	c->since_ns = now_ns;
	if (c->sums)
		meter_init(&c->sums->meter, t, c->seed);
}

/* What was measured is of what was recorded then. */
static void forget(struct cost *c)
{
	if (c->sums) {
		estimate_init(&c->sums->typical);
		estimate_init(&c->sums->mean);
		estimate_init(&c->sums->lag);
	}
	c->pairs = 0;
	c->shown = false;
	c->typical = c->mean = (struct interval){ 0 };
}

/* --- steps --- */

static void take_pair(struct cost *c, const struct pair *p)
{
	struct cost_sums *s = c->sums;
	struct interval lag;

	/* Which of the two it is must not hang on this pair. */
	estimate_add(&s->typical, estimate_noise(&s->typical) > COST_NOISY ? p->low : p->median);
	estimate_add(&s->mean, p->mean);
	c->typical = estimate_at(&s->typical, COST_ALPHA);
	c->mean = estimate_at(&s->mean, COST_ALPHA);
	c->pairs = s->typical.pairs;
	estimate_add(&s->lag, p->lag);
	lag = estimate_at(&s->lag, COST_ALPHA);
	c->lagging = lag.known && lag.lo > COST_LAG;
}

static void end_step(struct cost *c, uint64_t number, uint64_t start_ns, uint64_t end_ns,
		     uint64_t measure)
{
	struct pair p;

	c->steps++;
	c->step = number;
	c->step_ns += ((double)(end_ns - start_ns) - c->step_ns) /
		      (c->steps < 16 ? (double)c->steps : 16);
	if (end_ns > c->last_ns)
		c->last_ns = end_ns;
	if (c->sums && c->trial.block && start_ns > c->since_ns + COST_SETTLE_NS &&
	    meter_step(&c->sums->meter, number, measure, &p))
		take_pair(c, &p);
	if (c->sums)
		c->thrown = c->sums->meter.thrown;
}

bool cost_step(struct cost *c, const struct event *e)
{
	struct aon_trial t;

	if (c->by_rate) { /* steps, at last: they say more */
		forget(c);
		set_trial(c, (struct aon_trial){ 0 }, e->start_ns);
		c->steps = 0;
		c->block = 0;
		c->by_rate = false;
	}
	t = e->start_ns < c->since_ns ? c->was : c->trial;
	if (!c->track) {
		c->track = e->track + 1;
		c->first_ns = e->start_ns;
	}
	if (c->track != e->track + 1 || (e->flags & EVENT_OPEN))
		return false;
	end_step(c, e->a, e->start_ns, e->start_ns + e->dur_ns, e->dur_ns);
	return aon_trial_at(t, c->seed, e->a).off;
}

uint32_t cost_weight(const struct cost *c, uint64_t number, uint64_t start_ns)
{
	struct aon_trial t = start_ns < c->since_ns ? c->was : c->trial;
	struct aon_trial_at at = aon_trial_at(t, c->seed, number);

	return at.off ? 0 : aon_trial_weight(t, at);
}

bool cost_slot(struct cost *c, uint64_t number, uint64_t start_ns, uint64_t end_ns,
	       uint64_t launches)
{
	uint64_t each = (end_ns - start_ns) * 1000 / launches; /* finer than a nanosecond */

	if (!c->by_rate && c->steps)
		return false;
	if (!c->steps) {
		c->first_ns = start_ns;
		c->by_rate = true;
	}
	end_step(c, number, start_ns, end_ns, each);
	return aon_trial_at(c->trial, c->seed, number).off;
}

bool cost_stepless(const struct cost *c, uint64_t now_ns)
{
	double wait = 3 * c->step_ns > 2e9 ? 3 * c->step_ns : 2e9;

	return !c->steps || (double)now_ns > (double)c->last_ns + wait;
}

/* --- which steps are left out --- */

/* A power of two times five: ranks whose steps differ a little choose alike. */
static uint8_t block_of(double step_ns)
{
	uint32_t n = COST_BLOCK;

	while (n < AON_TRIAL_BLOCK_MAX / 2 && n * step_ns < (double)COST_BLOCK_NS)
		n *= 2;
	return (uint8_t)n;
}

void cost_hold(struct cost *c, uint64_t now_ns)
{
	set_trial(c, (struct aon_trial){ 0 }, now_ns);
}

/* Once chosen a block stays: another length would be another measure. */
static void choose_block(struct cost *c)
{
	if (!c->block)
		c->block = block_of(c->step_ns);
	if (!c->lagging || c->block > AON_TRIAL_BLOCK_MAX / 2)
		return;
	c->block *= 2;
	c->lags++;
	c->lagging = false;
	forget(c);
}

/* Blocks from one pair to the next: the fewer, the sooner it is known what recording costs. */
static uint32_t gap_of(struct cost *c, const struct cost_limits *l, uint32_t duty)
{
	struct govern_in in = { .budget = l->budget,
				.measured = c->typical,
				.residual = c->residual };

	if (duty == 1 && c->pairs < (c->by_rate ? COST_FIRST : COST_DENSE))
		return 0;
	/* Once shown it counts as shown: each change of the gap costs pairs. Pairs are recorded by half,
	 * so where less than that is to be, they stay rare. */
	c->shown |= c->by_rate || duty > 2 || govern_shown(&in, duty);
	return c->shown ? COST_RARE : COST_SEEK;
}

static struct aon_trial choose(struct cost *c, const struct cost_limits *l)
{
	const struct fidelity_row *r = &fidelity_table[c->govern.fidelity];
	struct aon_trial t = { 0 };
	uint32_t half;

	if (!l->leave || l->steady || r->tier < TIER_ROLLUP || c->steps < COST_STEPS)
		return t;
	if (!l->measure || c->last_ns < c->first_ns + l->after_ns) {
		/* Nothing is measured, but the fidelity level holds: steps one by one. */
		if (r->duty > 1)
			t = (struct aon_trial){ .gap = COST_ROUND, .duty = r->duty };
		return t;
	}
	if (!c->sums)
		c->sums = calloc(1, sizeof(*c->sums));
	if (!c->sums)
		return t;
	choose_block(c);
	t.block = c->block;
	t.guard = COST_GUARD;
	half = t.block + t.guard;
	t.gap = gap_of(c, l, r->duty) * half;
	t.duty = r->duty;
	return t;
}

void cost_follow(struct cost *c, const struct cost *leader, uint64_t now_ns)
{
	if (!fidelity_alike(c->govern.fidelity, leader->govern.fidelity))
		forget(c);
	c->govern = leader->govern;
	c->seed = leader->seed;
	if (leader->trial.block && !c->sums)
		c->sums = calloc(1, sizeof(*c->sums));
	/* Numbers of slots are not those of steps. */
	set_trial(c, c->by_rate == leader->by_rate ? leader->trial : (struct aon_trial){ 0 },
		  now_ns);
}

/* --- every second --- */

void cost_account(struct cost *c, uint64_t now_ns, uint64_t records, double emit_ns)
{
	uint64_t wall = now_ns - c->at_ns;

	/* Records in flight are counted at another moment than the rest, so the sum may step back. */
	if (records < c->records)
		records = c->records;
	if (c->at_ns && wall)
		c->accounted = (double)(records - c->records) * emit_ns / (double)wall;
	c->at_ns = now_ns;
	c->records = records;
}

void cost_residual(struct cost *c, uint64_t now_ns, uint64_t total_ns)
{
	double share;

	/* The process itself writes it: whatever it says, it is a share. */
	if (c->at_ns && now_ns > c->at_ns && total_ns >= c->residual_ns) {
		share = (double)(total_ns - c->residual_ns) / (double)(now_ns - c->at_ns);
		c->residual += ((share < 1 ? share : 1) - c->residual) / 8;
	}
	c->residual_ns = total_ns;
}

struct interval cost_now(const struct cost *c)
{
	double share = 1.0 / fidelity_table[c->govern.fidelity].duty;
	struct interval i = c->typical;

	i.lo = i.lo * share + c->residual;
	i.mid = i.mid * share + c->residual;
	i.hi = i.hi * share + c->residual;
	return i;
}

enum govern_why cost_tick(struct cost *c, uint64_t now_ns, double accounted,
			  const struct cost_limits *l)
{
	struct govern_in in = { .budget = l->budget,
				.cpu = l->cpu,
				.stepless = c->steps < COST_STEPS,
				.accounted = accounted,
				.measured = c->typical,
				.residual = c->residual,
				.top = l->top };
	enum fidelity was = c->govern.fidelity;
	enum govern_why why;

	why = l->steady ? GOVERN_STAY : govern_look(&c->govern, &in);
	if (why != GOVERN_STAY && !fidelity_alike(was, c->govern.fidelity))
		forget(c);
	set_trial(c, choose(c, l), now_ns);
	return why;
}

/* --- */

double cost_calibrate(void)
{
	enum { RECORDS = 128, TURNS = 40 };
	static union aon_rec chunk[RECORDS];
	_Atomic uint32_t n = 0;
	double best = 1e9;

	for (int turn = 0; turn < TURNS; turn++) {
		struct aon_thread t = { .p = chunk, .n = &n };
		uint64_t from = clock_thread_ns();
		double ns;

		for (uint32_t i = 0; i < RECORDS; i++) {
			union aon_rec *p = t.p;

			p->half[1] = i;
			p->half[2] = p->half[3] = 0;
			p->word[2] = p->word[3] = i;
			p->half[0] = (uint32_t)aon_tsc();
			aon_commit(&t, p, 1);
		}
		ns = (double)(clock_thread_ns() - from) / RECORDS;
		best = ns < best ? ns : best;
	}
	return best;
}
