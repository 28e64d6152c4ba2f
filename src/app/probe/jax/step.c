/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - see step.h. */
#include "probe/jax/step.h"

#define CALLS_MIN 3u /* that make a habit */
#define QUIET_NS  10000000000ull
#define RECENT    4u /* steps: what was called in one of them belongs to a step */

/* Turns begin at RECENT, so that 0 is never recent. */
static bool recent(const struct jax_clock *c, const struct step_function *f)
{
	return f->turn && c->turn - f->turn < RECENT;
}

static void next_turn(struct jax_clock *c)
{
	c->turn++;
	c->next.function = 0;
}

static void add_next(struct jax_clock *c, uint64_t now_ns)
{
	c->next.begin_ns[c->next.calls++ % STEP_PAST] = now_ns;
}

/* It was called again while the anchor was not: the first of such, or the first to be called. */
static void may_be_next(struct jax_clock *c, uint32_t function, const struct step_function *f,
			uint64_t now_ns)
{
	if (c->next.function == function && c->next.tid == f->tid) {
		add_next(c, now_ns);
	} else if (!c->next.function || f->first_ns < c->function[c->next.function].first_ns) {
		c->next.function = function;
		c->next.tid = f->tid;
		c->next.calls = 0;
		add_next(c, f->first_ns);
		add_next(c, now_ns);
	}
}

/* A thread that is busy may be far ahead of the anchor's without being its heir. */
static bool takes_over(const struct jax_clock *c, uint64_t now_ns)
{
	if (c->next.calls < CALLS_MIN)
		return false;
	if (c->anchor && c->next.tid != c->anchor_tid && now_ns - c->anchor_ns < QUIET_NS)
		return false;
	return !c->anchor || c->next.calls > c->function[c->anchor].calls;
}

static struct step_news take_over(struct jax_clock *c, struct step_news news, uint64_t now_ns)
{
	uint64_t past = c->next.calls - 1;

	if (!c->open)
		news.past = past < STEP_PAST ? (uint32_t)past : STEP_PAST - 1;
	news.end |= c->open;
	news.begin = true;
	c->anchor = c->next.function;
	c->anchor_tid = c->next.tid;
	c->anchor_ns = now_ns;
	c->open = true;
	next_turn(c);
	return news;
}

struct step_news step_call(struct jax_clock *c, uint32_t function, uint32_t tid, uint64_t now_ns)
{
	struct step_news news = { false, 0, false };
	struct step_function *f;

	if (!function || function >= STEP_FUNCTIONS)
		return news;
	f = &c->function[function];
	if (!c->turn)
		c->turn = RECENT;
	f->calls++;
	if (c->anchor && function == c->anchor && tid == c->anchor_tid) {
		news.end = c->open;
		news.begin = c->open = true;
		c->anchor_ns = now_ns;
		next_turn(c);
		return news;
	}
	if (c->open && tid == c->anchor_tid && !recent(c, f)) {
		news.end = true;
		c->open = false;
	}
	if (f->turn != c->turn || f->tid != tid) {
		f->first_ns = now_ns;
		f->tid = tid;
		f->turn = c->turn;
		return news;
	}
	may_be_next(c, function, f, now_ns);
	return c->next.function == function && takes_over(c, now_ns) ? take_over(c, news, now_ns)
								     : news;
}

uint64_t step_past(const struct jax_clock *c, uint32_t n, uint32_t i)
{
	return c->next.begin_ns[(c->next.calls - 1 - n + i) % STEP_PAST];
}
