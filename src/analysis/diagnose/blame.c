/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blame.c - follows waiting back to its cause: from the rank that waits longest to the rank that
 * arrived last at that collective, to what that rank waited for, and on until a rank is late by
 * itself.
 */
#include <math.h>

#include "diagnose/state.h"

#define HOPS      8
#define FADE      (31.0f / 32)
#define NEAR_NS   2e5f /* ends of a collective differ by so much within a host */
#define FAR_NS    3e6f /* and between hosts */
#define SKEW      0.02f
#define OWN_SHARE 0.5f /* of being late that must be a rank's own doing */

/* The slot in which this rank waits the longest; *ns: how long. */
static uint32_t worst(const struct diag *d, uint32_t r, float *ns)
{
	const struct step_rec *rec = d->rank[r].rec;
	uint32_t is = NOBODY;

	*ns = 0;
	for (uint32_t i = 0; rec && i < rec->slots; i++) {
		uint32_t at = d->index[r * STEP_SLOTS + i];
		const struct diag_comm *c = at < d->comms ? &d->comm[at] : NULL;
		float wait;

		if (!c || c->step != d->steps)
			continue;
		wait = rec->slot[i].sum - c->least;
		if (wait > *ns && wait > fmaxf(c->mixed ? FAR_NS : NEAR_NS, SKEW * c->least)) {
			*ns = wait;
			is = at;
		}
	}
	return is;
}

static float own_late(const struct diag *d, uint32_t r)
{
	float sum = 0;

	for (int s = 0; s < OWNS; s++)
		sum += fmaxf(d->rank[r].effect[s], 0);
	return sum * (float)d->step_ns;
}

void blame_step(struct diag *d)
{
	uint32_t at = NOBODY, from = NOBODY;
	float most = 0, ns;

	d->mass *= FADE;
	for (uint32_t r = 0; r < d->world; r++) {
		d->rank[r].mass *= FADE;
		worst(d, r, &ns);
		if (ns > most) {
			most = ns;
			from = r;
		}
	}
	if (from == NOBODY || most < WORTH * d->step_ns)
		return;
	for (int hop = 0; hop < HOPS; hop++) {
		uint32_t c = worst(d, from, &ns);

		if (c == NOBODY)
			break;
		at = d->comm[c].last;
		if (at == from ||
		    own_late(d, at) >= OWN_SHARE * (d->comm[c].most - d->comm[c].least))
			break;
		from = at;
	}
	if (at == NOBODY)
		return;
	most = fminf(most, (float)d->step_ns);
	d->rank[at].mass += most;
	d->mass += most;
}

float blame_share(const struct diag *d, struct diag_part p)
{
	double sum = 0;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && part_has(d, p, r))
			sum += d->rank[r].mass;
	return d->mass > 0 ? (float)fmin(sum / d->mass, 1) : 0;
}
