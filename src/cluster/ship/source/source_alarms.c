/* SPDX-License-Identifier: Apache-2.0 */
/* source_alarms.c - what aond's journal tells, as findings, and the captures that alarms raised. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ship/source/source_priv.h"

#define GRACE_NS 2000000000ull /* aond commits once a second */

struct alarms {
	struct source *s;
	uint32_t same; /* of the moment of the newest that was put */
};

/* What aond keeps for aon capture --raised, as its journal has it. */
#define KEPT "; kept: process %u from %llu to %llu"

struct kept {
	unsigned process;
	unsigned long long from_ns, to_ns;
};

static bool is_kept(const struct source *s, const char *what, const char *text, struct kept *k)
{
	const char *at = s->o.events && !strcmp(what, "capture") ? strstr(text, "; kept: ") : NULL;

	return at && sscanf(at, KEPT, &k->process, &k->from_ns, &k->to_ns) == 3;
}

/*
 * Whose alarm it is. aond writes "rank 3, job j, pid 77: ...": a process is known by all of what it would be called,
 * so that a job of any name is taken for none but itself. The newest of these; NULL: of none.
 */
static const struct known *whose(const struct source *s, const char *text)
{
	char rank[24], name[160];

	for (size_t i = s->knowns; i--;) {
		const struct known *k = &s->known[i];
		int n;

		snprintf(rank, sizeof(rank), k->rank >= 0 ? "rank %d, " : "", k->rank);
		n = snprintf(name, sizeof(name), "%s%s%s%spid %u: ", rank, *k->job ? "job " : "",
			     k->job, *k->job ? ", " : "", k->pid);
		if (!strncmp(text, name, (size_t)n))
			return k;
	}
	return NULL;
}

/* "ranks 0-2 of job j: ...": of a job. */
static const struct known *whose_job(const struct source *s, const char *text)
{
	const char *at = strncmp(text, "rank", 4) ? NULL : strstr(text, " of job ");

	for (size_t i = s->knowns; at && i--;) {
		size_t n = strlen(s->known[i].job);

		if (n && !strncmp(at + 8, s->known[i].job, n) && at[8 + n] == ':')
			return &s->known[i];
	}
	return NULL;
}

static void put_alarm(struct source *s, uint64_t wall_ns, const char *text)
{
	size_t word = strcspn(text, ":");
	const char *rest = text + word + strspn(text + word, ": ");
	const struct known *k = whose(s, rest), *of = k ? k : whose_job(s, rest);
	bool ranked = k && k->rank >= 0 && *k->job;
	char part[40];

	if (k)
		snprintf(part, sizeof(part), ranked ? "rank:%u" : "pid:%u",
			 ranked ? (uint32_t)k->rank : k->pid);
	packs_add(&s->packs, SHIP_FINDING, of ? of->route : ship_hash_text(s->o.host),
		  &(struct ship_finding){ .job = ship_text(of ? of->job : ""),
					  .rank = k ? k->rank : -1,
					  .proc = k ? k->proc : 0,
					  .host = ship_text(s->o.host),
					  .t_ns = wall_ns,
					  .kind = { text, word },
					  .level = ship_text(ranked ? "rank"
							     : k    ? "process"
							     : of   ? "job"
								    : "host"),
					  .part = ship_text(k    ? part
							    : of ? "job"
								 : s->o.host),
					  .act = 1,
					  .confidence = 1,
					  .text = ship_text(rest),
					  .detail = ship_text("{}"),
					  .source = ship_text("aond") });
}

static int on_journal(void *arg, uint64_t wall_ns, const char *what, const char *text)
{
	struct alarms *a = arg;
	struct source *s = a->s;
	const struct known *p;
	struct kept kept;
	char label[40];
	bool raised = is_kept(s, what, text, &kept);

	if ((strcmp(what, "alarm") && !raised) || wall_ns < s->at.alarm_ns ||
	    wall_ns < s->at.not_before_ns)
		return 0;
	if (wall_ns == s->at.alarm_ns && a->same++ < s->at.alarms)
		return 0;
	p = raised ? source_known(s, kept.process) : NULL;
	if (p && kept.to_ns + (uint64_t)p->wall_offset_ns + GRACE_NS > s->packs.now_ns)
		return 1; /* it is still under way: the next time, with all behind it */
	s->at.alarms = wall_ns == s->at.alarm_ns ? s->at.alarms + 1 : 1;
	s->at.alarm_ns = wall_ns;
	a->same = s->at.alarms;
	if (!raised) {
		put_alarm(s, wall_ns, text);
		return s->packs.err;
	}
	snprintf(label, sizeof(label), "raised-%llu", (unsigned long long)wall_ns);
	return source_events(s, label, kept.process, kept.from_ns, kept.to_ns);
}

int source_alarms(struct source *s, struct spool *spool)
{
	struct alarms a = { .s = s };

	int err = store_each_journal(s->st, on_journal, &a);

	(void)spool;
	return err > 0 ? 0 : err;
}
