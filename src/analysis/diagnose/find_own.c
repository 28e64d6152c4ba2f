/* SPDX-License-Identifier: Apache-2.0 */
/* find_own.c - finds ranks and hosts that are late through their own work, not through waiting. */
#include <math.h>

#include "diagnose/state.h"

#define ALIKE \
	0.4f /* of a rank's effect that others of its host must have for it to be the host's */
#define MOST        0.75
#define SURE_LEAST  0.6f
#define ROUNDS      10   /* causes at once */
#define FALSE_NOTES 0.01 /* of the notes */

static const enum diag_why why_of[OWNS] = { DIAG_WHY_COMPUTE, DIAG_WHY_HOST, DIAG_WHY_INPUT };

/* The host, if most of its ranks have it; else the rank. */
static struct diag_part whose(const struct diag *d, uint32_t rank, enum own s, uint32_t *ranks,
			      uint32_t *of)
{
	const struct diag_rank *is = &d->rank[rank];
	uint32_t n = 0, up = 0;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && d->rank[r].host == is->host) {
			n++;
			up += d->rank[r].effect[s] > ALIKE * is->effect[s];
		}
	*ranks = 1;
	*of = d->role[is->role].n;
	if (d->hosts < 2 || n < 2 || up < MOST * n)
		return (struct diag_part){ DIAG_RANK, rank };
	*ranks = up;
	return (struct diag_part){ DIAG_HOST, is->host };
}

/* What comes and goes, comes and goes more often than with others of the role. */
static bool stands_out(struct diag *d, uint32_t rank, enum own s)
{
	const struct diag_rank *is = &d->rank[rank];
	uint32_t n = 0;

	if (is->own[s].fast >= 3 || is->own[s].sum >= CUSUM_LIMIT)
		return true;
	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && d->rank[r].role == is->role && d->rank[r].own[s].learnt)
			d->room[n++] = track_mean(&d->rank[r].own[s], RING);
	return is->effect[s] > 2 * select_at(d->room, n, 0.5) + 0.5 * WORTH;
}

/* By chance alone, a series would be up by so much in the mean of the window. */
static float chance(const struct diag *d, const struct diag_rank *r, enum own s)
{
	float noise = fmaxf(d->role[r->role].noise[s], (float)NOISE_LOW);

	return (float)(erfc(track_mean(&r->own[s], RING) / noise * sqrt(RING) / M_SQRT2) / 2);
}

/* An advisory is reported only at a false discovery rate of one in a hundred. */
static bool is_no_chance(struct diag *d, uint32_t rank, enum own s)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && d->rank[r].own[s].learnt)
			d->room[n++] = chance(d, &d->rank[r], s);
	return chance(d, &d->rank[rank], s) <= discoveries(d->room, n, FALSE_NOTES / OWNS);
}

static void say_own(struct saying *to, uint32_t rank, enum own s)
{
	struct diag *d = to->d;
	const struct diag_rank *r = &d->rank[rank];
	const struct diag_role *k = &d->role[r->cell];
	struct diag_verdict v;
	uint32_t ranks, of;
	struct diag_part p = whose(d, rank, s, &ranks, &of);
	double gain;

	verdict_init(d, &v, why_of[s], p, kind_of_own(d, p, s));
	v.ranks = ranks;
	v.of = of;
	v.usual_ns = fmax(k->ref[s] + r->own[s].base * k->step_ns, 0);
	v.seen_ns = v.usual_ns + r->effect[s] * k->step_ns;
	v.noise_ns = d->role[r->role].noise[s] * k->step_ns;
	gain = whatif_part(d, p);
	v.f.gain = (float)gain;
	v.gain_least = r->level[s] || d->infer ? gain / 2 : fmin(gain, fmax(whatif_lost(d), 0));
	v.always = r->level[s];
	v.blame = blame_share(d, p);
	v.f.confidence = fmaxf(SURE_LEAST + 0.4f * v.blame,
			       fminf(0.95f, r->effect[s] / fmaxf(r->effect[s] + 0.01f, 1e-6f)));
	/* A rank that was always so, or whose cost shows in the job's steps. */
	v.f.act = gain >= 0.7 * WORTH && v.coverage >= 0.5f;
	if (v.f.act || is_no_chance(d, rank, s))
		verdict_say(to, &v);
	for (uint32_t i = 0; i < d->world; i++)
		d->rank[i].fixed |= part_has(d, p, i);
}

/* A finding about a host covers all its ranks. Of the other ranks, the costliest comes next. */
static uint32_t costliest(const struct diag *d, enum own s)
{
	uint32_t top = NOBODY;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].rec && d->rank[r].alarm[s] && !d->rank[r].fixed &&
		    (top == NOBODY || d->rank[r].effect[s] > d->rank[top].effect[s]))
			top = r;
	return top;
}

void find_own(struct saying *s)
{
	struct diag *d = s->d;
	bool skip[OWNS] = { false };

	for (uint32_t r = 0; r < d->world; r++)
		d->rank[r].fixed = false;
	for (int i = 0; i < OWNS; i++) {
		uint32_t n = 0;

		for (uint32_t r = 0; r < d->world; r++)
			n += d->rank[r].rec && d->rank[r].alarm[i];
		/* Not a place: what all have is looked at as a whole. */
		skip[i] = !n || (d->ranks > PEERS_MIN && 2 * n > d->ranks);
	}
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t top = NOBODY;
		int which = 0;

		for (int i = 0; i < OWNS; i++) {
			uint32_t r = skip[i] ? NOBODY : costliest(d, (enum own)i);

			if (r != NOBODY &&
			    (top == NOBODY || d->rank[r].effect[i] > d->rank[top].effect[which])) {
				top = r;
				which = i;
			}
		}
		if (top == NOBODY)
			break;
		if (stands_out(d, top, (enum own)which))
			say_own(s, top, (enum own)which);
		else
			d->rank[top].fixed = true;
	}
	for (uint32_t r = 0; r < d->world; r++)
		d->rank[r].fixed = false;
}
