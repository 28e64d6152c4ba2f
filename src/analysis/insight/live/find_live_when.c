/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_live_when.c - when a cause costs time: in each step, in few of them, or more and more.
 *
 * Samples come at random, so a share of them in a quarter of the run has the error of a proportion. A
 * cause grows if its last quarter exceeds its first by more than chance has it. It is of few steps if
 * several samples fall into each step that has any, and most steps have none.
 */
#include <math.h>
#include <string.h>

#include "insight/live/find_live.h"

#define ERRORS    3.0 /* so many standard errors are no chance: one of 370 */
#define GROWS     1.5 /* times as much at the end */
#define TELLS     0.1 /* of a step: less growth is not worth a line */
#define FEW_STEPS 4u  /* one of so many at most */
#define EACH      3.0 /* samples in a step that has any */
#define ONCE \
	100 /* steps or more for each that has any: what begins a run is no cost of its steps */

double host_hit_steps(const uint64_t hit[HOST_HITS])
{
	double all = 64.0 * HOST_HITS, none = all;

	for (size_t i = 0; i < HOST_HITS; i++)
		none -= __builtin_popcountll(hit[i]);
	return none > 0.5 ? -all * log(none / all) : all * log(2 * all);
}

/* Whether a row is of the causes and, if there is a frame, in its function. */
static bool is_of(const struct trace *t, const struct host_sample *r, uint32_t causes,
		  const struct stack_frame *frame)
{
	uint32_t stack = r->state == SAMPLE_GIL && r->holder ? r->holder : r->stack;
	struct stack_row s = trace_stack(t, stack);

	if (!(causes & 1u << r->cause))
		return false;
	for (uint32_t i = 0; frame && i < s.n; i++)
		if (s.frame[i].name == frame->name && s.frame[i].file == frame->file)
			return true;
	return !frame;
}

struct when {
	double some[HOST_QUARTERS], all[HOST_QUARTERS]; /* ns of samples */
	double count, ns;                               /* of all samples */
	double hits;                                    /* samples of the cause */
	uint64_t hit[HOST_HITS];
};

static void look(struct when *w, const struct insight *in, const struct host_account *a,
		 uint32_t causes, const struct stack_frame *frame)
{
	memset(w, 0, sizeof(*w));
	for (size_t i = 0; i < a->rows; i++) {
		const struct host_sample *r = &a->row[i];
		bool some = is_of(in->t, r, causes, frame);
		/* How many others want the CPU is not the cause's. */
		bool lacks = r->state == SAMPLE_RUNNABLE || r->state == SAMPLE_THROTTLED;

		for (size_t q = 0; q < HOST_QUARTERS; q++) {
			w->all[q] += r->quarter[q];
			w->some[q] += some && !lacks ? r->quarter[q] : 0;
		}
		for (size_t k = 0; some && k < HOST_HITS; k++)
			w->hit[k] |= r->hit[k];
		w->hits += some ? (double)r->count : 0;
		w->count += (double)r->count;
		w->ns += r->ns;
	}
}

/* What the cause takes of a step in this quarter, and the error of that. */
static double quarter_cost(const struct when *w, const struct host_account *a, size_t q,
			   double *error)
{
	double n = w->ns > 0 ? w->all[q] * w->count / w->ns : 0;
	double step =
		a->quarter_steps[q] ? (double)a->quarter_ns[q] / (double)a->quarter_steps[q] : 0;
	double p = w->all[q] > 0 ? w->some[q] / w->all[q] : 0, near = (p * n + 0.5) / (n + 1);

	*error = n > 0 ? sqrt(near * (1 - near) / n) * step : step;
	return p * step;
}

static bool say_growth(struct finding *f, const struct host_account *a, const struct when *w)
{
	double e0, e1, first = quarter_cost(w, a, 0, &e0);
	double last = quarter_cost(w, a, HOST_QUARTERS - 1, &e1);
	double step = (double)account_step_ns(&a->on.account);

	if (a->on.account.steps < 4 * HOST_QUARTERS || last < GROWS * first ||
	    last - first < TELLS * step || last - first < ERRORS * sqrt(e0 * e0 + e1 * e1))
		return false;
	finding_seen(f, "it grows: %s a step in the first quarter of the steps, %s in the last",
		     D((uint64_t)first), D((uint64_t)last));
	finding_facts(f, FACT_N("first_quarter_ns", (uint64_t)first),
		      FACT_N("last_quarter_ns", (uint64_t)last));
	return true;
}

static bool say_few(struct finding *f, const struct host_account *a, const struct when *w)
{
	double steps = (double)a->on.account.steps, in_steps = host_hit_steps(w->hit);

	if (steps < 4 * FEW_STEPS || in_steps < 1.5 || in_steps * FEW_STEPS > steps ||
	    w->hits < EACH * in_steps)
		return false;
	finding_seen(f, "in one of %s steps: %s each time", N((uint64_t)(steps / in_steps + 0.5)),
		     D((uint64_t)((double)f->cost_ns / in_steps)));
	finding_facts(f, FACT_X("every_steps", steps / in_steps));
	return true;
}

bool live_is_once(const struct host_account *a, uint32_t causes)
{
	uint64_t hit[HOST_HITS] = { 0 };
	bool any = false;

	for (size_t i = 0; i < a->rows; i++) {
		const struct host_sample *r = &a->row[i];

		if (!(causes & 1u << r->cause))
			continue;
		for (size_t q = 1; q < HOST_QUARTERS; q++)
			if (r->quarter[q] > 0)
				return false;
		for (size_t k = 0; k < HOST_HITS; k++)
			hit[k] |= r->hit[k];
		any = true;
	}
	return any && host_hit_steps(hit) * ONCE <= (double)a->on.account.steps;
}

void live_say_when(const struct insight *in, struct finding *f, uint32_t causes,
		   const struct stack_frame *frame)
{
	const struct host_account *a = f->on->host;
	struct when w;

	look(&w, in, a, causes, frame && frame->name ? frame : NULL);
	if (!say_growth(f, a, &w))
		say_few(f, a, &w);
}
