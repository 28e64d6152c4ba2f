/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_live_small.c - the rule on models of many small operators, from steps with operators.
 *
 * A call of an operator takes 5 to 20 us by itself: dispatch, autograd, Python. Where the time of a part,
 * divided by its operators, is no more than that, calling is what it consists of.
 */
#include "insight/live/find_live.h"

#define CALL_NS     20000u
#define MANY        300u /* operators a step: fewer are a small model, which nobody can fuse much */
#define SMALL_LEAST 3u   /* windows: early steps are not like others */

/* The parts that a model computes in; the last is in no range. */
static const struct {
	uint8_t part, cause;
} places[] = {
	{ HOST_PART_FORWARD, ACCOUNT_FORWARD },
	{ HOST_PART_BACKWARD, ACCOUNT_BACKWARD },
	{ HOST_PARTS, ACCOUNT_COMPUTE },
};

#define PLACES (sizeof(places) / sizeof(places[0]))

static bool is_small(const struct host_account *a, uint8_t part)
{
	return a->ops[part] && a->window_ns[part] / a->ops[part] < CALL_NS;
}

uint64_t live_small_cost(const struct insight *in, const struct insight_device *d)
{
	const struct host_account *a = d->host;
	uint64_t ns = 0, ops = 0;

	(void)in;
	if (a->windows < SMALL_LEAST)
		return UINT64_MAX;
	for (size_t i = 0; i < PLACES; i++) {
		if (!is_small(a, places[i].part))
			continue;
		ns += d->account.ns[places[i].cause];
		ops += a->ops[places[i].part];
	}
	return ops / a->windows >= MANY ? ns : 0;
}

bool live_small_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;
	uint64_t ops = 0, ns = 0;
	bool model = a->ops[HOST_PART_FORWARD] >= a->ops[HOST_PARTS];
	char code[FRAME_LABEL];

	for (size_t i = 0; i < PLACES; i++) {
		ops += a->ops[places[i].part];
		ns += a->window_ns[places[i].part];
	}
	f->sure = SURE_MEDIUM; /* what fusing brings is not measured */
	if (live_code(in, a,
		      model ? 1u << ACCOUNT_FORWARD : 1u << ACCOUNT_COMPUTE | 1u << ACCOUNT_CODE,
		      code))
		SAY(title, "Operators are so small that calling them is most of their time: %.100s",
		    code);
	else
		SAY(title, "Operators are so small that calling them is most of their time");
	finding_seen(f, "%s%s of %s (%s %%) in parts with small operators", T(f->cost_ns),
		     finding_per(f), T(a->on.account.base_ns), P(f->share));
	finding_seen(f, "%s operators a step, one every %s", N(ops / a->windows),
		     D(ns / (ops ? ops : 1)));
	finding_facts(f, FACT_N("operators", ops / a->windows),
		      FACT_N("each_ns", ns / (ops ? ops : 1)));
	SAY(action,
	    "fewer, larger operators: all rows or time steps in one, torch.compile, a fused "
	    "module (nn.LSTM), a larger batch");
	f->gain_lo_ns = f->cost_ns / 4;
	f->gain_hi_ns = f->cost_ns / 2;
	return true;
}
