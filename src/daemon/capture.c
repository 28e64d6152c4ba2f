/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - from the gates up to the last commit; see capture.h. */
#include "daemon/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/aond.h"
#include "daemon/count.h"

#define LOOK_NS   20000000ull  /* between two looks at those that run */
#define SETTLE_NS 600000000ull /* CUPTI's buffers are flushed within it */
#define DAY_NS    (86400 * 1000000000ull)

/* --- who --- */

static bool listed(const char *list, long number)
{
	while (*list) {
		char *end;

		if (strtol(list, &end, 10) == number)
			return true;
		list = *end == ',' ? end + 1 : "";
	}
	return false;
}

static bool is_wanted(const struct capture *c, const struct sess *s)
{
	const struct capture_want *w = &c->want;
	const struct process *p;

	if (!s->stream || (c->uid && s->peer.uid != c->uid))
		return false;
	p = &s->stream->proc;
	return (!*w->pids || listed(w->pids, (long)p->pid)) &&
	       (!*w->ranks || (p->origin.rank && listed(w->ranks, (long)p->origin.rank - 1))) &&
	       (!*w->job || !strcmp(w->job, p->job) || (!*p->job && !strcmp(w->job, p->run)));
}

static int by_sess(const void *a, const void *b)
{
	uint64_t x = ((const struct capture_proc *)a)->sess;
	uint64_t y = ((const struct capture_proc *)b)->sess;

	return x > y ? -1 : x < y;
}

static struct capture_proc *proc_of(struct capture *c, const struct sess *s)
{
	struct capture_proc key = { .sess = s->id };

	return c->n ? bsearch(&key, c->proc, c->n, sizeof(key), by_sess) : NULL;
}

static int choose(struct captures *cs, struct capture *c)
{
	struct roster *r = &cs->aond->roster;

	c->proc = calloc(r->count + 1, sizeof(*c->proc));
	if (!c->proc)
		return -ENOMEM;
	for (struct sess *s = r->first; s; s = s->next) {
		const struct process *p = s->stream ? &s->stream->proc : NULL;

		if (is_wanted(c, s))
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
		if (!o->stream || (o != s && (!s->leader || o->leader != s->leader)))
			continue;
		cost_hold(&o->stream->cost, now);
		if (o->trials)
			gate_trial(&o->gate, o->stream->cost.trial, o->stream->cost.seed);
	}
}

static void lower(struct sess *s)
{
	if (s->captures)
		s->captures--;
	sess_tier(s);
}

static bool same_job(const struct sess *a, const struct sess *b)
{
	return a == b || (*a->stream->proc.job && a->peer.uid == b->peer.uid &&
			  !strcmp(a->stream->proc.job, b->stream->proc.job));
}

/* The first step that no rank of its job had begun when the gates were up; one more, because a step
 * that begins tells its number last. */
static uint64_t first_step(struct capture *c, const struct sess *s)
{
	struct aon_pulse p;
	uint64_t most = 0;

	for (const struct sess *o = s->roster->first; o; o = o->next) {
		if (!proc_of(c, o) || !same_job(s, o))
			continue;
		pool_pulse(o->stream->pool, &p);
		most = p.step > most ? p.step : most;
	}
	return most + 2;
}

static void rise(struct captures *cs, struct capture *c, uint64_t now)
{
	struct roster *r = &cs->aond->roster;
	struct capture_proc *p;

	for (struct sess *s = r->first; s; s = s->next) {
		if (!proc_of(c, s))
			continue;
		s->captures++;
		hold(s, now);
		sess_tier(s);
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* the gates, then the pulses */
	for (struct sess *s = r->first; s && c->want.steps; s = s->next) {
		p = proc_of(c, s);
		if (!p)
			continue;
		p->first = first_step(c, s);
		p->last = p->first + c->want.steps - 1;
	}
}

static void account_all(struct captures *cs, struct capture *c)
{
	struct capture_proc *p;

	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		p = proc_of(c, s);
		if (p)
			stream_account(s->stream, &p->was);
		if (p)
			p->is = p->was;
	}
}

