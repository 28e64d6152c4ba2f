/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget_ask.c - requests about budgets: of the node, of a job, of a process.
 *
 *	budget                       the node's; for its admin
 *	budget pid N | job J         of the process, of each process of the job
 *	budget pid N<tab>KEY=VALUE   from now on; KEY=- takes it back
 *	budget job J<tab>KEY=VALUE
 *
 * The answer is a line each: key, limit, unit, used, how often something was given up, what
 * that was, what `used` is of; tabs between. Of a process a line comes first: pid, its number, its
 * job, its last move between the fidelity levels.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "daemon/core/aond.h"
#include "daemon/control/audit.h"
#include "daemon/core/count.h"

/* --- the node --- */

static double budget_slowdown(const struct aond *d)
{
	int64_t most = 0;

	for (const struct sess *s = d->roster.first; s; s = s->next)
		if (s->stream && overhead_share(&s->stream->proc.overhead) > most)
			most = overhead_share(&s->stream->proc.overhead);
	return (double)most / 1e4;
}

static double probes_of(const struct sess *s)
{
	int gpus = __builtin_popcountll(s->stream->gpus);

	return gpus ? 100 * s->stream->cost.accounted / gpus : 0;
}

static double budget_probes(const struct aond *d)
{
	double most = 0;

	for (const struct sess *s = d->roster.first; s; s = s->next)
		if (s->stream && probes_of(s) > most)
			most = probes_of(s);
	return most;
}

static double budget_fidelity(const struct aond *d)
{
	enum fidelity low = FIDELITY_ALL;

	for (const struct sess *s = d->roster.first; s; s = s->next)
		if (s->stream && s->stream->cost.govern.fidelity > low)
			low = s->stream->cost.govern.fidelity;
	return low;
}

static uint64_t budget_lowered(const struct aond *d)
{
	uint64_t n = 0;

	for (const struct sess *s = d->roster.first; s; s = s->next)
		n += s->stream && s->stream->cost.govern.fidelity > FIDELITY_ALL;
	return n;
}

static double budget_cpu(const struct aond *d)
{
	return 100 * (double)clock_cpu_ns() / (double)(clock_mono_ns() - d->start_ns + 1);
}

static void put_row(FILE *f, const struct param *p, const char *key, double used, uint64_t given,
		    const char *given_what, const char *what)
{
	char value[PARAM_PATH_BYTES];
	const struct param_row *r = param_get(p, key, value);

	fprintf(f, "%s\t%s\t%s\t%.3f\t%llu\t%s\t%s\n", key, value,
		r->type == PARAM_NUM || r->type == PARAM_SHARE ? r->unit : "", used,
		(unsigned long long)given, given_what, what);
}

