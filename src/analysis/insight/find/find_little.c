/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_little.c - the rule on recordings of which nothing can be concluded.
 *
 * What a GPU waited for is known of each piece of work whose launch was recorded. Waits vary about as
 * much as they last, so the standard error of the cost of n waits is its root of n-th part. A cost
 * that may be wrong by more than a third says nothing of the next step.
 */
#include "insight/find/finding.h"
#include "insight/live/find_live.h"

#define ERROR_MOST  3u /* one part in so many */
#define WAITS_LEAST (ERROR_MOST * ERROR_MOST)
#define STEPS_LEAST 3u /* to see that they are alike */
#define WORKS_MOST  0.85

static uint64_t idle_of(const struct time_account *a)
{
	uint64_t ns = 0;

	for (enum account_cause c = ACCOUNT_IDLE; c < ACCOUNT_CAUSES; c++)
		ns += a->ns[c];
	return ns;
}

/* Of how many pieces of work of the base it is known what they waited for. */
static uint64_t waits_known(const struct insight_device *d)
{
	const struct time_account *a = &d->account;

	return d->sampled || !d->launch.launched || 2 * idle_of(a) < a->base_ns ? a->works
										: a->launched;
}

/* What a call says by itself holds for one call, and a GPU that always works waits for nothing. */
static bool tells_itself(const struct time_account *a)
{
	uint64_t once = a->ns[ACCOUNT_WARM_UP] + a->ns[ACCOUNT_CAPTURE] + a->ns[ACCOUNT_COMPILE];

	return 2 * once > a->base_ns || ratio(idle_of(a), a->base_ns) <= 1 - WORKS_MOST;
}

bool finding_is_little(const struct insight_device *d)
{
	return !d->host && waits_known(d) < WAITS_LEAST && !tells_itself(&d->account);
}

static uint64_t launches_of(const struct insight *in)
{
	uint64_t n = 0;

	for (size_t i = 0; i < in->t->processes; i++)
		n += in->host[i].launches;
	return n;
}

static bool is_sampled(const struct insight *in)
{
	for (size_t i = 0; i < in->hosts.n; i++)
		if (in->hosts.v[i].samples >= SAMPLES_ENOUGH)
			return true;
	return false;
}

/* Nothing is known of its cost. */
static uint64_t little_cost(const struct insight *in, const struct insight_device *d)
{
	return (!d->host || (!in->devices && launches_of(in))) && !is_sampled(in) ? 0 : UINT64_MAX;
}

/* The device with most work; NULL: of one of them there is enough. */
static const struct insight_device *most_work(const struct insight *in)
{
	const struct insight_device *most = NULL;

	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];

		if (!finding_is_little(d))
			return NULL;
		if (!most || d->account.works > most->account.works)
			most = d;
	}
	return most;
}

#define LITTLE "Too little was recorded to say what limits this program"

static bool only_launches(const struct insight *in, struct finding *f)
{
	uint64_t n = launches_of(in), ns = 0;

	for (size_t i = 0; i < in->t->processes; i++)
		ns += in->host[i].launch_ns;
	SAY(title, LITTLE ": %s launches, and none of their GPU work", N(n));
	finding_seen(f, "the launches took %s, %s each", D(ns), D(ns / n));
	finding_facts(f, FACT_N("launches", n), FACT_N("launch_ns", ns),
		      FACT_N("needed", WAITS_LEAST));
	SAY(action, "record the GPU's work with its launches: ProfilerActivity.CUDA, nsys -t cuda, "
		    "aon run. A profiler of counters runs each kernel inside its launch, and "
		    "records other times");
	return true;
}

/* So many steps that enough waits are known. */
static uint64_t steps_needed(const struct insight_device *d)
{
	uint64_t n = waits_known(d), steps = d->account.steps ? d->account.steps : 1;
	uint64_t need = n ? (WAITS_LEAST * steps + n - 1) / n : WAITS_LEAST;

	return need > STEPS_LEAST ? need : STEPS_LEAST;
}

static bool little_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = in->devices ? most_work(in) : f->on;
	uint64_t work, known;

	if (!d)
		return false;
	f->sure = SURE_HIGH; /* it is counted */
	SAY(expect, "a cause, and its cost within a third");
	if (d->host)
		return only_launches(in, f);
	f->on = d;
	f->rank = d->rank;
	f->steps = finding_steps(d);
	work = d->account.works;
	known = waits_known(d);
	if (known < work)
		SAY(title, LITTLE ": %s of %s pieces of GPU work have their launch", N(known),
		    N(work));
	else
		SAY(title, LITTLE ": %s piece%s of GPU work in %s", N(work), work == 1 ? "" : "s",
		    T(d->account.base_ns));
	finding_seen(f,
		     "what work waited for is known of %s of %s pieces; a cost within a third "
		     "needs %u",
		     N(known), N(work), WAITS_LEAST);
	finding_seen(f, "the GPU worked for %s of %s", D(d->account.base_ns - idle_of(&d->account)),
		     D(d->account.base_ns));
	finding_facts(f, FACT_N("work", work), FACT_N("launched", d->account.launched),
		      FACT_N("base_ns", d->account.base_ns), FACT_N("needed", WAITS_LEAST));
	SAY(action, "record %s steps of steady work or more, after a few of warm-up%s",
	    N(steps_needed(d)),
	    known < work ? ", with the calls that launch: nothing may be removed from the trace"
			 : "");
	return true;
}

const struct rule rule_TOO_LITTLE = { little_cost, little_fill };
