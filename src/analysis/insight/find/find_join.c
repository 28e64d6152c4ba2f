/* SPDX-License-Identifier: Apache-2.0 */
/* find_join.c - turns what telemetry explains into findings; see join.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "insight/find/finding.h"

static const char *const class_of[JOIN_CLASSES] = { "compute-bound kernels",
						    "memory-bound kernels",
						    "other kernels",
						    "copies",
						    "exchanges",
						    "collectives over the network",
						    "host work" };

/* The join's device of an insight's; UINT32_MAX: it has none. */
static uint32_t device_of(const struct insight *in, const struct insight_device *d)
{
	const struct trace_device *t = &in->t->device[d->device];
	uint64_t pid = in->t->process[t->process].pid;

	for (size_t i = 0; in->join && i < in->join->devices; i++) {
		const struct join_device *j = &in->join->device[i];

		if (j->pid == pid && j->device == t->device && j->rank == d->rank)
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

static uint64_t cause_cost(const struct insight *in, const struct insight_device *d, enum cause c)
{
	uint32_t at = device_of(in, d), classes = cause_table[c].classes;
	const struct join_verdict *v;
	double most;

	if (at == UINT32_MAX || !(in->join->looked[at] >> c & 1))
		return UINT64_MAX;
	v = join_found(in->join, at, c);
	if (!v)
		return 0;
	/* What is hidden behind compute costs nothing. */
	most = (double)d->account.base_ns;
	if (classes & IN_COMM)
		most = (double)d->b.exposed_comm_ns;
	else if (classes == IN_HOST && !in->join->device[at].cpu)
		most = (double)(d->idle_ns[IDLE_HOST] + d->idle_ns[IDLE_LAUNCH] +
				d->idle_ns[IDLE_INPUT]);
	return (uint64_t)(v->cost_ns < most ? v->cost_ns : most);
}

/* --- sentences --- */

static void who(const struct insight *in, const struct insight_device *d, char *out, size_t cap)
{
	uint32_t number = in->t->device[d->device].device;

	if (d->rank == TRACE_NO_RANK)
		snprintf(out, cap, "GPU %" PRIu32, number);
	else
		snprintf(out, cap, "rank %" PRId32 "'s GPU %" PRIu32, d->rank, number);
}

void finding_cause_title(const struct insight *in, const struct insight_device *d, enum cause c,
			 char *out, size_t cap)
{
	const char *title = cause_table[c].title, *at = strstr(title, "%s");
	char name[48];

	who(in, d, name, sizeof(name));
	if (at == title && name[0] == 'r')
		name[0] = 'R';
	snprintf(out, cap, "%.*s%s%s", (int)(at - title), title, name, at + 2);
}

const struct join_verdict *finding_cause(const struct insight *in, const struct insight_device *d)
{
	const struct join_verdict *most = NULL;
	uint32_t at = device_of(in, d);

	for (int c = 0; c < CAUSES && at != UINT32_MAX; c++) {
		const struct join_verdict *v = NULL;

		if (cause_table[c].classes & (IN_COMPUTE | IN_MEMORY))
			v = join_found(in->join, at, (enum cause)c);
		if (v && (!most || v->cost_ns > most->cost_ns))
			most = v;
	}
	return most;
}

static void number(char *out, size_t cap, double v, const char *unit)
{
	if (!strcmp(unit, "Hz"))
		snprintf(out, cap, "%.2f GHz", v / 1e9);
	else if (!strcmp(unit, "B/s"))
		snprintf(out, cap, "%.1f GB/s", v / 1e9);
	else
		snprintf(out, cap, v >= 100 ? "%.0f %s" : "%.3g %s", v, unit);
}

static double in_bad(const struct insight *in, const struct join_verdict *v, enum join_signal s)
{
	const struct join *j = in->join;
	double sum = 0;
	uint32_t n = 0, from = (uint32_t)((v->since_ns - j->begin_ns) / j->width_ns);

	for (uint32_t b = from; b < j->bins; b++) {
		double x = join_signal(j, v->device, s, b);

		if (!isnan(x)) {
			sum += x;
			n++;
		}
	}
	return n ? sum / n : NAN;
}

static void seen_state(const struct insight *in, struct finding *f, const struct join_verdict *v)
{
	const struct signal_row *row = &signal_table[v->tells];
	char is[48], was[48], more[96] = "";
	double temp = in_bad(in, v, SIGNAL_TEMP), power = in_bad(in, v, SIGNAL_POWER),
	       limit = in_bad(in, v, SIGNAL_LIMIT);

	number(is, sizeof(is), v->is, row->unit);
	number(was, sizeof(was), isnan(v->was) ? 0 : v->was, row->unit);
	if (v->cause == CAUSE_THERMAL && !isnan(temp))
		snprintf(more, sizeof(more), ", %.0f C", temp);
	if (v->cause == CAUSE_POWER && !isnan(power))
		snprintf(more, sizeof(more), ", %.0f W of %.0f W", power, limit);
	if (v->cause == CAUSE_SLOWER || isnan(v->was))
		finding_seen(f, "%s %s%s%s", row->word, is,
			     v->cause == CAUSE_SLOWER ? ", like the others" : "", more);
	else
		finding_seen(f, "%s %s, %s %s%s", row->word, is,
			     v->history ? "otherwise" : "of others", was, more);
}

static void seen_when(const struct insight *in, struct finding *f, const struct join_verdict *v)
{
	const struct join *j = in->join;
	int64_t wall = (int64_t)v->since_ns + j->wall_offset_ns;
	time_t t = (time_t)(wall / 1000000000);
	char at[FMT_LEN], bad[FMT_LEN], all[FMT_LEN], clock[40] = "", bouts[40] = "";
	struct tm tm;

	if (j->wall_offset_ns && gmtime_r(&t, &tm))
		strftime(clock, sizeof(clock), " (%F %T UTC)", &tm);
	if (v->bouts > 1)
		snprintf(bouts, sizeof(bouts), ", %" PRIu32 " times", v->bouts);
	finding_seen(f, "since %s after the recording began%s, for %s of %s%s",
		     fmt_time(at, v->since_ns - j->begin_ns), clock, fmt_time(bad, v->bad_ns),
		     fmt_time(all, v->seen_ns), bouts);
}

static void seen_work(struct finding *f, const struct join_verdict *v)
{
	uint32_t classes = cause_table[v->cause].classes;
	char slow[96] = "", rest[96] = "", with[96] = "";
	size_t used = 0, others = 0;

	for (size_t c = 0; c < JOIN_CLASSES; c++) {
		if (!(v->by_class[c] > 0))
			continue;
		if (classes >> c & 1)
			used += (size_t)snprintf(slow + used, sizeof(slow) - used, "%s%s %.2f x",
						 used ? ", " : "", class_of[c], v->by_class[c]);
		else if (others < 40 && c != JOIN_HOST && c != JOIN_COMM && c != JOIN_NET)
			others += (size_t)snprintf(rest + others, sizeof(rest) - others,
						   "%s%s %.2f x", others ? ", " : "; ", class_of[c],
						   v->by_class[c]);
		used = used < sizeof(slow) ? used : sizeof(slow) - 1;
		others = others < sizeof(rest) ? others : sizeof(rest) - 1;
	}
	if (v->peers)
		snprintf(with, sizeof(with),
			 v->history ? ", minus the change on %" PRIu32 " peers"
				    : " as on %" PRIu32 " peers",
			 v->peers);
	finding_seen(f, "%s as long%s%s%s", slow, v->history ? " as otherwise" : "", with, rest);
}

static void seen_names(struct finding *f, const struct join_verdict *v)
{
	char line[FINDING_TEXT] = "";
	size_t used = 0;

	for (size_t i = 0; i < JOIN_NAMES && v->name_by[i] > 0 && used < sizeof(line); i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.44s %.2f x",
					 used ? ", " : "", v->name[i], v->name_by[i]);
	if (used)
		finding_seen(f, "%s", line);
}

static void facts(const struct insight *in, struct finding *f, const struct join_verdict *v)
{
	finding_facts(f, FACT_X("slowdown", v->by));
	if (v->explained > 0)
		finding_facts(f, FACT_X("explained", v->explained));
	finding_facts(f, FACT_X("is", v->is));
	if (!isnan(v->was))
		finding_facts(f, FACT_X("was", v->was));
	finding_facts(f, FACT_N("metric", signal_table[v->tells].metric),
		      FACT_N("since_ns", v->since_ns - in->join->begin_ns),
		      FACT_N("lasted_ns", v->bad_ns), FACT_N("looked_at_ns", v->seen_ns),
		      FACT_N("bouts", v->bouts), FACT_N("peers", v->peers),
		      FACT_N("others_too", v->others), FACT_X("errors_of_difference", v->z));
}

static bool cause_fill(const struct insight *in, struct finding *f, enum cause c)
{
	const struct join_verdict *v = join_found(in->join, device_of(in, f->on), c);

	if (!v)
		return false;
	f->sure = c == CAUSE_SLOWER || c == CAUSE_SHARED || v->z < 10 ? SURE_MEDIUM : SURE_HIGH;
	finding_cause_title(in, f->on, c, f->title, sizeof(f->title));
	seen_state(in, f, v);
	seen_work(f, v);
	seen_names(f, v);
	seen_when(in, f, v);
	facts(in, f, v);
	SAY(action, "%s", cause_table[c].action);
	return true;
}

#define CAUSE(ID, ...)                                                                      \
	static uint64_t cost_##ID(const struct insight *in, const struct insight_device *d) \
	{                                                                                   \
		return cause_cost(in, d, CAUSE_##ID);                                       \
	}                                                                                   \
	static bool fill_##ID(const struct insight *in, struct finding *f)                  \
	{                                                                                   \
		return cause_fill(in, f, CAUSE_##ID);                                       \
	}                                                                                   \
	const struct rule rule_BY_##ID = { cost_##ID, fill_##ID };
#include "insight/find/cause.tbl.h"
