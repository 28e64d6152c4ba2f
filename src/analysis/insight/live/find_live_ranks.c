/* SPDX-License-Identifier: Apache-2.0 */
/* find_live_ranks.c - rules on ranks without GPUs: collectives that nothing hides, late ranks, unequal work. */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "insight/live/find_live.h"

static const struct rank_wait *wait_of(const struct insight *in, const struct insight_device *d)
{
	uint32_t file = in->t->process[d->host->process].file;

	return in->waits.matched && file < in->waits.ranks ? &in->waits.rank[file] : NULL;
}

/* The account of the rank that is late most; NULL: it has none. */
static const struct host_account *late_account(const struct insight *in)
{
	for (size_t i = 0; in->waits.matched && i < in->hosts.n; i++)
		if (in->t->process[i].file == in->waits.late && in->hosts.v[i].on.account.steps)
			return &in->hosts.v[i];
	return NULL;
}

static double step_of(const struct host_account *a, enum account_cause c)
{
	return a->on.account.steps ? (double)a->on.account.ns[c] / (double)a->on.account.steps : 0;
}

/* What the late rank spends more on than the one that waits, a step. */
static enum account_cause more_of(const struct host_account *late, const struct host_account *other,
				  double *ns)
{
	enum account_cause best = ACCOUNT_UNKNOWN;

	*ns = 0;
	for (enum account_cause c = 0; c < ACCOUNT_CAUSES; c++) {
		double more = step_of(late, c) - step_of(other, c);

		if (c == ACCOUNT_COMM_SEND || c == ACCOUNT_COMM_WAIT || more <= *ns)
			continue;
		*ns = more;
		best = c;
	}
	return best;
}

/* Does it spend a third of that time more than the one that waits, on whatever? Else both do the same, one a
 * little later, and wait for each other in turn. True, if that is not known. */
static bool does_more(const struct insight *in, const struct insight_device *d)
{
	const struct host_account *late = late_account(in);
	double more = 0;

	if (!late || late == d->host || late->samples < SAMPLES_ENOUGH ||
	    d->host->samples < SAMPLES_ENOUGH)
		return true;
	for (enum account_cause c = 0; c < ACCOUNT_CAUSES; c++)
		if (c != ACCOUNT_COMM_SEND && c != ACCOUNT_COMM_WAIT &&
		    step_of(late, c) > step_of(d->host, c))
			more += step_of(late, c) - step_of(d->host, c);
	return more >= step_of(d->host, ACCOUNT_COMM_WAIT) / 3;
}

/* A rank to name must be late more often than chance has it, and for most of the waiting. */
static bool one_is_late(const struct waits *w)
{
	const struct rank_wait *late = w->matched ? &w->rank[w->late] : NULL;
	size_t ranks = 0;

	for (size_t i = 0; i < w->ranks; i++)
		ranks += w->rank[i].comm_ns != 0;
	return late && late->blamed_ns >= w->total_ns / 2 && late->last * ranks >= w->matched;
}

/* The late rank computes longer, rather than does something else. */
static bool works_more(const struct insight *in, const struct insight_device *d)
{
	const struct host_account *late = late_account(in);
	double ns;

	return late && late != d->host && HOST_WORK & 1u << more_of(late, d->host, &ns);
}

static uint64_t waiting(const struct insight *in, const struct insight_device *d)
{
	return wait_of(in, d) ? d->account.ns[ACCOUNT_COMM_WAIT] : UINT64_MAX;
}

/* --- the late rank --- */

uint64_t live_straggler_cost(const struct insight *in, const struct insight_device *d)
{
	uint64_t ns = waiting(in, d);

	if (ns == UINT64_MAX)
		return ns;
	return one_is_late(&in->waits) && !works_more(in, d) && does_more(in, d) ? ns : 0;
}

uint64_t live_imbalance_cost(const struct insight *in, const struct insight_device *d)
{
	uint64_t ns = waiting(in, d);

	return ns == UINT64_MAX ? ns : one_is_late(&in->waits) && !works_more(in, d) ? 0 : ns;
}

/* "It spends 25 ms more a step in slow (train.py:4)". */
static void say_more(const struct insight *in, struct finding *f, const struct host_account *late,
		     char *code, size_t cap)
{
	enum account_cause c;
	struct samples_sum s;
	struct share all;
	double ns;

	*code = '\0';
	c = more_of(late, f->on->host, &ns);
	if (host_blame(&s, in, late, 1u << c) == 0) {
		const struct sample_blame *b = s.rows ? samples_first(&s, &all) : NULL;
		char text[FRAME_LABEL];

		if (b && b->frame.name && samples_enough(&s))
			snprintf(code, cap, "%.100s", frame_called(in->t, &b->frame, text));
		samples_fini(&s);
	}
	finding_seen(f, "it spends %s more a step in %s%s%s", D((uint64_t)ns),
		     account_table[c].people, *code ? ": " : "", code);
}

