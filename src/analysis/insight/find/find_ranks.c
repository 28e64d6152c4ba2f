/* SPDX-License-Identifier: Apache-2.0 */
/* find_ranks.c - rules on ranks: exposed communication, late ranks, unequal work. */
#include <stdio.h>

#include "insight/find/finding.h"

static const struct rank_wait *wait_of(const struct insight *in, const struct insight_device *d)
{
	uint32_t file = in->t->device[d->device].file;

	return in->waits.matched ? &in->waits.rank[file] : NULL;
}

/* A rank to name must be late more often than chance has it, and for most of the waiting. */
static bool one_is_late(const struct waits *w)
{
	const struct rank_wait *late = w->matched ? &w->rank[w->late] : NULL;

	return late && late->blamed_ns >= w->total_ns / 3 && late->last * w->ranks >= w->matched;
}

/* Waiting for the late rank; behind which something computes, it costs nothing. */
static uint64_t late_cost(const struct insight *in, const struct insight_device *d)
{
	uint64_t late = wait_of(in, d)->late_ns, all = wait_of(in, d)->waited_ns;

	return finding_in_base(late, all, d->account.ns[ACCOUNT_COMM_WAIT]);
}

/* Waiting for ranks whose experts had more to do. */
static uint64_t experts_wait(const struct insight *in, const struct insight_device *d)
{
	const struct rank_wait *w = wait_of(in, d);

	return w ? finding_in_base(w->experts_ns, w->waited_ns, d->account.ns[ACCOUNT_COMM_WAIT])
		 : 0;
}

/* --- communication --- */

/* Waiting for one rank that can be named is that rank's cost, and for experts is that of routing. */
static uint64_t comm_cost(const struct insight *in, const struct insight_device *d)
{
	const uint64_t *ns = d->account.ns;
	uint64_t late = one_is_late(&in->waits) ? late_cost(in, d) : 0;

	return ns[ACCOUNT_COMM] + ns[ACCOUNT_COMM_SEND] + ns[ACCOUNT_COMM_WAIT] - late -
	       experts_wait(in, d);
}

static bool comm_fill(const struct insight *in, struct finding *f)
{
	const struct insight_device *d = f->on;
	const struct rank_wait *w = wait_of(in, d);
	uint64_t could = d->b.compute_ns - d->b.overlap_ns;
	uint64_t waited = d->account.ns[ACCOUNT_COMM_WAIT];

	could = finding_in_base(could, d->b.compute_ns, d->account.ns[ACCOUNT_COMPUTE]);
	if (!w)
		f->most = SURE_MEDIUM; /* waiting and sending cannot be distinguished */
	SAY(title, "Communication is not hidden behind compute");
	finding_seen(f, "exposed communication: %s%s (%s %%) of %s", T(f->cost_ns), finding_per(f),
		     P(f->share), T(d->b.comm_ns));
	finding_seen(f, "compute that could hide it: %s%s", T(could), finding_per(f));
	if (waited)
		finding_seen(f, "%s of this is waiting for late ranks", T(waited));
	else if (!w)
		finding_seen(
			f, "how much of this is waiting for other ranks is not known: they are not "
			   "in this trace");
	finding_facts(f, FACT_N("exposed_comm_ns", f->cost_ns), FACT_N("comm_ns", d->b.comm_ns),
		      FACT_N("overlap_ns", d->b.overlap_ns), FACT_N("compute_ns", d->b.compute_ns),
		      FACT_N("waited_for_ranks_ns", waited));
	f->gain_hi_ns = f->cost_ns < could + waited ? f->cost_ns : could + waited;
	f->gain_lo_ns = f->gain_hi_ns / 2;
	if (waited > f->cost_ns / 2)
		SAY(action, "this is mostly waiting, not sending: let the late ranks arrive in "
			    "time (unequal input, host or GPU)");
	else
		SAY(action, "overlap it: start collectives as soon as their input is ready, on "
			    "their own stream; larger buckets; fewer bytes (bf16, sharding)");
	return true;
}

const struct rule rule_COMM = { comm_cost, comm_fill };

/* --- late ranks --- */

static uint64_t straggler_cost(const struct insight *in, const struct insight_device *d)
{
	return wait_of(in, d) ? late_cost(in, d) : UINT64_MAX;
}

static const struct insight_device *device_of(const struct insight *in, uint32_t file)
{
	for (size_t i = 0; i < in->devices; i++)
		if (in->t->device[in->device[i].device].file == file)
			return &in->device[i];
	return NULL;
}