static void run_timer(struct captures *cs, bool on)
{
	struct itimerspec its = { .it_interval.tv_nsec = on ? (long)LOOK_NS : 0,
				  .it_value.tv_nsec = on ? (long)LOOK_NS : 0 };

	timerfd_settime(cs->timer.fd, 0, &its, NULL);
}

static bool too_many(struct captures *cs, uid_t uid, uint64_t now, const char **why)
{
	uint32_t own = 0, *day = &cs->count[uid % CAPTURE_USERS];

	if (now / DAY_NS != cs->day)
		memset(cs->count, 0, sizeof(cs->count));
	cs->day = now / DAY_NS;
	for (size_t i = 0; i < CAPTURES; i++)
		own += cs->c[i].state != CAPTURE_FREE && cs->c[i].uid == uid;
	*why = own >= CAPTURES_OF_UID ? "eight captures of yours are under way: wait for one"
				      : "as many captures as captures_day allows were taken today";
	if (own < CAPTURES_OF_UID && *day < (uint32_t)cs->aond->param.captures_day) {
		++*day;
		return false;
	}
	return true;
}

static void journal(struct captures *cs, const struct capture *c)
{
	const struct capture_want *w = &c->want;
	char text[300], what[48];
	int at;

	if (w->steps)
		snprintf(what, sizeof(what), "%llu steps", (unsigned long long)w->steps);
	else
		snprintf(what, sizeof(what), "%llu ms", (unsigned long long)w->ms);
	at = snprintf(text, sizeof(text), "number %llu, %s and %llu ms before, for user %u, of pid",
		      (unsigned long long)c->id, what, (unsigned long long)w->before_ms, c->uid);
	for (size_t i = 0; i < c->n && i < 16; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s %u", i ? "," : "",
			       c->proc[i].pid);
	if (c->n > 16)
		snprintf(text + at, sizeof(text) - (size_t)at, " and %zu more", c->n - 16);
	aond_journal(cs->aond, "capture", text);
}

int capture_begin(struct captures *cs, struct capture **out, uint64_t asker, uid_t uid,
		  const struct capture_want *w, const char **why)
{
	struct capture *c = NULL;
	uint64_t now = now_mono();

	for (size_t i = 0; i < CAPTURES && !c; i++)
		if (cs->c[i].state == CAPTURE_FREE)
			c = &cs->c[i];
	*why = "too many captures are under way on this node: try again";
	if (!c || too_many(cs, uid, now, why))
		return -EBUSY;
	*c = (struct capture){ .asker = asker, .uid = uid, .want = *w, .begin_ns = now };
	*why = "no memory";
	if (choose(cs, c) < 0)
		return -ENOMEM;
	c->id = ++cs->ids;
	c->state = CAPTURE_RUNS;
	if (w->steps || w->ms)
		rise(cs, c, now);
	account_all(cs, c);
	if (c->n)
		journal(cs, c);
	count_add(COUNT_captures, 1);
	run_timer(cs, true);
	*out = c;
	return 0;
}

void capture_end(struct captures *cs, struct capture *c)
{
	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		struct capture_proc *p = proc_of(c, s);

		if (p && p->end == CAPTURE_GOES_ON && (c->want.steps || c->want.ms))
			lower(s);
	}
	free(c->proc);
	*c = (struct capture){ .state = CAPTURE_FREE };
}

/* --- while it runs --- */

static bool is_through(const struct capture *c, struct capture_proc *p, const struct sess *s,
		       uint64_t now)
{
	struct aon_pulse pulse;

	if (!c->want.steps)
		return now >= c->begin_ns + c->want.ms * 1000000u;
	pool_pulse(s->stream->pool, &pulse);
	p->step = pulse.step;
	/* The next one has begun; or the last one's end was seen, if none follows. */
	return pulse.step > p->last || (s->stream->step >= p->last && s->stream->step_ns);
}

