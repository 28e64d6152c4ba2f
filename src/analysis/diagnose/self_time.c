/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self_time.c - compares the time that each rank spends by itself with ranks that do the same in
 * the same step, then with its own past. Waiting is not counted, so a rank that only waits never
 * stands out.
 *
 * The reference is a lower quantile, not the median: half of a small role may be one sick host.
 */
#include <math.h>
#include <string.h>

#include "diagnose/state.h"

#define QUANTILE   (1.0 / 3)
#define HALF_LIFE  64.0 /* steps, of the line in tokens and lengths */
#define LEVEL_Z    4.5f
#define FADE       (1.0f / 16)
#define LIKE_NOISE 0.0015f /* of a step: ranks that do the same differ by so much, at least */
#define FEW        16u
#define RETRANS    50u   /* packets of a step */
#define TIME_MOST  1e15f /* eleven days: what is longer is nonsense */

static float sane(float v)
{
	return v > 0 ? v < TIME_MOST ? v : TIME_MOST : 0;
}

static float own_value(const struct step_rec *r, enum own s)
{
	float pauses = sane(r->t.gc) + sane(r->t.alloc), host = sane(r->t.host);

	switch (s) {
	case OWN_COMPUTE:
		return sane(r->t.compute);
	case OWN_HOST: /* pauses have findings of their own */
		return host > pauses ? host - pauses : 0;
	default:
		return sane(r->t.input);
	}
}

static double lengths(const struct step_rec *r)
{
	if (r->expert_tokens) /* routing is what varies in a job with experts */
		return r->expert_tokens;
	return (double)sane(r->sum_len2) + sane(r->context);
}

/* --- a cell in this step --- */

static double calls_of(const struct step_rec *r)
{
	double n = 1;

	for (int i = 0; i < STEP_CLASSES; i++)
		n += r->class[i].count;
	for (uint32_t i = 0; i < r->slots; i++)
		n += r->slot[i].count;
	return n;
}

static void cell_medians(struct diag *d, struct diag_role *k)
{
	float *v = d->room, *w = d->room2;
	const uint32_t *of = d->order + k->from;

	for (uint32_t i = 0; i < k->n; i++) {
		const struct step_rec *r = d->rank[of[i]].rec;
		float extra = sane(r->class[STEP_CLASS_EMBED].sum) +
			      sane(r->class[STEP_CLASS_OPTIMIZER].sum);

		v[i] = sane(r->t.step);
		w[i] = sane(r->t.exposed);
		d->rank[of[i]].work = (float)fit_more(&k->fit, r->tokens, lengths(r));
		d->rank[of[i]].y[1] = sane(r->t.launch) / (float)calls_of(r);
		d->rank[of[i]].y[0] =
			fmaxf(sane(r->t.compute) - extra, 0) / (float)(r->layers ? r->layers : 1);
	}
	k->step_ns = fmax(select_at(v, k->n, 0.5), 1);
	k->exposed = select_at(w, k->n, 0.5);
	for (uint32_t i = 0; i < k->n; i++) {
		v[i] = d->rank[of[i]].y[0];
		w[i] = sane(d->rank[of[i]].rec->t.issue);
	}
	k->plain = select_at(v, k->n, 0.5);
	for (uint32_t i = 0; i < k->n; i++) {
		const struct step_times *t = &d->rank[of[i]].rec->t;

		v[i] = fmaxf(sane(t->comm) - sane(t->exposed), 0);
	}
	k->hidden = select_at(v, k->n, 0.5);
	for (uint32_t i = 0; i < k->n; i++)
		v[i] = d->rank[of[i]].y[1];
	k->call = select_at(v, k->n, 0.5);
	k->issue += (select_at(w, k->n, 0.5) - k->issue) / (k->steps < 8 ? k->steps + 1.0f : 8);
	for (uint32_t i = 0; i < k->n; i++)
		v[i] = sane(d->rank[of[i]].rec->t.launch);
	k->launch += (select_at(v, k->n, 0.5) - k->launch) / (k->steps < 8 ? k->steps + 1.0f : 8);
}

