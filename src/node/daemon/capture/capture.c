/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - a capture from its begin, or its trigger, to the last commit; see capture.h. */
#include "daemon/capture/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/core/aond.h"
#include "daemon/capture/trigger_probe.h"
#include "daemon/control/audit.h"
#include "daemon/core/count.h"
#include "daemon/capture/persistent_triggers.h"

#define LOOK_NS      20000000ull  /* between two looks at those that run */
#define SETTLE_NS    600000000ull /* CUPTI's buffers are flushed within it */
#define CAPTURE_ARMS 256u         /* processes that one trigger waits for */
#define DAY_NS       (86400 * 1000000000ull)

static void account_all(struct captures *cs, struct capture *c)
{
	struct capture_proc *p;

	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		p = capture_proc_of(c, s);
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

/* --- limits --- */

static bool is_open(const struct capture *c)
{
	return c->state != CAPTURE_FREE;
}

static bool too_many(const struct captures *cs, uid_t uid)
{
	uint32_t own = 0;

	for (size_t i = 0; i < CAPTURES; i++)
		own += is_open(&cs->c[i]) && cs->c[i].uid == uid;
	return own >= CAPTURES_OF_UID;
}

/* One of those that the day allows. */
static bool take_one(struct captures *cs, uid_t uid, uint64_t now)
{
	uint32_t *count = &cs->count[uid % CAPTURE_USERS];

	if (now / DAY_NS != cs->day)
		memset(cs->count, 0, sizeof(cs->count));
	cs->day = now / DAY_NS;
	if (*count >= (uint32_t)cs->aond->param.captures_day)
		return false;
	++*count;
	return true;
}

#define DAY_IS_FULL "as many captures as captures_day allows were taken today"

/* --- beginning --- */

#define PIDS_TOLD 16u

static void journal(struct captures *cs, const struct capture *c)
{
	const struct capture_want *w = &c->want;
	struct journal_entry e = { .kind = ENTRY_CAPTURE };
	uint8_t pids[PIDS_TOLD * 10];
	char text[ENTRY_TEXT];
	size_t n = 0;

	entry_u(&e, FIELD_NUMBER, c->id);
	entry_u(&e, w->steps ? FIELD_STEPS : FIELD_MS, w->steps ? w->steps : w->ms);
	entry_u(&e, FIELD_BEFORE_MS, w->before_ms);
	entry_u(&e, FIELD_UID, c->uid);
	for (size_t i = 0; i < c->n && i < PIDS_TOLD; i++)
		n = entry_pack(pids, sizeof(pids), n, c->proc[i].pid);
	entry_list(&e, FIELD_PIDS, pids, n);
	if (c->n > PIDS_TOLD)
		entry_u(&e, FIELD_PIDS_MORE, c->n - PIDS_TOLD);
	if (*w->when) {
		entry_s(&e, FIELD_TRIGGER, w->when);
		entry_u(&e, FIELD_FIRED_PID, c->fired_by);
		entry_s(&e, FIELD_FIRED, c->why);
	}
	aond_journal(cs->aond, &e);
	audit_say(c->uid, c->pid, "capture", 0, "%s", entry_text(&e, text));
}

static int start(struct captures *cs, struct capture *c, const struct sess *by, uint64_t now)
{
	if (capture_choose(cs, c, by) < 0)
		return -ENOMEM;
	c->begin_ns = now;
	c->state = CAPTURE_RUNS;
	c->err = 0;
	c->fired++;
	if (c->want.steps || c->want.ms)
		capture_rise(cs, c, now);
	account_all(cs, c);
	if (c->n)
		journal(cs, c);
	count_add(COUNT_captures, 1);
	run_timer(cs, true);
	return 0;
}

/* Also at those that have come since. */
static void arm_all(struct captures *cs, struct capture *c, uint64_t now)
{
	size_t n = 0;

	for (struct sess *s = cs->aond->roster.first; s && n < CAPTURE_ARMS; s = s->next) {
		if (!capture_wants(c, s))
			continue;
		n++;
		if (!arm_of(s->stream, c->id))
			arm_add(s, cs, c->id, &c->want.trigger, now);
	}
}

int capture_begin(struct captures *cs, struct capture **out, const struct admin_client *asker,
		  const struct capture_want *w, const char **why)
{
	struct capture *c = NULL;
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < CAPTURES && !c; i++)
		if (!is_open(&cs->c[i]))
			c = &cs->c[i];
	*why = "too many captures are under way on this node: try again";
	if (!c)
		return -EBUSY;
	*why = "eight captures of yours are under way: wait for one, or see aon capture --list";
	if (too_many(cs, asker->uid))
		return -EBUSY;
	if (w->stand && standing_check(cs, asker->uid, w, why) < 0)
		return -EBUSY;
	*why = DAY_IS_FULL;
	if (!*w->when && !take_one(cs, asker->uid, now))
		return -EDQUOT;
	*c = (struct capture){ .id = cs->ids + 1,
			       .asker = w->stand ? 0 : asker->id,
			       .uid = asker->uid,
			       .pid = asker->pid,
			       .want = *w,
			       .asked_ns = now };
	*why = "no memory";
	if (*w->when) {
		c->state = CAPTURE_ARMED;
		arm_all(cs, c, now);
		audit_say(c->uid, c->pid, "capture", 0, "number %llu, %s: %s",
			  (unsigned long long)c->id, w->stand ? "stands" : "armed", w->when);
	} else if (start(cs, c, NULL, now) < 0) {
		return -ENOMEM;
	}
	cs->ids++;
	if (w->stand)
		standing_write(cs);
	*out = c;
	return 0;
}

