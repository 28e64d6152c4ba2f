/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whatif.c - estimates how long a step would take without a cause, in closed form from the ranks'
 * sums.
 *
 * A pipeline of P stages and M micro-batches takes the sum of the stages' times for one
 * micro-batch, plus M - 1 times the longest of them; without stages P and M are 1. The time that
 * this does not explain stays as it is. A fixed rank is as fast as its peers. Of several causes the
 * costliest is fixed first, so that the causes which it hides count, too.
 */
#include <math.h>
#include <string.h>

#include "diagnose/state.h"

/* A rank's own time beyond its role's reference, of a step. */
static double excess(const struct diag_rank *r)
{
	double sum = 0;

	for (int s = 0; s < OWNS; s++)
		if (r->own[s].learnt)
			sum += r->own[s].base + fmaxf(r->effect[s], 0);
	return sum;
}

static double own_ns(const struct diag *d, const struct diag_rank *r)
{
	const struct diag_role *k = &d->role[r->cell];
	double ref = k->n < PEERS_MIN ? 0 : k->ref[0] + k->ref[1] + k->ref[2];

	return ref + excess(r) * k->step_ns;
}

double whatif_step(const struct diag *d)
{
	double now =
		d->whole.base + fmaxf(track_mean(&d->whole, SHORT), track_mean(&d->whole, RING));

	return d->whole.learnt && now > 0 ? now : fmax(d->step_ns, 1);
}

double whatif_lost(const struct diag *d)
{
	return d->whole.learnt && d->whole.base > 0 ? 1 - d->whole.base / whatif_step(d) : 0;
}

double whatif_part(struct diag *d, struct diag_part p)
{
	double top = 0, like = 0, others = 0, m = d->micro > 1 && d->stages > 1 ? d->micro : 1;
	double step = d->step_ns;
	uint32_t role = NOBODY;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].rec && part_has(d, p, r) && own_ns(d, &d->rank[r]) > top) {
			top = own_ns(d, &d->rank[r]);
			role = d->rank[r].role;
			step = cell_of(d, r)->step_ns;
			like = top - excess(&d->rank[r]) * step;
		}
	for (uint32_t r = 0; r < d->world && !d->infer; r++)
		if (d->rank[r].rec && !d->rank[r].fixed && !part_has(d, p, r)) {
			double own = own_ns(d, &d->rank[r]);

			others = fmax(others, own);
			if (d->rank[r].role == role)
				like = fmax(like, own);
		}
	if (role == NOBODY || !(step > 0))
		return 0;
	if (m > 1)
		like = (fmax(fmin(others, top), like) * (m - 1) + like) / m;
	return fmin(fmax(top - like, 0) / step, 1);
}

double whatif_stage(struct diag *d, uint32_t role)
{
	double sum = 0, n = 0, longest = 0, m = d->micro ? d->micro : 1, ranks = 0;
	const struct diag_role *k = &d->role[role];
	double now, then, mean;

	for (uint32_t i = 0; i < d->roles; i++)
		if (d->role[i].n && i != role) {
			sum += d->role[i].ref[OWN_COMPUTE] * d->role[i].n;
			n += d->role[i].n;
			longest = fmax(longest, d->role[i].ref[OWN_COMPUTE]);
		}
	ranks = n + k->n;
	if (!(n > 0) || !(d->step_ns > 0))
		return 0;
	mean = sum / n;
	now = (sum + k->ref[OWN_COMPUTE] * k->n) / ranks * d->stages / m +
	      (m - 1) / m * fmax(longest, k->ref[OWN_COMPUTE]);
	then = mean * d->stages / m + (m - 1) / m * longest;
	return fmin(fmax(now - then, 0) / d->step_ns, 1);
}

/* --- the whole replay --- */

/* Of the rank, what is done for each micro-batch. */
static float share_of(const struct step_rec *r)
{
	float opt = r->class[STEP_CLASS_OPTIMIZER].sum;

	return r->t.compute > opt && r->t.compute < 1e15f ? r->t.compute - opt : 0;
}

/* Each pipeline as it is, the longest of them, against one of as many stages that are all alike. */
void whatif_take(struct diag *d)
{
	double m = d->micro > 1 && d->stages > 1 ? d->micro : 1, longest = 0, mean = 0, rest, ideal;

	if (d->infer || d->steps <= d->warm || !d->ranks || !(d->step_ns > 0))
		return;
	memset(d->room, 0, d->world * sizeof(*d->room));
	memset(d->room2, 0, d->world * sizeof(*d->room2));
	for (uint32_t r = 0; r < d->world; r++) {
		uint32_t p = d->rank[r].pipe;
		float is = d->rank[r].rec ? share_of(d->rank[r].rec) : 0;

		d->room[p] += is;
		d->room2[p] = fmaxf(d->room2[p], is);
		mean += is / d->ranks;
	}
	for (uint32_t p = 0; p < d->world; p++)
		longest = fmax(longest, d->room[p] / m + (m - 1) / m * d->room2[p]);
	rest = fmax(d->step_ns - longest, 0);
	ideal = (m + d->stages - 1) / m * mean + rest;
	if (ideal > 0)
		d->slowdown += (fmax(d->step_ns / ideal, 1) - d->slowdown) / ++d->slowdowns;
}

double diag_slowdown(const struct diag *d)
{
	return d->slowdowns ? d->slowdown : 1;
}
