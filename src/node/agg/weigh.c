/* SPDX-License-Identifier: Apache-2.0 */
/* weigh.c - see weigh.h. */
#include "agg/weigh.h"

void weigh_step(struct weigh *w, uint64_t from_ns, uint32_t weight)
{
	uint32_t is = w->n ? w->change[(w->n - 1) % WEIGH_CHANGES].weight : 1;

	if (weight == is)
		return;
	w->change[w->n++ % WEIGH_CHANGES] = (struct weigh_change){ from_ns, weight };
}

uint32_t weigh_at(const struct weigh *w, uint64_t ns)
{
	uint32_t kept = w->n < WEIGH_CHANGES ? w->n : WEIGH_CHANGES;

	for (uint32_t i = 1; i <= kept; i++) {
		const struct weigh_change *c = &w->change[(w->n - i) % WEIGH_CHANGES];

		if (c->from_ns <= ns)
			return c->weight;
	}
	return w->n > WEIGH_CHANGES ? w->change[w->n % WEIGH_CHANGES].weight : 1;
}
