/* SPDX-License-Identifier: Apache-2.0 */
/* capture_rise.c - chooses the processes of a capture, and raises their gates; see capture.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/order.h"
#include "daemon/core/aond.h"

/* --- who --- */

bool capture_wants(const struct capture *c, const struct sess *s)
{
	const struct capture_want *w = &c->want;
	const struct process *p;

	if (!s->stream || (c->uid && s->peer.uid != c->uid))
		return false;
	p = &s->stream->proc;
	return (!*w->pids || num_listed(w->pids, (long)p->pid)) &&
	       (!*w->ranks || (p->origin.rank && num_listed(w->ranks, (long)p->origin.rank - 1))) &&
	       (!*w->job || !strcmp(w->job, p->job) || (!*p->job && !strcmp(w->job, p->run)));
}

static int by_sess(const void *a, const void *b)
{
	const struct capture_proc *x = a, *y = b;

	return cmp_num(y->sess, x->sess);
}

struct capture_proc *capture_proc_of(const struct capture *c, const struct sess *s)
{
	struct capture_proc key = { .sess = s->id };

	return c->n ? bsearch(&key, c->proc, c->n, sizeof(key), by_sess) : NULL;
}

static bool same_job(const struct sess *a, const struct sess *b)
{
	return a == b || (*a->stream->proc.job && a->peer.uid == b->peer.uid &&
			  !strcmp(a->stream->proc.job, b->stream->proc.job));
}

int capture_choose(struct captures *cs, struct capture *c, const struct sess *by)
{
	struct roster *r = &cs->aond->roster;

	free(c->proc);
	c->n = 0;
	c->proc = calloc(r->count + 1, sizeof(*c->proc));
	if (!c->proc)
		return -ENOMEM;
	for (struct sess *s = r->first; s; s = s->next) {
		const struct process *p = s->stream ? &s->stream->proc : NULL;

		if (capture_wants(c, s) && (!by || same_job(s, by)))
			c->proc[c->n++] = (struct capture_proc){
				.sess = s->id, .pid = p->pid, .id = p->id, .rank = p->origin.rank
			};
	}
	qsort(c->proc, c->n, sizeof(*c->proc), by_sess);
	return 0;
}

/* --- up and down --- */

/* Ranks of a job leave out the same steps: while one is captured, none does. */
static void hold(struct sess *s, uint64_t now)
{
	for (struct sess *o = s->roster->first; o; o = o->next) {
		if (!o->stream ||
		    (o != s && (!s->budget.leader || o->budget.leader != s->budget.leader)))
			continue;
		cost_hold(&o->stream->cost, now);
		if (o->budget.trials)
			gate_trial(&o->gate, o->stream->cost.trial, o->stream->cost.seed);
	}
}

void capture_lower(struct sess *s)
{
	if (s->budget.captures)
		s->budget.captures--;
	sess_tier(s);
}

/* The first step that no rank of its job had begun when the gates were up; one more, because a step
 * that begins tells its number last. */
static uint64_t first_step(struct capture *c, const struct sess *s)
{
	struct aon_heartbeat p;
	uint64_t most = 0;

	for (const struct sess *o = s->roster->first; o; o = o->next) {
		if (!capture_proc_of(c, o) || !same_job(s, o))
			continue;
		pool_heartbeat(o->stream->pool, &p);
		most = p.step > most ? p.step : most;
	}
	return most + 2;
}

void capture_rise(struct captures *cs, struct capture *c, uint64_t now)
{
	struct roster *r = &cs->aond->roster;
	struct capture_proc *p;
	uint32_t order = 0;

	for (struct sess *s = r->first; s; s = s->next) {
		if (!capture_proc_of(c, s))
			continue;
		s->budget.captures++;
		hold(s, now);
		sess_tier(s);
	}
	/* The gates, then the heartbeats. Not a fence: GCC's thread sanitizer knows none. */
	__atomic_fetch_add(&order, 1, __ATOMIC_SEQ_CST);
	for (struct sess *s = r->first; s && c->want.steps; s = s->next) {
		p = capture_proc_of(c, s);
		if (!p)
			continue;
		p->first = first_step(c, s);
		if (p->first < c->want.from)
			p->first = c->want.from;
		p->last = p->first + c->want.steps - 1;
	}
}

/* --- how far jobs are --- */

static struct capture_job *job_place(struct capture_job *all, size_t *n, size_t cap,
				     const char *job)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(all[i].job, job))
			return &all[i];
	if (*n == cap || !*job || strlen(job) >= sizeof(all->job) || strpbrk(job, " \t\n"))
		return NULL;
	all[*n] = (struct capture_job){ 0 };
	strcpy(all[*n].job, job);
	return &all[(*n)++];
}

size_t capture_jobs(struct captures *cs, uid_t uid, struct capture_job *out, size_t cap)
{
	size_t n = 0;

	for (const struct sess *s = cs->aond->roster.first; s; s = s->next) {
		const struct process *p = s->stream ? &s->stream->proc : NULL;
		struct capture_job *j;
		struct aon_heartbeat heartbeat;

		if (!p || (uid && s->peer.uid != uid))
			continue;
		j = job_place(out, &n, cap, *p->job ? p->job : p->run);
		if (!j)
			continue;
		pool_heartbeat(s->stream->pool, &heartbeat);
		j->ranks++;
		j->step = heartbeat.step > j->step ? heartbeat.step : j->step;
		j->step_ns = s->stream->step_ns > j->step_ns ? s->stream->step_ns : j->step_ns;
	}
	return n;
}
