/* SPDX-License-Identifier: Apache-2.0 */
/* source_alarms.c - entries of aond's journal as findings, and the captures that alarms started. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ship/source/source_priv.h"

#define GRACE_NS 2000000000ull /* aond commits once a second */

struct alarms {
	struct ship_source *s;
	uint32_t same; /* of the moment of the newest that was put */
};

/* Whose it is. Old stores do not say the process: then it is the newest of that pid, rank and job. NULL: nobody's. */
static const struct known *whose(struct ship_source *s, const struct journal_entry *e)
{
	int64_t rank = entry_has(e, FIELD_RANK) ? (int64_t)entry_number(e, FIELD_RANK) : -1;

	if (entry_has(e, FIELD_PROCESS))
		return source_known(s, (uint32_t)entry_number(e, FIELD_PROCESS));
	for (size_t i = s->knowns; i-- && entry_has(e, FIELD_PID);) {
		const struct known *k = &s->known[i];

		if (k->pid == entry_number(e, FIELD_PID) && k->rank == rank &&
		    !strcmp(k->job, entry_word(e, FIELD_JOB)))
			return k;
	}
	return NULL;
}

/* Some process of its job. */
static const struct known *whose_job(const struct ship_source *s, const struct journal_entry *e)
{
	for (size_t i = s->knowns; i-- && *entry_word(e, FIELD_JOB);)
		if (!strcmp(s->known[i].job, entry_word(e, FIELD_JOB)))
			return &s->known[i];
	return NULL;
}

static void put_alarm(struct ship_source *s, const struct journal_entry *e)
{
	const struct known *k = whose(s, e), *of = k ? k : whose_job(s, e);
	bool ranked = k && k->rank >= 0 && *k->job;
	char part[40], text[ENTRY_TEXT], *fields = entry_object(e);

	if (k)
		snprintf(part, sizeof(part), ranked ? "rank:%u" : "pid:%u",
			 ranked ? (uint32_t)k->rank : k->pid);
	packs_add(&s->packs, SHIP_FINDING, of ? of->route : ship_hash_text(s->o.host),
		  &(struct ship_finding){ .job = ship_text(of ? of->job : ""),
					  .rank = k ? k->rank : -1,
					  .proc = k ? k->proc : 0,
					  .host = ship_text(s->o.host),
					  .t_ns = e->wall_ns,
					  .kind = ship_text(entry_kinds[e->kind].word),
					  .level = ship_text(ranked ? "rank"
							     : k    ? "process"
							     : of   ? "job"
								    : "host"),
					  .part = ship_text(k    ? part
							    : of ? "job"
								 : s->o.host),
					  .act = 1,
					  .confidence = 1,
					  .text = ship_text(entry_text(e, text)),
					  .detail = ship_text(fields ? fields : "{}"),
					  .source = ship_text("aond") });
	free(fields);
}

static int on_entry(void *arg, const struct journal_entry *e)
{
	struct alarms *a = arg;
	struct ship_source *s = a->s;
	const struct known *p;
	char label[40];
	bool raised = s->o.events && e->kind == ENTRY_RAISED;
	uint32_t process = (uint32_t)entry_number(e, FIELD_PROCESS);
	uint64_t to_ns = entry_number(e, FIELD_TO_NS), wall_ns = e->wall_ns;

	if ((!entry_is_alarm(e) && !raised) || wall_ns < s->at.alarm_ns ||
	    wall_ns < s->at.not_before_ns)
		return 0;
	if (wall_ns == s->at.alarm_ns && a->same++ < s->at.alarms)
		return 0;
	p = raised ? source_known(s, process) : NULL;
	if (p && to_ns + (uint64_t)p->wall_offset_ns + GRACE_NS > s->packs.now_ns)
		return 1; /* it is still under way: the next time, with all behind it */
	s->at.alarms = wall_ns == s->at.alarm_ns ? s->at.alarms + 1 : 1;
	s->at.alarm_ns = wall_ns;
	a->same = s->at.alarms;
	if (!raised) {
		put_alarm(s, e);
		return s->packs.err;
	}
	snprintf(label, sizeof(label), "raised-%llu", (unsigned long long)wall_ns);
	return source_events(s, label, process, entry_number(e, FIELD_FROM_NS), to_ns);
}

int source_alarms(struct ship_source *s, struct spool *spool)
{
	struct alarms a = { .s = s };

	int err = store_each_entry(s->st, on_entry, &a);

	(void)spool;
	return err > 0 ? 0 : err;
}
