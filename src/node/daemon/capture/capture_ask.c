/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_ask.c - requests about captures (admin.h), a line each, of words between tabs:
 *
 *	capture begin KEY=VALUE...  of the asker's processes, or of all if it is root's;
 *	                            "id N", "processes N", "store PATH"
 *	        steps=N | ms=N      so many steps, or so long; neither: the past alone
 *	        from=STEP           steps: not before this one
 *	        before=MS timeout=MS pids=P,P ranks=R,R job=J
 *	        expires=S cool=S when=TRIGGER   not before it fires (detect/trigger.h); it ends the line
 *	        stand=1             the trigger stays when the asker leaves (persistent_triggers.h)
 *	capture state               of this asker's: "capture ID STATE BEGIN_NS FIRED ERROR", then for
 *	                            each process "process PID ID RANK END FIRST LAST STEP END_NS
 *	                            EMITTED LOST", or while it is armed "armed PID VALUES"; "why TEXT"
 *	capture again ID            it was done, and waits for its trigger again; "ok"
 *	capture list                "ID UID STATE PROCESSES WHAT" of those that the asker may cancel
 *	capture jobs                "JOB PROCESSES STEP STEP_NS" of those that the asker may capture
 *	capture cancel ID           "ok"
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "daemon/core/aond.h"
#include "daemon/capture/trigger_probe.h"
#include "daemon/control/audit.h"
#include "daemon/capture/persistent_triggers.h"

#define STEPS_MAX 100000u
#define MS_MAX    600000u
#define WAIT_MAX  86400000u
#define DAY_S     86400u
#define JOBS_MAX  64u

static const char *const state_word[] = { "free",   "armed", "runs",   "settles",
					  "stores", "done",  "expired" };
static const char *const end_word[] = { "runs", "through", "left", "late" };

/* --- what is asked for --- */

static int list(const char *text, char out[CAPTURE_LIST])
{
	size_t len = strlen(text);

	if (!len || len >= CAPTURE_LIST || strspn(text, "0123456789,") != len)
		return -EINVAL;
	memcpy(out, text, len + 1);
	return 0;
}

static int key_value(struct capture_want *w, char *word)
{
	const struct {
		const char *key;
		uint64_t max, *to;
	} keys[] = { { "steps", STEPS_MAX, &w->steps },       { "ms", MS_MAX, &w->ms },
		     { "from", UINT64_MAX / 2, &w->from },    { "before", MS_MAX, &w->before_ms },
		     { "timeout", WAIT_MAX, &w->timeout_ms }, { "expires", DAY_S, &w->expires_s },
		     { "cool", DAY_S, &w->cool_s },           { "stand", 1, &w->stand } };
	char *value = word, *key = strsep(&value, "=");

	if (!value)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i].key))
			return num_u64(value, 0, keys[i].max, keys[i].to);
	if (!strcmp(key, "pids"))
		return list(value, w->pids);
	if (!strcmp(key, "ranks"))
		return list(value, w->ranks);
	if (!strcmp(key, "job") && *value && strlen(value) < sizeof(w->job)) {
		strcpy(w->job, value);
		return 0;
	}
	return -EINVAL;
}

int capture_parse(struct capture_want *out, char *text, const char **why)
{
	struct capture_want w = { .timeout_ms = 60000, .expires_s = 3600, .cool_s = 60 };
	char *word, *when = strncmp(text, "when=", 5) ? strstr(text, " when=") : text;
	static struct trigger_why wrong;

	if (when) {
		word = when + strlen(when == text ? "when=" : " when=");
		*why = wrong.text;
		if (trigger_parse(&w.trigger, word, &wrong) < 0)
			return -EINVAL;
		snprintf(w.when, sizeof(w.when), "%s", word);
		*when = '\0';
	}
	*why = "expected capture begin steps=N or ms=N, from=STEP before=MS timeout=MS pids=P,P "
	       "ranks=R,R job=J expires=S cool=S stand=1 when=TRIGGER";
	while (text && *text && (word = strsep(&text, " ")))
		if (key_value(&w, word) < 0)
			return -EINVAL;
	if (w.stand && w.cool_s < STANDING_COOL)
		w.cool_s = STANDING_COOL;
	if ((w.steps && w.ms) || (!w.steps && !w.ms && !w.before_ms) || (w.from && !w.steps))
		return -EINVAL;
	*out = w;
	return 0;
}

/* --- requests --- */

static void do_begin(FILE *f, struct captures *cs, const struct admin_client *asker, char *arg)
{
	struct capture_want w;
	struct capture *c;
	const char *why;

	int err = capture_parse(&w, arg, &why);

	err = err ? err : capture_begin(cs, &c, asker, &w, &why);
	if (err)
		audit_say(asker->uid, asker->pid, "capture", err, "%s", why);
	if (err)
		fprintf(f, "error: %s\n", why);
	else
		fprintf(f, "id\t%" PRIu64 "\nprocesses\t%zu\nstore\t%s\n", c->id, c->n,
			cs->aond->param.store.s);
}

