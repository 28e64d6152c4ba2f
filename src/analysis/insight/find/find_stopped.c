/* SPDX-License-Identifier: Apache-2.0 */
/* find_stopped.c - the rule on jobs that stopped: who never came to which collective. */
#include <inttypes.h>

#include "insight/find/finding.h"

/* The member that has been stuck for longest. */
static const struct insight_member *longest(const struct stopped *s)
{
	const struct insight_member *best = NULL;

	for (size_t i = 0; i < s->members; i++)
		if (s->member[i].open && (!best || s->member[i].stuck_ns > best->stuck_ns))
			best = &s->member[i];
	return best;
}

/* On each device of the rank that has been stuck for longest. */
static uint64_t stopped_cost(const struct insight *in, const struct insight_device *d)
{
	const struct insight_member *m = in->stopped.stuck ? longest(&in->stopped) : NULL;

	if (!in->stopped.members)
		return UINT64_MAX;
	return m && in->t->device[d->device].file == m->file ? m->stuck_ns : 0;
}

/* The only one that issued the least: the others wait for it. */
static const struct insight_member *who_lacks(const struct stopped *s, uint32_t group)
{
	const struct insight_member *best = NULL;
	size_t same = 0, all = 0;

	for (size_t i = 0; i < s->members; i++) {
		const struct insight_member *m = &s->member[i];

		if (m->group != group)
			continue;
		all++;
		same = best && m->issued == best->issued ? same + 1 : same;
		if (!best || m->issued < best->issued) {
			best = m;
			same = 1;
		}
	}
	return 2 * same < all ? best : NULL;
}

static uint64_t never_ran(const struct stopped *s, const struct insight_member *m)
{
	const struct stopped_file *f = &s->file[m->file];

	return f->launches > f->work ? f->launches - f->work : 0;
}

/* The one whose GPU did not run what was launched: twice as many launches as on any other. */
static const struct insight_member *whose_gpu(const struct stopped *s, uint32_t group)
{
	const struct insight_member *best = NULL;

	for (size_t i = 0; i < s->members; i++)
		if (s->member[i].group == group &&
		    (!best || never_ran(s, &s->member[i]) > never_ran(s, best)))
			best = &s->member[i];
	for (size_t i = 0; best && i < s->members; i++)
		if (s->member[i].group == group && &s->member[i] != best &&
		    2 * (never_ran(s, &s->member[i]) + 1) > never_ran(s, best))
			return NULL;
	return best;
}

static void say_who(const struct insight *in, struct finding *f, const struct insight_member *m,
		    const char *what)
{
	const struct stopped *s = &in->stopped;
	const struct insight_member *late = who_lacks(s, m->group);
	const struct insight_member *gpu = late ? NULL : whose_gpu(s, m->group);
	int32_t rank = late || gpu ? in->t->file[(late ? late : gpu)->file].rank : f->rank;

	if (late) {
		f->rank = rank;
		SAY(title, "The job stopped: rank %d never came to %.140s", rank, what);
		finding_seen(f, "rank %d issued %s of that group, rank %d %s", rank,
			     N(late->issued), f->on->rank, N(m->issued));
		SAY(action,
		    "look where rank %d is: aon stacks PID on its node; compare the order of "
		    "its collectives and its input with the others'",
		    rank);
	} else if (gpu) {
		f->rank = rank;
		SAY(title, "The job stopped: the GPU of rank %d no longer runs what is launched",
		    rank);
		finding_seen(f, "%s launches of rank %d never ran, twice those of any other",
			     N(never_ran(s, gpu)), rank);
		SAY(action,
		    "look at dmesg for Xid errors on the node of rank %d, and at the end of "
		    "its process; restart without that GPU",
		    rank);
	} else {
		SAY(title, "The job stopped: %.140s never ended", what);
		finding_seen(f, "all ranks of this trace that are in its group issued %s",
			     N(m->issued));
		SAY(action,
		    "look at the network and links of its ranks (NCCL_DEBUG=INFO), and where "
		    "each is: aon stacks PID");
	}
}

static bool stopped_fill(const struct insight *in, struct finding *f)
{
	const struct insight_member *m = in->stopped.stuck ? longest(&in->stopped) : NULL;
	char name[NAME_LEN], group[NAME_LEN], what[2 * NAME_LEN];

	if (!m)
		return false;
	snprintf(what, sizeof(what), "%.60s of group %.60s",
		 finding_name(trace_text(in->t, m->name), name),
		 finding_name(trace_text(in->t, m->group), group));
	finding_seen(f, "%s collectives were issued and did not end; the first could run for %s",
		     N(m->open), D(m->stuck_ns));
	finding_seen(f, "the longest that ended took %s; %s did", D(m->longest_ns), N(m->ended));
	finding_facts(f, FACT_N("open_collectives", m->open), FACT_N("stuck_ns", m->stuck_ns),
		      FACT_N("longest_collective_ns", m->longest_ns), FACT_N("issued", m->issued),
		      FACT_N("ended", m->ended));
	/* No later record tells that it would not have ended after all. */
	f->sure = m->ended && m->stuck_ns / 3 > m->longest_ns ? SURE_HIGH : SURE_MEDIUM;
	say_who(in, f, m, what);
	SAY(expect, "that the job goes on");
	return true;
}

const struct rule rule_STOPPED = { stopped_cost, stopped_fill };