static void cell_own(struct diag *d, struct diag_role *k)
{
	const uint32_t *of = d->order + k->from;
	bool alone = k->n < PEERS_MIN;

	for (int s = 0; s < OWNS; s++) {
		for (uint32_t i = 0; i < k->n; i++) {
			struct diag_rank *r = &d->rank[of[i]];
			float v = own_value(r->rec, (enum own)s);

			r->y[s] = s == OWN_COMPUTE ? v - r->work : v;
			d->room[i] = r->y[s];
		}
		k->ref[s] = select_at(d->room, k->n, QUANTILE);
		for (uint32_t i = 0; i < k->n; i++) {
			struct diag_rank *r = &d->rank[of[i]];

			r->y[s] = (float)((r->y[s] - (alone ? 0 : k->ref[s])) / k->step_ns);
		}
	}
}

/* Fits the work that depends on tokens and lengths; outliers are not learned from. */
static void cell_fit(struct diag *d, struct diag_role *k)
{
	double keep = 1 - 1 / (HALF_LIFE * k->n), sum = 0, most = -INFINITY, tokens = 0;
	const uint32_t *of = d->order + k->from;

	for (uint32_t i = 0; i < k->n; i++)
		tokens += d->rank[of[i]].rec->tokens / (double)k->n;

	for (uint32_t i = 0; i < k->n; i++) {
		struct diag_rank *r = &d->rank[of[i]];
		float noise = d->role[r->role].noise[OWN_COMPUTE];
		/* Tokens of experts have a finding of their own. */
		double work = !r->rec->expert_tokens || !(tokens > 0)
				      ? r->work
				      : (r->rec->tokens / tokens - 1) * k->ref[OWN_COMPUTE];

		sum += work;
		most = fmax(most, work);
		if (noise > 0 && fabsf(r->y[OWN_COMPUTE] - r->own[OWN_COMPUTE].base) > 4 * noise)
			continue;
		fit_add(&k->fit, r->rec->tokens, lengths(r->rec), sane(r->rec->t.compute), keep);
	}
	fit_solve(&k->fit);
	if (k->steps >= d->warm && k->n)
		k->uneven += (float)((most - sum / k->n) / k->step_ns - k->uneven) * FADE;
}

/* --- its past --- */

static void rank_add(struct diag *d, struct diag_rank *r)
{
	const struct diag_role *k = &d->role[r->role];

	for (int s = 0; s < OWNS; s++) {
		struct cusum *t = &r->own[s];
		float noise = fmaxf(k->noise[s], (float)NOISE_LOW);

		if (!track_learn(t, r->y[s], d->learn))
			continue;
		track_add(t, r->y[s], noise);
		r->alarm[s] = k->judged && track_is_up(t, noise);
		r->effect[s] = fmaxf(track_mean(t, SHORT), track_mean(t, RING));
		if (t->fast >= 3)
			r->effect[s] = fmaxf(r->effect[s], track_mean(t, 3));
	}
}

static float noise_of(struct diag *d, uint32_t role, int s)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < d->world; r++) {
		float room[RING];

		if (!d->rank[r].known || d->rank[r].role != role || !d->rank[r].own[s].learnt)
			continue;
		memcpy(room, d->rank[r].own[s].ring, sizeof(room));
		d->room[n++] = spread_of(room, track_len(&d->rank[r].own[s]), 0);
	}
	return fmaxf(select_at(d->room, n, 0.5), (float)NOISE_LOW) * (n < PEERS_MIN ? 3 : 1);
}

/*
 * A rank that was out of line with its like all the time has no past to go by: theirs is taken. The
 * lower part of the role says what is in line, for half of the others may be sick, too.
 */