static void put_proc(FILE *f, const struct capture_proc *p)
{
	uint64_t lost = account_losses(&p->is) - account_losses(&p->was);
	char rank[16] = "-";

	if (p->rank)
		snprintf(rank, sizeof(rank), "%u", p->rank - 1);
	fprintf(f,
		"process\t%u\t%u\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		"\t%" PRIu64 "\t%" PRIu64 "\n",
		p->pid, p->id, rank, end_word[p->end], p->first, p->last, p->step, p->end_ns,
		p->is.emitted - p->was.emitted, lost);
}

static void put_arms(FILE *f, const struct captures *cs, const struct capture *c)
{
	char text[160];

	for (const struct sess *s = cs->aond->roster.first; s; s = s->next) {
		const struct arm *a = s->stream ? arm_of(s->stream, c->id) : NULL;

		if (!a)
			continue;
		trigger_say(a->when, a->meter, text, sizeof(text));
		fprintf(f, "armed\t%u\t%s\n", s->stream->proc.pid, text);
	}
}

static void do_state(FILE *f, struct captures *cs, uint64_t asker)
{
	for (size_t i = 0; i < CAPTURES; i++) {
		const struct capture *c = &cs->c[i];

		if (c->state == CAPTURE_FREE || c->asker != asker)
			continue;
		fprintf(f, "capture\t%" PRIu64 "\t%s\t%" PRIu64 "\t%u\t%s\n", c->id,
			state_word[c->state], c->begin_ns, c->fired,
			c->err ? strerror(-c->err) : "-");
		if (*c->why)
			fprintf(f, "why\tpid %u: %s\n", c->fired_by, c->why);
		if (c->state == CAPTURE_ARMED)
			put_arms(f, cs, c);
		for (size_t k = 0; k < c->n && c->state != CAPTURE_ARMED; k++)
			put_proc(f, &c->proc[k]);
	}
}

static void do_list(FILE *f, const struct captures *cs, uid_t uid)
{
	for (size_t i = 0; i < CAPTURES; i++) {
		const struct capture *c = &cs->c[i];

		if (c->state == CAPTURE_FREE || (uid && c->uid != uid))
			continue;
		fprintf(f, "%" PRIu64 "\t%u\t%s\t%zu\t", c->id, c->uid, state_word[c->state], c->n);
		if (c->want.steps)
			fprintf(f, "%" PRIu64 " steps", c->want.steps);
		else
			fprintf(f, "%" PRIu64 " ms", c->want.ms);
		fprintf(f, ", %" PRIu64 " ms before", c->want.before_ms);
		if (*c->want.when)
			fprintf(f, ", when %s (%s%u times so far)", c->want.when,
				c->want.stand ? "stands, " : "", c->fired);
		fprintf(f, "\n");
	}
}

static void do_jobs(FILE *f, struct captures *cs, uid_t uid)
{
	struct capture_job job[JOBS_MAX];
	size_t n = capture_jobs(cs, uid, job, JOBS_MAX);

	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", job[i].job, job[i].ranks,
			job[i].step, job[i].step_ns);
}

static struct capture *find(struct captures *cs, uid_t uid, const char *arg)
{
	uint64_t id;

	for (size_t i = 0; !num_u64(arg, 0, UINT64_MAX, &id) && i < CAPTURES; i++) {
		struct capture *c = &cs->c[i];

		if (c->state != CAPTURE_FREE && c->id == id && (!uid || c->uid == uid))
			return c;
	}
	return NULL;
}

static void do_cancel(FILE *f, struct captures *cs, const struct admin_client *asker,
		      const char *arg)
{
	struct capture *c = find(cs, asker->uid, arg);

	audit_say(asker->uid, asker->pid, "cancel", c ? 0 : -ENOENT, "capture %.20s", arg);
	if (c)
		capture_end(cs, c);
	standing_write(cs);
	fprintf(f, c ? "ok\n" : "error: no capture %.20s of yours\n", arg);
}

static void do_again(FILE *f, struct captures *cs, const struct admin_client *asker,
		     const char *arg)
{
	struct capture *c = find(cs, asker->uid, arg);
	const char *why = "no such capture";

	if (!c || c->asker != asker->id || capture_again(cs, c, &why) < 0)
		fprintf(f, "error: %s\n", why);
	else
		fprintf(f, "ok\n");
}

void capture_ask(FILE *f, struct captures *cs, const struct admin_client *asker, char *request)
{
	char *word = strsep(&request, " ");

	if (!strcmp(word, "begin") && request)
		do_begin(f, cs, asker, request);
	else if (!strcmp(word, "state"))
		do_state(f, cs, asker->id);
	else if (!strcmp(word, "list"))
		do_list(f, cs, asker->uid);
	else if (!strcmp(word, "jobs"))
		do_jobs(f, cs, asker->uid);
	else if (!strcmp(word, "cancel") && request)
		do_cancel(f, cs, asker, request);
	else if (!strcmp(word, "again") && request)
		do_again(f, cs, asker, request);
	else
		fprintf(f, "error: expected capture begin, state, list, jobs, cancel or again\n");
}
