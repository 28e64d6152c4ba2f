/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - see step.h. */
#include "probe/torch/step.h"

#define HABIT_STEPS 2u /* in a row that make a habit */

/* What came after the step's last optimizer is of the next one. */
static void habit_end(struct step_habit *h)
{
	h->same = h->mark == h->usual ? h->same + 1 : 0;
	h->usual = h->mark;
	h->now -= h->mark;
	h->mark = 0;
}

static int habit_broken(const struct step_habit *h)
{
	return h->usual && h->same >= HABIT_STEPS && h->now >= h->usual;
}

/* The step ends at `at`, where the next one begins. */
static int end_step(struct step_clock *c, uint64_t at, struct step_span *out)
{
	*out = (struct step_span){ c->begin_ns ? c->begin_ns : at, at };
	c->begin_ns = at;
	c->end_ns = 0;
	c->first = 0;
	c->cleared = 0;
	return 1;
}

static int end_usual(struct step_clock *c, uint64_t at, struct step_span *out)
{
	habit_end(&c->zero);
	habit_end(&c->fetch);
	return end_step(c, at, out);
}

void step_touch(struct step_clock *c, uint64_t now_ns)
{
	if (!c->begin_ns)
		c->begin_ns = now_ns;
}

static void learn_last(struct step_clock *c)
{
	c->last = c->prev;
	c->last_run = c->several ? c->run : 1;
}

/* The step ended with the optimizer before this one. */
static int end_late(struct step_clock *c, struct step_span *out)
{
	learn_last(c);
	return end_usual(c, c->end_ns, out);
}

int step_optimizer(struct step_clock *c, uint64_t id, uint64_t now_ns, struct step_span out[2])
{
	int again = id == c->prev, n = 0;

	step_touch(c, now_ns);
	if (c->prev && !again && !c->several) {
		c->several = 1;
		c->last = 0; /* to be learned anew */
	}
	if (c->end_ns && id == c->first && (!again || !c->several))
		n = end_late(c, out);
	c->run = again && c->several ? c->run + 1 : 1;
	c->prev = id;
	if (!c->end_ns)
		c->first = id;
	c->end_ns = now_ns;
	c->zero.mark = c->zero.now;
	c->fetch.mark = c->fetch.now;
	if (id == c->last && (!c->several || c->run >= c->last_run))
		n += end_usual(c, now_ns, &out[n]);
	return n;
}

int step_zero(struct step_clock *c, uint64_t now_ns, struct step_span *out)
{
	int n = 0;

	step_touch(c, now_ns);
	if (!c->end_ns && habit_broken(&c->zero)) {
		n = end_step(c, now_ns, out);
		c->zero.now = c->fetch.now = 0;
	}
	c->cleared = c->fetch.now > 0;
	c->zero.now++;
	return n;
}

int step_fetch(struct step_clock *c, uint64_t now_ns, struct step_span *out)
{
	int n = 0;

	if (!c->end_ns && habit_broken(&c->fetch)) {
		if (c->cleared)
			n = end_step(c, now_ns, out);
		c->begin_ns = now_ns;
		c->fetch.now = c->zero.now = 0;
	}
	step_touch(c, now_ns);
	c->fetch.now++;
	return n;
}

int step_finish(struct step_clock *c, struct step_span *out)
{
	return c->end_ns ? end_usual(c, c->end_ns, out) : 0;
}
