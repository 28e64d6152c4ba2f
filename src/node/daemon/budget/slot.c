/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.c - programs without steps: time slots take the place of steps.
 *
 * A slot is a twentieth of a second of the wall clock, so that all ranks of a job, on other nodes
 * too, have the same slots. Instead of the time of a step, the time per launch is compared: the
 * launches in a slot are read from the program's heartbeat, which continues in unsampled slots. The
 * program does not know about slots: its gate requests less during an unsampled one.
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/session/session_list.h"
#include "pool/pool.h"

#define LAUNCHES_MIN 20u /* in a second: with fewer, one more or less is more than what is sought */

static uint64_t launches_of(const struct sess *s)
{
	struct aon_heartbeat p;

	pool_heartbeat(s->stream->pool, &p);
	return p.launches;
}

static void leave_out(struct sess *s, bool yes)
{
	if (s->gate.unsampled == yes)
		return;
	s->gate.unsampled = yes;
	sess_tier(s);
}

/* The slot before this moment has ended, and `number` begins. */
static void take(struct sess *s, uint64_t number, uint64_t now)
{
	struct cost *c = &s->stream->cost;
	uint64_t launches = launches_of(s);
	struct aon_trial_at at;

	if (number == s->slot.number)
		return;
	if (s->slot.number && launches > s->slot.at_begin)
		s->stream->proc.overhead.unsampled +=
			cost_slot(c, s->slot.number, s->slot.ns, now, launches - s->slot.at_begin);
	s->slot.number = number;
	s->slot.ns = now;
	s->slot.at_begin = launches;
	at = aon_trial_at(c->trial, c->seed, number);
	leave_out(s, c->by_rate && at.off);
	if (c->by_rate && !at.off)
		weigh_step(&s->stream->weigh, now, aon_trial_weight(c->trial, at));
}

static void on_timer(struct watch *w, uint32_t events)
{
	struct roster *r = container_of(w, struct roster, slots.timer);
	uint64_t n, number = clock_wall_ns() / COST_SLOT_NS, now = clock_mono_ns();

	(void)events;
	if (read(w->fd, &n, sizeof(n)) < 0)
		return;
	for (struct sess *s = r->first; s; s = s->next)
		if (s->stream && s->slot.on)
			take(s, number, now);
}

/* Anew every second: who sets the wall clock back would stop it else. */
static void arm(struct roster *r, bool on)
{
	uint64_t next = (clock_wall_ns() / COST_SLOT_NS + 1) * COST_SLOT_NS;
	struct itimerspec its = { 0 };

	if (!on && !r->slots.armed)
		return;
	if (on)
		its = (struct itimerspec){ .it_interval.tv_nsec = COST_SLOT_NS,
					   .it_value = { (time_t)(next / 1000000000u),
							 (long)(next % 1000000000u) } };
	timerfd_settime(r->slots.timer.fd, TFD_TIMER_ABSTIME, &its, NULL);
	r->slots.armed = on;
}

/* Has it launched enough in the last second, and no steps to be measured by? */
static bool is_slotted(struct sess *s)
{
	const struct cost *c = &s->stream->cost;
	uint64_t was = s->slot.launches;

	s->slot.launches = launches_of(s);
	return s->roster->param->measure && (c->by_rate || !c->steps) &&
	       s->slot.launches - was >= LAUNCHES_MIN && was;
}

void slot_tick(struct roster *r)
{
	bool any = false;

	for (struct sess *s = r->first; s; s = s->next) {
		if (!s->stream)
			continue;
		s->slot.on = is_slotted(s);
		any |= s->slot.on;
		if (s->slot.on)
			continue;
		s->slot.number = 0;
		leave_out(s, false);
	}
	arm(r, any);
}

int slot_init(struct roster *r)
{
	int err;

	r->slots.timer = (struct watch){ timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC),
					 on_timer };
	if (r->slots.timer.fd < 0)
		return -errno;
	err = loop_add(r->loop, &r->slots.timer, EPOLLIN);
	if (err)
		close(r->slots.timer.fd);
	return err;
}

void slot_fini(struct roster *r)
{
	loop_del(r->loop, &r->slots.timer);
	close(r->slots.timer.fd);
}
