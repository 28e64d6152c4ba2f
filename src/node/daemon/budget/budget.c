/* SPDX-License-Identifier: Apache-2.0 */
/* budget.c - once a second: the cost of recording each process, and how much is recorded. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/core/count.h"
#include "daemon/session/session_list.h"

#define DAY_NS (86400 * 1000000000ull)
#define TELL_S 10u /* between two values of a process's cost in windows */

/* The session that speaks for a job's ranks on this node: the first of them that came. */
static struct sess *leader_of(struct sess *s)
{
	struct sess *leader = s;

	if (!*s->stream->proc.job)
		return s;
	for (struct sess *o = s->roster->first; o; o = o->next)
		if (o->stream && o->budget.trials && o->peer.uid == s->peer.uid &&
		    o->id < leader->id && !strcmp(o->stream->proc.job, s->stream->proc.job))
			leader = o;
	return leader;
}

/* Only when somebody came or went: it compares all with all. */
static void find_leaders(struct roster *r)
{
	if (r->led_ids == r->ids && r->led_count == r->count && r->ticks % 10)
		return;
	for (struct sess *s = r->first; s; s = s->next)
		s->budget.leader = s->stream ? leader_of(s) : NULL;
	r->led_ids = r->ids;
	r->led_count = r->count;
}

static void account_all(struct roster *r, uint64_t now)
{
	struct account a = { 0 };

	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->stream)
			continue;
		cost_residual(&s->stream->cost, now, pool_residual(s->stream->pool));
		tally_account(&s->stream->tally, &a); /* its row is of the last commit */
		cost_account(&s->stream->cost, now, a.emitted - a.samples, r->emit_ns);
	}
}

/* Of all ranks of the job here: the one that pays most holds up the others. */
static double most_accounted(const struct sess *leader)
{
	double most = leader->stream->cost.accounted;

	if (!*leader->stream->proc.job)
		return most;
	for (const struct sess *s = leader->roster->first; s; s = s->next)
		if (s->budget.leader == leader && s->stream->cost.accounted > most)
			most = s->stream->cost.accounted;
	return most;
}

int64_t budget_limit(const struct sess *s, enum allow_key key)
{
	return allow_limit(s->roster->param, &s->roster->jobs, &s->budget.allow,
			   s->stream->proc.job, s->peer.uid, key);
}

/* Ranks of a job move together: of theirs the tightest. */
static int64_t tightest(const struct sess *leader, enum allow_key key)
{
	int64_t limit = budget_limit(leader, key);

	for (const struct sess *s = leader->roster->first; s && *leader->stream->proc.job;
	     s = s->next)
		if (s->budget.leader == leader && allow_tighter(key, budget_limit(s, key), limit))
			limit = budget_limit(s, key);
	return limit;
}

static unsigned gpus_of(const struct sess *s)
{
	return (unsigned)__builtin_popcountll(s->stream->gpus);
}

/* In the journal, and as what `aon budget` says of the process. */
static void tell_of(struct sess *s, struct journal_entry *e)
{
	char text[ENTRY_TEXT];

	snprintf(s->budget.moved, sizeof(s->budget.moved), "%s", entry_text(e, text));
	entry_u(e, FIELD_PROCESS, s->stream->proc.id);
	entry_u(e, FIELD_PID, (uint64_t)s->peer.pid);
	sess_journal(s, e);
}

static void tell_move(struct sess *s, enum govern_why why, double accounted, double measured)
{
	const struct fidelity_row *r = &fidelity_table[s->stream->cost.govern.fidelity];
	struct journal_entry e = { .kind = ENTRY_BUDGET_LEVEL };

	entry_s(&e, FIELD_LEVEL, r->word);
	entry_s(&e, FIELD_LEFT_OUT, r->what);
	entry_s(&e, FIELD_WHY, govern_word[why]);
	entry_f(&e, FIELD_ACCOUNTED, accounted);
	entry_f(&e, FIELD_MEASURED, measured);
	tell_of(s, &e);
	stream_gauge(s->stream, OVERHEAD_FIDELITY, s->stream->cost.govern.fidelity,
		     clock_mono_ns());
	s->stream->proc.overhead.moves++;
	count_add(COUNT_fidelity_moves, 1);
	count_add(COUNT_rung_moves, 1);
}

/* Whether a rank that it leads is being captured. */
static bool is_held(const struct sess *leader)
{
	for (const struct sess *s = leader->roster->first; s; s = s->next)
		if (s->budget.captures && s->budget.leader == leader)
			return true;
	return false;
}

static void tell_lag(struct sess *s)
{
	struct journal_entry e = { .kind = ENTRY_MEASURE };

	entry_u(&e, FIELD_PROCESS, s->stream->proc.id);
	entry_u(&e, FIELD_PID, (uint64_t)s->peer.pid);
	entry_u(&e, FIELD_BLOCK, s->stream->cost.block);
	sess_journal(s, &e);
}