static void judge_level(struct diag *d, uint32_t role, int s)
{
	uint32_t n = 0;
	float low, mid, spread;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && d->rank[r].role == role && d->rank[r].own[s].learnt)
			d->room[n++] = d->rank[r].own[s].base;
	if (n < PEERS_MIN)
		return;
	mid = select_at(d->room, n, QUANTILE);
	low = fmaxf((mid - select_at(d->room, n, 0.08)) / 0.96f, LIKE_NOISE * (n < FEW ? 2 : 1));
	spread = fminf(fmaxf(spread_of(d->room, n, select_at(d->room, n, 0.5)), low), 2 * low);
	mid += 0.44f * low;
	for (uint32_t r = 0; r < d->world; r++) {
		struct cusum *t = &d->rank[r].own[s];
		float by = t->base - mid;

		if (!d->rank[r].known || d->rank[r].role != role || !t->learnt ||
		    by < LEVEL_Z * spread || by < WORTH)
			continue;
		t->base = mid;
		d->rank[r].level[s] = true;
		for (uint32_t i = 0; i < RING; i++)
			t->ring[i] += by;
	}
}

static void judge_copies(struct diag *d, uint32_t role)
{
	uint32_t n = 0;
	float mid;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && d->rank[r].role == role)
			d->room[n++] = d->rank[r].copy_base;
	mid = select_at(d->room, n, 0.5);
	for (uint32_t r = 0; r < d->world && n >= PEERS_MIN && mid > 0; r++)
		if (d->rank[r].known && d->rank[r].role == role)
			d->rank[r].copy_odd = d->rank[r].copy_base > COPY_LONGER * mid;
}

static void judge(struct diag *d, uint32_t role)
{
	uint32_t learnt = 0, all = 0;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && d->rank[r].role == role) {
			all++;
			learnt += d->rank[r].own[0].learnt;
		}
	if (!all || learnt < all - all / 8)
		return;
	for (int s = 0; s < OWNS; s++) {
		d->role[role].noise[s] = noise_of(d, role, s);
		judge_level(d, role, s);
	}
	judge_copies(d, role);
	d->role[role].judged = true;
}

static void rank_counters(struct diag_rank *r, double mean_expert)
{
	float copy = sane(r->rec->t.copy), e;

	/* A past is the first steps, then hardly anything new. */
	if (r->copies < LEARN)
		r->copy_base += (copy - r->copy_base) / (float)++r->copies;
	r->copy += (copy - r->copy) / 4;
	r->retrans += ((r->rec->have >> STEP_HAVE_RETRANS & 1 && r->rec->nic_retrans > RETRANS) -
		       r->retrans) /
		      16;
	if (r->rec->have >> STEP_HAVE_SM & 1 && r->rec->sm_mhz > r->clock_mhz)
		r->clock_mhz = r->rec->sm_mhz;
	if (mean_expert <= 0)
		return;
	e = (float)(r->rec->expert_tokens / fmax(r->rec->tokens, 1) / mean_expert);
	if (r->experts < LEARN)
		r->expert_base += (e - r->expert_base) / (float)++r->experts;
	r->expert += (e - r->expert) / 8;
}

static void cell_take(struct diag *d, struct diag_role *k)
{
	const uint32_t *of = d->order + k->from;
	double experts = 0;

	cell_medians(d, k);
	cell_own(d, k);
	cell_fit(d, k);
	k->steps++;
	for (uint32_t i = 0; i < k->n; i++)
		experts += d->rank[of[i]].rec->expert_tokens / fmax(d->rank[of[i]].rec->tokens, 1);
	for (uint32_t i = 0; i < k->n; i++) {
		struct diag_rank *r = &d->rank[of[i]];

		rank_counters(r, experts / k->n);
		/* One host alone with such a batch: it is its own reference. */
		if (k->steps > d->warm && (k->many || !d->role[r->role].many))
			rank_add(d, r);
	}
}

void own_take(struct diag *d)
{
	for (uint32_t k = 0; k < d->roles; k++)
		if (d->role[k].n)
			cell_take(d, &d->role[k]);
	for (uint32_t k = 0; k < d->roles; k++)
		if (!d->role[k].judged && d->role[k].first != NOBODY)
			judge(d, k);
}
