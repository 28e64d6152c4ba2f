/* SPDX-License-Identifier: Apache-2.0 */
/* What recording costs a process by its records alone, second by second. */
#include "daemon/budget/cost.h"
#include "t.h"

#define S 1000000000ull

static const struct {
	const char *name;
	uint64_t records; /* in all, a second later */
	double want;      /* share of a core, at 100 ns a record */
} seconds[] = {
	{ "nothing is known before the first second is over", 1000, 0 },
	{ "a million records cost a tenth of a core", 1001000, 0.1 },
	{ "a count that steps back costs nothing", 1000900, 0 },
	{ "and what comes back is not counted twice", 1001000, 0 },
	{ "then it goes on", 1501000, 0.05 },
};

int main(void)
{
	struct cost c = { 0 };

	for (size_t i = 0; i < T_LEN(seconds); i++) {
		cost_account(&c, (i + 1) * S, seconds[i].records, 100);
		T_OK(c.accounted > seconds[i].want - 1e-9 && c.accounted < seconds[i].want + 1e-9,
		     "%s", seconds[i].name);
	}
	return t_done();
}
