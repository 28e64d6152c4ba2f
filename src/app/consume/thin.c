/* SPDX-License-Identifier: Apache-2.0 */
/* thin.c - see thin.h. */
#include "consume/thin.h"

void thin_init(struct thin *t, uint32_t rate, uint64_t now_ms)
{
	*t = (struct thin){ .rate = rate,
			    .block = 1,
			    .tokens = rate,
			    .at_ms = now_ms,
			    .second = now_ms,
			    .random = now_ms * 2654435761u + (uintptr_t)t + 1 };
}

static uint64_t chance(struct thin *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

static void look(struct thin *t, uint64_t now_ms)
{
	if (now_ms <= t->at_ms)
		return;
	t->tokens += (double)(now_ms - t->at_ms) * t->rate / 1000;
	if (t->tokens > t->rate)
		t->tokens = t->rate;
	t->at_ms = now_ms;
	if (now_ms - t->second < 1000)
		return;
	t->block = t->seen * 1000 / (now_ms - t->second) / t->rate + 1;
	t->seen = 0;
	t->second = now_ms;
}

static bool hand_out(struct thin *t, struct aon_consumer_event *e, uint64_t *weight)
{
	*e = t->held;
	*weight = t->n;
	t->n = 0;
	t->tokens -= 1;
	return true;
}

bool thin_take(struct thin *t, struct aon_consumer_event *e, uint64_t now_ms, uint64_t *weight)
{
	*weight = 1;
	if (!t->rate)
		return true;
	look(t, now_ms);
	t->seen++;
	if (chance(t) % ++t->n == 0)
		t->held = *e;
	return t->n >= t->block && t->tokens >= 1 && hand_out(t, e, weight);
}

bool thin_rest(struct thin *t, struct aon_consumer_event *e, uint64_t now_ms, uint64_t *weight)
{
	if (!t->n)
		return false;
	look(t, now_ms);
	return t->tokens >= 1 && hand_out(t, e, weight);
}
