/* SPDX-License-Identifier: Apache-2.0 */
/* shed.c - sheds load at once, and returns with patience. */
#include "daemon/budget/shed.h"

static void up(struct shed *s)
{
	if (s->level == SHED_NOTHING && s->good_s < SHED_CALM_MAX_S && s->need_s)
		s->need_s = 2 * s->need_s < SHED_CALM_MAX_S ? 2 * s->need_s : SHED_CALM_MAX_S;
	else if (s->level == SHED_NOTHING)
		s->need_s = SHED_CALM_MIN_S;
	if (s->level < SHED_ALL)
		s->level++;
	s->calm_s = s->good_s = 0;
}

enum shed_level shed_look(struct shed *s, uint64_t now_ns, uint64_t cpu_ns, uint32_t percent)
{
	uint64_t wall = now_ns - s->at_ns, used = (cpu_ns - s->cpu_ns) * 100;
	int first = s->at_ns == 0;

	s->at_ns = now_ns;
	s->cpu_ns = cpu_ns;
	if (!percent) {
		s->level = SHED_NOTHING;
		return s->level;
	}
	if (first || !wall)
		return s->level;
	if (used > wall * percent) {
		up(s);
	} else if (s->level == SHED_NOTHING) {
		s->good_s += s->good_s < UINT32_MAX;
	} else if (used * 2 > wall * percent) {
		s->calm_s = 0;
	} else if (++s->calm_s >= s->need_s) {
		s->level--;
		s->calm_s = 0;
	}
	return s->level;
}

enum shed_level shed_memory(enum shed_level was, uint64_t used, uint64_t limit)
{
	if (!limit || used < limit - limit / 4)
		return SHED_NOTHING;
	if (used >= limit)
		return SHED_ALL;
	if (used >= limit - limit / 8)
		return was > SHED_EVENTS ? was : SHED_EVENTS;
	return was;
}
