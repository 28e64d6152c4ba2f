/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_triggers.c - see persistent_triggers.h. */
#include "daemon/capture/persistent_triggers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/aond.h"
#include "daemon/core/count.h"
#include "daemon/core/runfile.h"
#include "store/store.h"

#define SECOND_NS 1000000000ull

/* --- limits --- */

int standing_check(const struct captures *cs, uid_t uid, const struct capture_want *w,
		   const char **why)
{
	uint32_t own = 0, all = 0;

	for (size_t i = 0; i < CAPTURES; i++) {
		bool is = cs->c[i].state != CAPTURE_FREE && cs->c[i].want.stand;

		all += is;
		own += is && cs->c[i].uid == uid;
	}
	*why = "what stands needs a trigger, and steps or a time";
	if (!*w->when || (!w->steps && !w->ms))
		return -EINVAL;
	*why = "a trigger that stands is of a job, of ranks or of all: processes end";
	if (*w->pids)
		return -EINVAL;
	*why = "four triggers of yours stand: remove one, see aon capture --list";
	if (own >= STANDING_OF_UID)
		return -EBUSY;
	*why = "too many triggers stand on this node";
	return all >= STANDING ? -EBUSY : 0;
}

bool standing_take(struct captures *cs, struct capture *c, uint64_t now)
{
	if (quota_take(&cs->aond->roster.raised.of_user, c->uid, now, QUOTA_DAY,
		       ALARM_CAPTURES_UID))
		return true;
	count_add(COUNT_captures_refused, 1);
	c->next_ns = (now / QUOTA_DAY + 1) * QUOTA_DAY;
	return false;
}

/* --- results --- */

/* As alarm.c does for its own: aon capture --raised reads both. */
static void tell(struct captures *cs, const struct capture *c, const struct capture_proc *p,
		 uint64_t from, uint64_t to)
{
	struct journal_entry e = { .kind = ENTRY_RAISED };

	entry_u(&e, FIELD_PROCESS, p->id);
	entry_u(&e, FIELD_PID, p->pid);
	entry_u(&e, FIELD_UID, c->uid);
	entry_u(&e, FIELD_SECONDS, (to - c->begin_ns) / SECOND_NS);
	entry_s(&e, FIELD_WHY, "trigger");
	entry_u(&e, FIELD_FROM_NS, from);
	entry_u(&e, FIELD_TO_NS, to);
	aond_journal(cs->aond, &e);
	count_add(COUNT_captures_raised, 1);
}

void standing_done(struct captures *cs, struct capture *c)
{
	uint64_t past = c->want.before_ms * 1000000u, to = c->begin_ns;
	uint64_t from = c->begin_ns > past ? c->begin_ns - past : 0;
	const struct capture_proc *by = c->n ? &c->proc[0] : NULL;
	const char *why;

	for (size_t i = 0; i < c->n; i++) {
		to = c->proc[i].end_ns > to ? c->proc[i].end_ns : to;
		by = c->proc[i].pid == c->fired_by ? &c->proc[i] : by;
	}
	for (size_t i = 0; i < c->n && i < ALARM_RANKS_KEPT; i++)
		store_keep(cs->aond->plant.store, c->proc[i].id, from, to);
	if (by && !c->err)
		tell(cs, c, by, from, to);
	capture_again(cs, c, &why);
}

/* --- the file --- */

static void put_all(FILE *f, const void *arg)
{
	const struct captures *cs = arg;

	for (size_t i = 0; i < CAPTURES; i++) {
		const struct capture *c = &cs->c[i];
		const struct capture_want *w = &c->want;

		if (c->state == CAPTURE_FREE || !w->stand)
			continue;
		fprintf(f,
			"%u\t%d\t%" PRIu64 "\tstand=1 steps=%" PRIu64 " ms=%" PRIu64
			" before=%" PRIu64 " timeout=%" PRIu64 " expires=%" PRIu64 " cool=%" PRIu64,
			c->uid, (int)c->pid, c->asked_ns, w->steps, w->ms, w->before_ms,
			w->timeout_ms, w->expires_s, w->cool_s);
		if (*w->ranks)
			fprintf(f, " ranks=%s", w->ranks);
		if (*w->job)
			fprintf(f, " job=%s", w->job);
		fprintf(f, " when=%s\n", w->when);
	}
}

void standing_write(const struct captures *cs)
{
	if (cs->kept)
		runfile_write(cs->aond->rundir.dir, STANDING_NAME, put_all, cs);
}

bool standing_parse(struct standing_line *out, char *line)
{
	uint64_t uid, pid;
	const char *why;

	if (!runfile_number(strsep(&line, "\t"), &uid) || uid >= UINT32_MAX ||
	    !runfile_number(strsep(&line, "\t"), &pid) || pid > INT32_MAX ||
	    !runfile_number(strsep(&line, "\t"), &out->asked_ns) || !line ||
	    capture_parse(&out->want, line, &why) < 0 || !out->want.stand)
		return false;
	out->uid = (uid_t)uid;
	out->pid = (pid_t)pid;
	return true;
}

void standing_read(struct captures *cs)
{
	char *text = runfile_read(cs->aond->rundir.dir, STANDING_NAME), *at = text, *line;
	struct standing_line l;
	struct capture *c;
	const char *why;

	while ((line = strsep(&at, "\n"))) {
		struct admin_client owner = { 0 };

		if (!standing_parse(&l, line))
			continue;
		owner.uid = l.uid;
		owner.pid = l.pid;
		if (!capture_begin(cs, &c, &owner, &l.want, &why) && l.asked_ns < c->asked_ns)
			c->asked_ns = l.asked_ns;
	}
	free(text);
	cs->kept = true;
	standing_write(cs);
}