int capture_again(struct captures *cs, struct capture *c, const char **why)
{
	uint64_t now = clock_mono_ns();

	*why = "it has no trigger, or is not done";
	if (c->state != CAPTURE_DONE || !*c->want.when)
		return -EINVAL;
	c->state = CAPTURE_ARMED;
	c->next_ns = c->begin_ns + c->want.cool_s * 1000000000u;
	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		struct arm *a = s->stream ? arm_of(s->stream, c->id) : NULL;

		if (a)
			arm_again(a, s, now);
	}
	return 0;
}

void capture_end(struct captures *cs, struct capture *c)
{
	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		struct capture_proc *p = capture_proc_of(c, s);

		if (c->state == CAPTURE_RUNS && p && p->end == CAPTURE_GOES_ON &&
		    (c->want.steps || c->want.ms))
			capture_lower(s);
		if (s->stream)
			arm_drop(s->stream, c->id);
	}
	free(c->proc);
	*c = (struct capture){ .state = CAPTURE_FREE };
}

/* --- waiting --- */

static void disarm(struct captures *cs, const struct capture *c)
{
	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		struct arm *a = s->stream ? arm_of(s->stream, c->id) : NULL;

		if (a)
			a->waits = false;
	}
}

/* The first whose trigger has fired. While it cools down nobody's counts. */
static void look_at_arms(struct captures *cs, struct capture *c, uint64_t now)
{
	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		struct arm *a = s->stream ? arm_of(s->stream, c->id) : NULL;

		if (!a || !a->fired)
			continue;
		a->fired = false;
		if (now < c->next_ns || c->state != CAPTURE_ARMED)
			continue;
		if (c->want.stand && !standing_take(cs, c, now))
			continue;
		trigger_say(a->when, a->meter, c->why, sizeof(c->why));
		c->fired_by = s->stream->proc.pid;
		if (!c->want.stand && !take_one(cs, c->uid, now)) {
			snprintf(c->why, sizeof(c->why), DAY_IS_FULL);
			c->state = CAPTURE_EXPIRED;
		} else if (!start(cs, c, s, now)) {
			disarm(cs, c);
		}
	}
}

void captures_fired(struct captures *cs)
{
	run_timer(cs, true);
}

/* A waiting client gets an answer; a persistent trigger has none. */
static void expire(struct captures *cs, struct capture *c)
{
	bool stands = c->want.stand;

	disarm(cs, c);
	c->state = CAPTURE_EXPIRED;
	if (!stands)
		return;
	audit_say(c->uid, c->pid, "capture", 0, "number %llu, expired: %s",
		  (unsigned long long)c->id, c->want.when);
	capture_end(cs, c);
	standing_write(cs);
}

void captures_tick(struct captures *cs, uint64_t now)
{
	for (size_t i = 0; i < CAPTURES; i++) {
		struct capture *c = &cs->c[i];

		if (c->state != CAPTURE_ARMED)
			continue;
		if ((!c->want.stand || c->want.expires_s) &&
		    now > c->asked_ns + c->want.expires_s * 1000000000u) {
			expire(cs, c);
			continue;
		}
		arm_all(cs, c, now);
		for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
			struct arm *a = s->stream ? arm_of(s->stream, c->id) : NULL;

			if (a)
				arm_second(a, s, now);
		}
	}
}

/* --- while it runs --- */

static bool is_through(const struct capture *c, struct capture_proc *p, const struct sess *s,
		       uint64_t now)
{
	struct aon_heartbeat heartbeat;

	if (!c->want.steps)
		return now >= c->begin_ns + c->want.ms * 1000000u;
	pool_heartbeat(s->stream->pool, &heartbeat);
	p->step = heartbeat.step;
	/* The next one has begun; or the last one's end was seen, if none follows. */
	return heartbeat.step > p->last || (s->stream->step >= p->last && s->stream->step_ns);
}

static void look_at_procs(struct captures *cs, struct capture *c, uint64_t now)
{
	bool late = c->want.steps && now > c->begin_ns + c->want.timeout_ms * 1000000u;
	size_t open = 0;

	for (size_t i = 0; i < c->n; i++) /* until its session is seen */
		c->proc[i].end = c->proc[i].end ? c->proc[i].end : CAPTURE_LEFT;
	for (struct sess *s = cs->aond->roster.first; s; s = s->next) {
		struct capture_proc *p = capture_proc_of(c, s);

		if (!p || p->end != CAPTURE_LEFT || p->end_ns || !s->stream)
			continue;
		p->end = is_through(c, p, s, now) ? CAPTURE_THROUGH
			 : late                   ? CAPTURE_LATE
						  : CAPTURE_GOES_ON;
		stream_account(s->stream, &p->is);
		open += p->end == CAPTURE_GOES_ON;
		if (p->end != CAPTURE_GOES_ON && (c->want.steps || c->want.ms))
			capture_lower(s);
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
		if (capture_proc_of(c, s) && strstr(s->stream->proc.note, "cuda on"))
			return SETTLE_NS;
	return 0;
}

static void look(struct captures *cs, struct capture *c, uint64_t now)
{
	if (c->state == CAPTURE_ARMED)
		look_at_arms(cs, c, now);
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
	uint64_t n, now = clock_mono_ns();
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
		if (c->want.stand)
			standing_done(cs, c);
	}
}

void captures_forget(struct captures *cs, uint64_t asker)
{
	for (size_t i = 0; i < CAPTURES; i++)
		if (is_open(&cs->c[i]) && cs->c[i].asker == asker)
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
		if (is_open(&cs->c[i]))
			capture_end(cs, &cs->c[i]);
	loop_del(&cs->aond->loop, &cs->timer);
	close(cs->timer.fd);
}
