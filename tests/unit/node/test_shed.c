/* SPDX-License-Identifier: Apache-2.0 */
/* aond's budget of CPU, on a plant that uses what it is asked to, less what is shed. */
#include "daemon/budget/shed.h"
#include "t.h"

#define S 1000000000ull

/* Percent of a core that a load costs at each level. */
struct load {
	uint32_t full, rolled, counted;
};

struct run {
	struct shed shed;
	uint64_t now, cpu;
	uint32_t moves, over; /* seconds above the budget */
};

static void second(struct run *r, const struct load *l, uint32_t budget)
{
	const uint32_t use[] = { l->full, l->rolled, l->counted };
	enum shed_level was = r->shed.level;

	r->now += S;
	r->cpu += use[was] * (S / 100);
	r->over += use[was] > budget;
	r->moves += shed_look(&r->shed, r->now, r->cpu, budget) != was;
}

static void seconds(struct run *r, const struct load *l, uint32_t budget, unsigned n)
{
	while (n--)
		second(r, l, budget);
}

static const struct {
	const char *name;
	struct load load;
	uint32_t budget;
	enum shed_level after_2s, after_10s;
} cases[] = {
	/* clang-format off */
	/* name                                     full roll count  budget  after 2 s      after 10 s */
	{ "a light load is left alone",           {   5,   3,   1 },  100, SHED_NOTHING, SHED_NOTHING },
	{ "a load at the budget is left alone",   { 100,  50,  10 },  100, SHED_NOTHING, SHED_NOTHING },
	{ "over it, events are only rolled up",   { 150,  70,  10 },  100, SHED_EVENTS,  SHED_EVENTS  },
	{ "far over it, records are only counted",{ 400, 150,  60 },  100, SHED_ALL,     SHED_ALL     },
	{ "without a budget nothing is shed",     { 400, 150,  60 },    0, SHED_NOTHING, SHED_NOTHING },
	/* clang-format on */
};

int main(void)
{
	struct load heavy = { 150, 30, 10 }, none = { 1, 1, 1 };
	struct run r = { .now = 100 * S };

	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct run c = { .now = 100 * S };

		shed_look(&c.shed, c.now, 0, cases[i].budget);
		seconds(&c, &cases[i].load, cases[i].budget, 2);
		T_OK(c.shed.level == cases[i].after_2s, "%s", cases[i].name);
		seconds(&c, &cases[i].load, cases[i].budget, 8);
		T_OK(c.shed.level == cases[i].after_10s, "%s, and it stays so", cases[i].name);
	}

	shed_look(&r.shed, r.now, 0, 100);
	seconds(&r, &heavy, 100, 2);
	T_OK(r.shed.level == SHED_EVENTS, "a burst is answered within two seconds");
	seconds(&r, &none, 100, SHED_CALM_MIN_S);
	T_OK(r.shed.level == SHED_NOTHING, "when it is over, all is recorded again, by itself");

	r = (struct run){ .now = 100 * S };
	shed_look(&r.shed, r.now, 0, 100);
	seconds(&r, &heavy, 100, 600);
	T_OK(r.over <= 12,
	     "a load that always comes back costs too much in few seconds (%u of 600)", r.over);
	T_OK(r.moves <= 24, "and does not make it swing (%u moves in 600 s)", r.moves);

	T_OK(shed_percent(0) == 15 && shed_percent(1) == 5 && shed_percent(8) == 8 &&
		     shed_percent(72) == 72,
	     "a percent of a core for each GPU, and never less than aond needs");
	T_OK(shed_memory(SHED_NOTHING, 800, 1000) == SHED_NOTHING &&
		     shed_memory(SHED_NOTHING, 880, 1000) == SHED_EVENTS &&
		     shed_memory(SHED_EVENTS, 1000, 1000) == SHED_ALL,
	     "near the limit of memory events are only rolled up, at it records only counted");
	T_OK(shed_memory(SHED_ALL, 900, 1000) == SHED_ALL &&
		     shed_memory(SHED_ALL, 800, 1000) == SHED_ALL &&
		     shed_memory(SHED_ALL, 749, 1000) == SHED_NOTHING,
	     "and it stays so until there is room again");
	T_OK(shed_memory(SHED_ALL, 1000, 0) == SHED_NOTHING, "without a limit nothing is");
	return t_done();
}