static void lead(struct sess *s, uint64_t now)
{
	const struct param *p = s->roster->param;
	struct cost_limits l = { .budget = (double)tightest(s, ALLOW_max_slowdown) / 1000.0,
				 .cpu = (double)tightest(s, ALLOW_max_probe_cost) / 1000.0 *
					gpus_of(s),
				 .top = (enum fidelity)tightest(s, ALLOW_fidelity),
				 .leave = s->budget.trials,
				 .measure = p->measure,
				 .after_ns = (uint64_t)p->measure_after_s * 1000000000u,
				 .steady = s->budget.asked == TIER_FULL ||
					   s->budget.asked < TIER_ROLLUP || is_held(s) };
	double accounted = most_accounted(s), measured = cost_now(&s->stream->cost).mid;
	uint32_t lags = s->stream->cost.lags;
	enum govern_why why;

	/* The budget is of steps: of what has none it is not known what it is slowed by. */
	if (s->stream->cost.steps < COST_STEPS)
		l.budget = 0;
	why = cost_tick(&s->stream->cost, now, accounted, &l);
	if (s->stream->cost.lags != lags)
		tell_lag(s);

	if (why != GOVERN_STAY)
		tell_move(s, why, accounted, measured);
}

static void apply(struct sess *s, uint64_t now)
{
	const struct cost *c = &s->stream->cost;

	s->gate.stepless = cost_stepless(c, now);
	if (s->gate.stepless)
		stream_stepless(s->stream, now);
	sess_tier(s);
	if (s->budget.trials)
		gate_trial(&s->gate, c->by_rate ? (struct aon_trial){ 0 } : c->trial, c->seed);
}

static int32_t millionths(double share)
{
	return (int32_t)(share * 1e6 + (share < 0 ? -0.5 : 0.5));
}

/* For the store: the row's last word. */
void budget_note(struct sess *s)
{
	const struct cost *c = &s->stream->cost;
	struct overhead *o = &s->stream->proc.overhead;
	struct interval i = cost_now(c);

	if (!c->steps)
		return;
	o->steps = c->steps;
	o->pairs = i.known ? c->pairs : 0;
	o->lo = i.known ? millionths(i.lo) : 0;
	o->mid = i.known ? millionths(i.mid) : 0;
	o->hi = i.known ? millionths(i.hi) : 0;
	o->mean = i.known ? millionths(c->mean.mid / fidelity_table[c->govern.fidelity].duty) : 0;
	/* Of all of its time: the last second of a program says little. */
	o->accounted = (uint32_t)millionths((double)c->records * s->roster->emit_ns /
					    (double)(c->at_ns - s->since_ns + 1));
	o->budget = (uint32_t)budget_limit(s, ALLOW_max_slowdown) * 1000u;
	o->fidelity = c->govern.fidelity;
	o->by = c->by_rate ? OVERHEAD_BY_LAUNCHES : OVERHEAD_BY_STEPS;
	o->residual = (uint32_t)millionths(c->residual);
	o->emit_ps = (uint32_t)(1000 * s->roster->emit_ns);
}

/* And values over time. */
static void tell(struct sess *s, uint64_t now)
{
	struct stream *st = s->stream;
	const struct overhead *o = &st->proc.overhead;

	budget_note(s);
	if (!o->steps || (s->roster->ticks + s->id) % TELL_S)
		return;
	st->changed = true;
	if (o->pairs) {
		stream_gauge(st, OVERHEAD_MID, o->mid, now);
		stream_gauge(st, OVERHEAD_LO, o->lo, now);
		stream_gauge(st, OVERHEAD_HI, o->hi, now);
	}
	stream_gauge(st, OVERHEAD_FIDELITY, o->fidelity, now);
	stream_gauge(st, OVERHEAD_ACCOUNTED, millionths(st->cost.accounted), now);
}

/* Data is packed later: scaled by the compression of everything so far. */
uint64_t budget_written(const struct sess *s)
{
	double raw = (double)count_get(COUNT_batch_raw) + 1;

	return (uint64_t)((double)s->stream->disk_bytes * (double)count_get(COUNT_batch_bytes) /
			  raw);
}

/* What it has written today, of what it may. */
static void look_disk(struct sess *s, uint64_t now)
{
	struct stream *st = s->stream;
	uint64_t day = now / DAY_NS, limit = (uint64_t)budget_limit(s, ALLOW_disk_mib_day) << 20;
	bool was = st->sums_only;

	if (day != st->disk_day)
		st->disk_bytes = 0;
	st->disk_day = day;
	st->sums_only = limit && budget_written(s) >= limit;
	if (st->sums_only && !was)
		tell_of(s, &(struct journal_entry){ .kind = ENTRY_BUDGET_PROCESS_DISK });
}

void budget_tick(struct roster *r, uint64_t now)
{
	find_leaders(r);
	account_all(r, now);
	for (struct sess *s = r->first; s; s = s->next)
		if (s->stream && s->budget.leader == s)
			lead(s, now);
	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->stream || !s->budget.leader)
			continue;
		if (s->budget.leader != s)
			cost_follow(&s->stream->cost, &s->budget.leader->stream->cost, now);
		look_disk(s, now);
		apply(s, now);
		tell(s, now);
	}
}
