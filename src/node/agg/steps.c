/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - open steps of a session. */
#include "agg/steps.h"

#include "abi/record.h"

static void take(struct steps *s, struct open_step *from, uint64_t end_ns, uint8_t flags,
		 struct event *out)
{
	*out = from->ev;
	end_at(out, end_ns, flags);
	from->ev.kind = EVENT_NONE;
	s->count--;
}

/* The thread's own, else a free place, else the oldest. */
static struct open_step *place(struct steps *s, uint32_t tid)
{
	struct open_step *best = &s->step[0];

	for (struct open_step *p = s->step; p < s->step + OPEN_STEPS; p++) {
		if (p->ev.kind && p->tid == tid)
			return p;
		if (best->ev.kind && (!p->ev.kind || p->ev.start_ns < best->ev.start_ns))
			best = p;
	}
	return best;
}

/* Numbers come again, unlike ids of ranges: an end before the begin is another one's. */
static struct step_end *ended(struct steps *s, uint64_t number, uint64_t from_ns)
{
	for (struct step_end *e = s->ended; e < s->ended + OPEN_STEPS; e++)
		if (e->ns && e->number == number && e->ns >= from_ns)
			return e;
	return NULL;
}

static void drop(struct steps *s, struct step_end *e)
{
	e->ns = 0;
	s->count--;
}

int steps_begin(struct steps *s, uint32_t tid, const struct event *ev, struct event *out)
{
	struct step_end *e = ended(s, ev->a, ev->start_ns);
	struct open_step *p;
	int got = 0;

	if (e) {
		*out = *ev;
		end_at(out, e->ns, 0);
		drop(s, e);
		return 1;
	}
	p = place(s, tid);
	if (p->ev.kind) {
		take(s, p, ev->start_ns, EVENT_OPEN, out);
		got = 1;
	}
	*p = (struct open_step){ *ev, tid };
	s->count++;
	return got;
}

static int wait_for_begin(struct steps *s, uint64_t number, uint64_t now_ns)
{
	for (struct step_end *e = s->ended; e < s->ended + OPEN_STEPS; e++)
		if (!e->ns) {
			*e = (struct step_end){ number, now_ns };
			s->count++;
			return 0;
		}
	return -(int)AON_LOSS_UNMATCHED;
}

int steps_end(struct steps *s, uint32_t tid, uint64_t number, uint64_t now_ns, struct event *out)
{
	struct open_step *found = NULL;

	for (struct open_step *p = s->step; p < s->step + OPEN_STEPS; p++)
		if (p->ev.kind && p->ev.a == number && (!found || p->tid == tid))
			found = p;
	if (!found)
		return wait_for_begin(s, number, now_ns);
	take(s, found, now_ns, 0, out);
	return 1;
}

uint64_t steps_give_up(struct steps *s, uint64_t before_ns)
{
	uint64_t n = 0;

	for (struct step_end *e = s->ended; s->count && e < s->ended + OPEN_STEPS; e++)
		if (e->ns && e->ns < before_ns) {
			drop(s, e);
			n++;
		}
	return n;
}

bool steps_take(struct steps *s, uint64_t end_ns, struct event *out)
{
	for (struct open_step *p = s->step; p < s->step + OPEN_STEPS; p++)
		if (p->ev.kind) {
			take(s, p, end_ns, EVENT_OPEN, out);
			return true;
		}
	return false;
}