static bool straggler_fill(const struct insight *in, struct finding *f)
{
	const struct waits *w = &in->waits;
	const struct rank_wait *late = &w->rank[w->late];
	const struct insight_device *d = device_of(in, w->late);
	const struct join_verdict *cause = d ? finding_cause(in, d) : NULL;
	char who[32], title[FINDING_TEXT];

	if (!d || !one_is_late(w))
		return false;
	f->rank = late->rank;
	f->sure = late->blamed_ns > w->total_ns / 2 && late->last > 3 ? SURE_HIGH : SURE_MEDIUM;
	if (late->rank < 0)
		snprintf(who, sizeof(who), "file %u", w->late);
	else
		snprintf(who, sizeof(who), "rank %d", late->rank);
	SAY(title, "%c%s is late and the others wait for it", who[0] == 'r' ? 'R' : 'F', who + 1);
	finding_seen(f, "it came last to %s of %s collectives; %s %% of all waiting is for it",
		     N(late->last), N(w->matched), P(ratio(late->blamed_ns, w->total_ns)));
	finding_seen(f, "rank %d waits longest for it: %s%s", f->on->rank, T(f->cost_ns),
		     finding_per(f));
	finding_seen(f, "%s computes %s, idle %s %%; that one computes %s, idle %s %%", who,
		     T(d->b.compute_ns), P(ratio(d->b.idle_ns, d->b.span_ns)),
		     T(f->on->b.compute_ns), P(ratio(f->on->b.idle_ns, f->on->b.span_ns)));
	finding_facts(f, FACT_N("collectives", w->matched), FACT_N("came_last", late->last),
		      FACT_N("blamed_ns", late->blamed_ns), FACT_N("all_waiting_ns", w->total_ns),
		      FACT_N("late_compute_ns", d->b.compute_ns),
		      FACT_N("late_idle_ns", d->b.idle_ns));
	if (f->on->rank >= 0)
		finding_facts(f, FACT_N("longest_waiting_rank", (uint64_t)f->on->rank));
	if (cause) {
		finding_cause_title(in, d, cause->cause, title, sizeof(title));
		SAY(action, "a separate finding explains its GPU: %.150s", title);
	} else if (d->b.compute_ns > f->on->b.compute_ns + f->cost_ns / 2)
		SAY(action, "its GPU computes longer: compare its share of the work, clocks and "
			    "temperature with the others'");
	else
		SAY(action, "its GPU does not compute longer: look at its host (input, CPU, other "
			    "processes) in aon report --by rank");
	return true;
}

const struct rule rule_STRAGGLER = { straggler_cost, straggler_fill };

/* --- unequal work of experts --- */

/* Of one rank only it is known how much longer than the shortest its exchanges of tokens take. */
static uint64_t meets_vary(const struct insight *in, const struct insight_device *d,
			   uint64_t *calls)
{
	uint32_t file = in->t->device[d->device].file;
	uint64_t more = 0;

	*calls = 0;
	for (size_t i = 0; i < in->roll[ROLL_KERNEL].rows; i++) {
		const struct insight_row *r = &in->roll[ROLL_KERNEL].row[i];

		if (r->file != file || r->class != CLASS_COMM ||
		    names_experts(in->names, r->name) != EXPERTS_MEET)
			continue;
		*calls += r->count;
		more += r->total_ns - r->count * r->min_ns;
	}
	return finding_in_base(more, d->b.comm_ns, d->account.ns[ACCOUNT_COMM]);
}

static uint64_t experts_cost(const struct insight *in, const struct insight_device *d)
{
	uint64_t calls, ns;

	if (wait_of(in, d))
		return experts_wait(in, d);
	ns = meets_vary(in, d, &calls);
	return calls ? ns : UINT64_MAX;
}

static bool experts_fill(const struct insight *in, struct finding *f)
{
	const struct waits *w = &in->waits;
	uint64_t calls = 0;

	SAY(title, "Experts have unequal work, and ranks wait for each other");
	if (wait_of(in, f->on)) {
		finding_seen(f,
			     "rank %d waits for ranks whose experts had more to do: %s%s (%s %%)",
			     f->on->rank, T(f->cost_ns), finding_per(f), P(f->share));
		finding_seen(f, "%s %% of all waiting in collectives is for that",
			     P(ratio(w->experts_ns, w->total_ns)));
		finding_facts(f, FACT_N("experts_wait_ns", f->cost_ns),
			      FACT_N("all_waiting_ns", w->total_ns));
	} else {
		f->most = SURE_LOW; /* the others' work is not in the trace */
		meets_vary(in, f->on, &calls);
		finding_seen(f,
			     "%s exchanges of tokens take longer than the shortest of their kind: "
			     "%s%s (%s %%)",
			     N(calls), T(f->cost_ns), finding_per(f), P(f->share));
		finding_facts(f, FACT_N("exchange_excess_ns", f->cost_ns),
			      FACT_N("exchanges", calls));
	}
	SAY(action,
	    "balance the experts: a larger auxiliary loss or a bias of the router, a capacity "
	    "factor, copies of busy experts, another placement (EPLB)");
	return true;
}