static void look_at_procs(struct captures *cs, struct capture *c, uint64_t now)
{
	bool late = c->want.steps && now > c->begin_ns + c->want.timeout_ms * 1000000u;
	size_t open = 0;

	for (size_t i = 0; i < c->n; i++) /* until its session is seen */
		c->proc[i].end = c->proc[i].end ? c->proc[i].end : CAPTURE_LEFT;
	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		struct capture_proc *p = proc_of(c, s);

		if (!p || p->end != CAPTURE_LEFT || p->end_ns || !s->stream)
			continue;
		p->end = is_through(c, p, s, now) ? CAPTURE_THROUGH
			 : late                   ? CAPTURE_LATE
						  : CAPTURE_GOES_ON;
		stream_account(s->stream, &p->is);
		open += p->end == CAPTURE_GOES_ON;
		if (p->end != CAPTURE_GOES_ON && (c->want.steps || c->want.ms))
			lower(s);
	}
	for (size_t i = 0; i < c->n; i++)
		if (c->proc[i].end && !c->proc[i].end_ns)
			c->proc[i].end_ns = now;
	if (!open) {
		c->state = CAPTURE_SETTLES;
		c->settle_ns = now;
	}
}

/* Only CUPTI holds back. */
static uint64_t settle_ns(struct captures *cs, struct capture *c)
{
	for (struct sess *s = cs->aond->roster.first; s; s = s->next)
		if (proc_of(c, s) && strstr(s->stream->proc.note, "cuda on"))
			return SETTLE_NS;
	return 0;
}

static void look(struct captures *cs, struct capture *c, uint64_t now)
{
	if (c->state == CAPTURE_RUNS)
		look_at_procs(cs, c, now);
	if (c->state == CAPTURE_SETTLES && now >= c->settle_ns + settle_ns(cs, c)) {
		roster_sync(&cs->aond->roster);
		c->commit = aond_commit(cs->aond, true);
		if (c->commit) /* else there was no memory: again */
			c->state = CAPTURE_STORES;
	}
}

static void on_timer(struct watch *w, uint32_t events)
{
	struct captures *cs = container_of(w, struct captures, timer);
	uint64_t n, now = now_mono();
	bool open = false;

	(void)events;
	if (read(w->fd, &n, sizeof(n)) < 0)
		return;
	for (size_t i = 0; i < CAPTURES; i++) {
		look(cs, &cs->c[i], now);
		open |= cs->c[i].state == CAPTURE_RUNS || cs->c[i].state == CAPTURE_SETTLES;
	}
	if (!open)
		run_timer(cs, false);
}

void captures_flushed(struct captures *cs, uint64_t done, int err)
{
	for (size_t i = 0; i < CAPTURES; i++) {
		struct capture *c = &cs->c[i];

		if (c->state != CAPTURE_STORES || c->commit > done)
			continue;
		c->state = CAPTURE_DONE;
		c->err = err;
	}
}

void captures_forget(struct captures *cs, uint64_t asker)
{
	for (size_t i = 0; i < CAPTURES; i++)
		if (cs->c[i].state != CAPTURE_FREE && cs->c[i].asker == asker)
			capture_end(cs, &cs->c[i]);
}

int captures_init(struct captures *cs, struct aond *d)
{
	*cs = (struct captures){
		.aond = d,
		.timer = { timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), on_timer }
	};
	if (cs->timer.fd < 0)
		return -errno;
	return loop_add(&d->loop, &cs->timer, EPOLLIN);
}

void captures_fini(struct captures *cs)
{
	for (size_t i = 0; i < CAPTURES; i++)
		if (cs->c[i].state != CAPTURE_FREE)
			capture_end(cs, &cs->c[i]);
	loop_del(&cs->aond->loop, &cs->timer);
	close(cs->timer.fd);
}