static void put_node(FILE *f, const struct aond *d)
{
	struct param p = d->param;

	p.cpu_percent = budget_percent(d); /* as it holds */
#define BUDGET(key, what, used, given_what, given) \
	put_row(f, &p, #key, used, given, given_what, what);
#include "daemon/budget/budget.tbl.h"
}

/* --- a process --- */

static double used_of(const struct sess *s, enum allow_key key)
{
	switch (key) {
	case ALLOW_max_slowdown:
		return (double)overhead_share(&s->stream->proc.overhead) / 1e4;
	case ALLOW_max_probe_cost:
		return probes_of(s);
	case ALLOW_disk_mib_day:
		return (double)budget_written(s) / (1 << 20);
	case ALLOW_fidelity:
		return s->stream->cost.govern.fidelity;
	case ALLOWS:
		break;
	}
	return -1;
}

static uint64_t given_of(const struct sess *s, enum allow_key key)
{
	switch (key) {
	case ALLOW_max_slowdown:
		return s->stream->proc.overhead.unsampled;
	case ALLOW_max_probe_cost:
		return s->stream->proc.overhead.moves;
	case ALLOW_disk_mib_day:
		return s->stream->tally.lost[AON_LOSS_ROLLED_UP];
	case ALLOW_fidelity:
	case ALLOWS:
		break;
	}
	return 0;
}

/* The settings as they hold for it. */
static struct param settings_of(const struct sess *s)
{
	struct param p = *s->roster->param;

#define ALLOW(key, used, given) p.key = budget_limit(s, ALLOW_##key);
#include "daemon/budget/allow.tbl.h"
	return p;
}

static void put_process(FILE *f, const struct sess *s)
{
	static const char *const word[ALLOWS][2] = {
#define ALLOW(key, used, given) { used, given },
#include "daemon/budget/allow.tbl.h"
	};
	struct param p = settings_of(s);

	fprintf(f, "pid\t%d\t%s\t%s\n", (int)s->peer.pid, s->stream->proc.job, s->budget.moved);
	for (int k = 0; k < ALLOWS; k++)
		put_row(f, &p, allow_name[k], used_of(s, (enum allow_key)k),
			given_of(s, (enum allow_key)k), word[k][1], word[k][0]);
}

/* --- whom a request is about --- */

struct about {
	struct aond *d;
	uid_t uid;
	bool admin;
	pid_t asker;
	pid_t pid;       /* 0: a job */
	const char *job; /* NULL: a process */
};

static bool is_about(const struct about *a, const struct sess *s)
{
	if (!s->stream || (!a->admin && s->peer.uid != a->uid))
		return false;
	return a->job ? !strcmp(s->stream->proc.job, a->job) : s->peer.pid == a->pid;
}

static int put_all(FILE *f, const struct about *a)
{
	unsigned n = 0;

	for (const struct sess *s = a->d->roster.first; s; s = s->next)
		if (is_about(a, s) && ++n)
			put_process(f, s);
	if (!n && a->job)
		fprintf(f, "error: no process of a job '%.60s' of yours is here\n", a->job);
	else if (!n)
		fprintf(f, "error: no session of a pid %d of yours\n", (int)a->pid);
	return n ? 0 : -ESRCH;
}

/* A user may say less than what holds without the user, not more. */
static int may_set(FILE *f, const struct about *a, enum allow_key key, int64_t value)
{
	const struct allow none = { 0 };
	int64_t holds;

	if (a->admin)
		return 0;
	for (const struct sess *s = a->d->roster.first; s; s = s->next) {
		struct allow admins = none;

		if (!is_about(a, s))
			continue;
		memcpy(admins.admin_set, s->budget.allow.admin_set, sizeof(admins.admin_set));
		memcpy(admins.admin, s->budget.allow.admin, sizeof(admins.admin));
		holds = allow_limit(s->roster->param, &s->roster->jobs, &admins,
				    s->stream->proc.job, (uid_t)-1, key);
		if (!allow_tighter(key, holds, value))
			continue;
		fprintf(f,
			"error: %s: that is more than holds here: only the node's admin may loosen "
			"it\n",
			allow_name[key]);
		return -EPERM;
	}
	return 0;
}

static int set_process(const struct about *a, enum allow_key key, const int64_t *value)
{
	int n = 0;

	for (struct sess *s = a->d->roster.first; s; s = s->next)
		if (is_about(a, s) && ++n)
			allow_set(&s->budget.allow, key, a->admin, value);
	return n ? 0 : -ESRCH;
}

/* For all of its processes, those that come later, too. */
static int set_job(const struct about *a, enum allow_key key, const int64_t *value)
{
	struct allow_job *j =
		allow_job(&a->d->roster.jobs, a->job, a->admin, a->uid, value != NULL);

	if (!j)
		return value ? -ENOSPC : 0;
	allow_set(&j->allow, key, a->admin, value);
	if (allow_empty(&j->allow))
		*j = (struct allow_job){ 0 };
	return 0;
}

static void set(FILE *f, const struct about *a, char *assign)
{
	char *value = assign, *key = strsep(&value, "="), text[ENTRY_TEXT];
	struct journal_entry e = { .kind = ENTRY_SET };
	enum allow_key k = allow_find(key);
	struct param scratch = a->d->param;
	struct param_why why = { "expected KEY=VALUE" };
	bool back = value && !strcmp(value, "-");
	int64_t v = 0;
	int err;

	if (k == ALLOWS || !value || (!back && param_set(&scratch, key, value, &why) < 0)) {
		fprintf(f, "error: %s\n",
			value && k == ALLOWS
				? "only max_slowdown, max_probe_cost, disk_mib_day and "
				  "fidelity can be set for a job or a process"
				: why.text);
		return;
	}
	v = back ? 0 : allow_node(&scratch, k);
	if (!back && may_set(f, a, k, v) < 0)
		return;
	err = a->job ? set_job(a, k, back ? NULL : &v) : set_process(a, k, back ? NULL : &v);
	if (err < 0) {
		fprintf(f, "error: %s\n",
			err == -ESRCH ? "no session of a pid of yours"
				      : "too many jobs have limits of their own");
		return;
	}
	kept_write(&a->d->roster, a->d->rundir.dir);
	entry_s(&e, FIELD_SETTING, key);
	entry_s(&e, FIELD_VALUE, value);
	entry_u(&e, FIELD_UID, a->uid);
	if (a->job)
		entry_s(&e, FIELD_JOB, a->job);
	else
		entry_u(&e, FIELD_PID, (uint64_t)a->pid);
	audit_say(a->uid, a->asker, "budget", 0, "%s", entry_text(&e, text));
	if (a->admin)
		aond_journal(a->d, &e);
	else
		roster_journal(&a->d->roster, a->uid, clock_mono_ns(), &e);
	fputs("ok\n", f);
}

void budget_ask(FILE *f, struct admin_client *c, char *request)
{
	struct aond *d = c->admin->aond;
	char *rest = request, *what = strsep(&rest, " "), *whom = strsep(&rest, "\t");
	struct about a = {
		.d = d, .uid = c->uid, .asker = c->pid, .admin = !c->guest || c->uid == 0
	};

	if (!*what && !c->guest) {
		put_node(f, d);
		return;
	}
	if (whom && !strcmp(what, "pid"))
		a.pid = (pid_t)num_front_i64(whom, NULL);
	else if (whom && *whom && !strcmp(what, "job"))
		a.job = whom;
	if (!a.pid && !a.job) {
		fprintf(f, "error: %s\n",
			!*what ? "the node's budgets are for its admin; say pid N or job J"
			       : "expected budget, budget pid N or budget job J");
		return;
	}
	if (rest)
		set(f, &a, rest);
	else
		put_all(f, &a);
}