const struct rule rule_EXPERTS = { experts_cost, experts_fill };

/* --- unequal work --- */

static uint64_t mean_compute(const struct insight *in)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < in->devices; i++)
		sum += in->device[i].account.ns[ACCOUNT_COMPUTE];
	return in->devices ? sum / in->devices : 0;
}

/* The GPUs that compute longer than the middle between the shortest and the longest, if these are two
 * kinds: several, a third of all at least, and the gap between both is wider than either. */
struct slow_set {
	size_t n;
	int32_t first, last; /* ranks */
	uint64_t others_ns;  /* mean of the others */
};

static struct slow_set slow_set(const struct insight *in)
{
	uint64_t least = UINT64_MAX, most = 0, fast = 0, slow = UINT64_MAX, sum = 0, mid;
	struct slow_set s = { 0, INT32_MAX, -1, 0 };

	for (size_t i = 0; i < in->devices; i++) {
		uint64_t ns = in->device[i].account.ns[ACCOUNT_COMPUTE];

		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
	}
	mid = least + (most - least) / 2;
	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];
		uint64_t ns = d->account.ns[ACCOUNT_COMPUTE];

		if (ns <= mid) {
			fast = ns > fast ? ns : fast;
			sum += ns;
			continue;
		}
		slow = ns < slow ? ns : slow;
		s.n++;
		s.first = d->rank < s.first ? d->rank : s.first;
		s.last = d->rank > s.last ? d->rank : s.last;
	}
	if (s.n < 2 || 3 * s.n < in->devices || slow - fast < fast - least ||
	    slow - fast < most - slow)
		return (struct slow_set){ 0, 0, 0, 0 };
	s.others_ns = sum / (in->devices - s.n);
	return s;
}

/* What the state of its GPU explains is no more work than others have. Of which a third is slow, the
 * mean is what nobody does. */
static uint64_t imbalance_cost(const struct insight *in, const struct insight_device *d)
{
	struct slow_set s = slow_set(in);
	uint64_t least = s.n ? s.others_ns : mean_compute(in);
	const struct join_verdict *cause = finding_cause(in, d);

	if (in->devices < 2)
		return UINT64_MAX;
	if (cause && cause->cost_ns > 0)
		least += (uint64_t)cause->cost_ns;
	return d->account.ns[ACCOUNT_COMPUTE] > least ? d->account.ns[ACCOUNT_COMPUTE] - least : 0;
}

static bool imbalance_fill(const struct insight *in, struct finding *f)
{
	uint64_t mean = mean_compute(in), least = UINT64_MAX, comm = 0;
	struct slow_set s = slow_set(in);

	for (size_t i = 0; i < in->devices; i++) {
		comm += in->device[i].b.comm_ns;
		if (in->device[i].account.ns[ACCOUNT_COMPUTE] < least)
			least = in->device[i].account.ns[ACCOUNT_COMPUTE];
	}
	if (!comm) /* devices that never talk need not be alike */
		return false;
	if (s.n > 1 && s.last - s.first + 1 == (int64_t)s.n)
		SAY(title, "Ranks %d to %d compute longer, and the others wait for them", s.first,
		    s.last);
	else if (s.n > 1)
		SAY(title, "%zu of %zu ranks compute longer, and the others wait for them", s.n,
		    in->devices);
	else
		SAY(title, "Ranks have unequal work");
	finding_seen(f, "rank %d computes %s%s; mean %s, min %s", f->rank,
		     T(f->on->account.ns[ACCOUNT_COMPUTE]), finding_per(f), T(mean), T(least));
	finding_seen(f, "that is %.2f x the mean of %zu GPUs",
		     ratio(f->on->account.ns[ACCOUNT_COMPUTE], mean), in->devices);
	finding_facts(f, FACT_N("most_compute_ns", f->on->account.ns[ACCOUNT_COMPUTE]),
		      FACT_N("mean_compute_ns", mean), FACT_N("least_compute_ns", least));
	if (s.n > 1)
		SAY(action,
		    "compare what these ranks have in common with the others: node, clocks, "
		    "power limit, pipeline stage, share of the work");
	else
		SAY(action,
		    "balance the work: sequence lengths, experts, tables or pipeline stages "
		    "of that rank");
	return true;
}

const struct rule rule_IMBALANCE = { imbalance_cost, imbalance_fill };