static bool late_fill(const struct insight *in, struct finding *f, const char *what)
{
	const struct host_account *late = late_account(in);
	const struct waits *w = &in->waits;
	const struct rank_wait *l = &w->rank[w->late];
	char code[FRAME_LABEL];

	if (!late || late == f->on->host)
		return false;
	f->rank = l->rank;
	f->sure = l->blamed_ns > w->total_ns / 4 * 3 && l->last > 10 ? SURE_HIGH : SURE_MEDIUM;
	finding_seen(f, "rank %d waits for it: %s%s of %s (%s %%)", f->on->rank, T(f->cost_ns),
		     finding_per(f), T(f->on->account.base_ns), P(f->share));
	finding_seen(f, "it came last to %s of %s collectives; %s %% of all waiting is for it",
		     N(l->last), N(w->matched), P(ratio(l->blamed_ns, w->total_ns)));
	say_more(in, f, late, code, sizeof(code));
	finding_facts(f, FACT_N("collectives", w->matched), FACT_N("came_last", l->last),
		      FACT_N("blamed_ns", l->blamed_ns), FACT_N("all_waiting_ns", w->total_ns));
	SAY(title, "Rank %d %s and the others wait for it%s%.110s", l->rank, what,
	    *code ? ": " : "", code);
	if (*code)
		SAY(action, "make rank %d as fast as the others: %.110s", l->rank, code);
	else
		SAY(action, "compare rank %d with the others: aon report --by rank", l->rank);
	f->gain_lo_ns = (uint64_t)(0.8 * (double)f->cost_ns);
	return true;
}

bool live_straggler_fill(const struct insight *in, struct finding *f)
{
	return late_fill(in, f, "is late");
}

bool live_imbalance_fill(const struct insight *in, struct finding *f)
{
	const struct waits *w = &in->waits;

	if (one_is_late(w))
		return late_fill(in, f, "computes longer");
	f->sure = SURE_MEDIUM;
	f->rank = TRACE_NO_RANK;
	SAY(title, "Ranks have unequal work: a different one is late each time");
	finding_seen(f, "waiting for late ranks: %s%s of %s (%s %%)", T(f->cost_ns), finding_per(f),
		     T(f->on->account.base_ns), P(f->share));
	finding_seen(f, "no rank comes last to most of %s collectives", N(w->matched));
	finding_facts(f, FACT_N("collectives", w->matched), FACT_N("all_waiting_ns", w->total_ns));
	SAY(action, "give all ranks batches of the same size and length: bucket or pad by length");
	return true;
}

/* --- communication --- */

uint64_t live_comm_cost(const struct insight *in, const struct insight_device *d)
{
	uint64_t ns = d->account.ns[ACCOUNT_COMM_SEND] + d->account.ns[ACCOUNT_COMM];

	(void)in;
	return ns ? ns : UINT64_MAX;
}

/* By ranges of threads: that is exact. */
static void comm_seen(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;
	size_t most = 0;

	for (size_t p = 0; p < HOST_PARTS; p++)
		most = a->comm_ns[p] > a->comm_ns[most] ? p : most;
	finding_seen(f, "%s collectives (%.60s) take %s in all; mostly %s", N(a->comms),
		     trace_text(in->t, a->comm_name), D(a->comm_all_ns), host_part_people[most]);
	finding_seen(f, "whether they send or wait for late ranks, one rank alone does not tell");
	finding_facts(f, FACT_N("collectives", a->comms), FACT_N("collective_ns", a->comm_all_ns));
}

/* The collective of the process that takes longest, by name; 0: none is in the trace. */
static uint32_t longest_collective(const struct insight *in, uint32_t process)
{
	const struct trace *t = in->t;
	struct map ns = { 0 };
	uint64_t most = 0;
	uint32_t name = 0;

	for (size_t i = 0; in->kinds[EVENT_COLLECTIVE] && i < t->events; i++) {
		const struct event *e = &t->event[i];
		uint64_t *sum = e->kind == EVENT_COLLECTIVE && e->name &&
						t->track[e->track].process == process
					? map_at(&ns, e->name)
					: NULL;

		if (sum)
			*sum += e->dur_ns;
		if (sum && *sum > most) {
			most = *sum;
			name = e->name;
		}
	}
	map_fini(&ns);
	return name;
}

bool live_comm_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = f->on->host;
	double e = a->error_ns[ACCOUNT_COMM_SEND];
	uint32_t name = longest_collective(in, a->process);

	f->sure = e <= (double)f->cost_ns / 6 ? SURE_HIGH : SURE_MEDIUM;
	SAY(title, "Communication is not hidden behind compute%s%.80s", name ? ": " : "",
	    name ? trace_text(in->t, name) : "");
	finding_seen(f, "the step waits for collectives: %s%s of %s (%s %%)%s", T(f->cost_ns),
		     finding_per(f), T(a->on.account.base_ns), P(f->share),
		     a->on.account.ns[ACCOUNT_COMM] ? ", while no operator runs"
						    : ", not counting late ranks");
	if (a->on.account.ns[ACCOUNT_COMM])
		comm_seen(in, f);
	else
		finding_seen(f, "by %s samples of its thread", N(a->count[ACCOUNT_COMM_SEND]));
	finding_facts(f, FACT_N("exposed_comm_ns", f->cost_ns),
		      FACT_N("waited_for_ranks_ns", a->on.account.ns[ACCOUNT_COMM_WAIT]));
	SAY(action,
	    "start collectives as soon as their input is ready (async_op=True, DDP buckets); "
	    "fewer, larger ones; fewer bytes (bf16, gradient accumulation)");
	f->gain_lo_ns = f->cost_ns / 2;
	return true;
}
