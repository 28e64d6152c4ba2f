/* SPDX-License-Identifier: Apache-2.0 */
/* base_group.c - B5: Greyhound's change point and its test of groups; B6: Aegis' ratios. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lab/baseline.h"
#include "lab/panel.h"

#define RUNS   128u /* longest run of like steps that is kept apart */
#define HAZARD (1 / 250.0)
#define WARM   32u

struct like {
	uint64_t key;
	double transfer;
	size_t from, to; /* members */
};

struct group {
	struct panel p;
	struct panel_groups g;
	double prob[RUNS + 1], mean[RUNS + 1], weight[RUNS + 1], square[RUNS + 1];
	double scale, before; /* of the series; its mean before the change */
	double sum, sum2;     /* of steps */
	struct like *like;    /* room: groups */
	uint32_t runs, seen;
};

static void group_close(void *state)
{
	struct group *s = state;

	if (s) {
		panel_fini(&s->p);
		free(s->g.m);
		free(s->like);
	}
	free(s);
}

static int group_open(void **state, uint32_t world)
{
	struct group *s = calloc(1, sizeof(*s));

	if (!s || panel_init(&s->p, world) < 0) {
		free(s);
		return -ENOMEM;
	}
	s->like = calloc((size_t)world * STEP_SLOTS, sizeof(*s->like));
	if (!s->like) {
		group_close(s);
		return -ENOMEM;
	}
	*state = s;
	return 0;
}

/* --- comparable groups: as many members, of the same kind, as often, as large --- */

static int by_like(const void *a, const void *b)
{
	const struct like *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->transfer < y->transfer ? -1 : x->transfer > y->transfer;
}

/* All groups in which nobody leaves before all have come, those that are comparable side by side. */
static size_t find_like(struct group *s)
{
	size_t n = 0;

	for (size_t i = 0, end; i < s->g.n; i = end) {
		const struct step_slot *slot = s->g.m[i].slot;
		uint32_t is[] = { slot->op, slot->members, slot->count, slot->kib };

		end = panel_group_end(&s->g, i);
		if (step_op_syncs[slot->op])
			s->like[n++] = (struct like){ step_hash(is, sizeof(is), 0),
						      panel_transfer(&s->g, i, end), i, end };
	}
	qsort(s->like, n, sizeof(*s->like), by_like);
	return n;
}

static int slow_groups(struct group *s, double over, diag_say_fn *say, void *arg)
{
	int err = panel_groups(&s->g, &s->p), found = 0;
	size_t n = err ? 0 : find_like(s);

	for (size_t from = 0, to; from < n; from = to) {
		double mid;

		for (to = from; to < n && s->like[to].key == s->like[from].key; to++)
			;
		mid = s->like[from + (to - from) / 2].transfer;
		for (size_t k = to; k-- > from && to - from >= 3;) {
			const struct like *l = &s->like[k];

			if (l->transfer <= over * mid)
				break;
			panel_say_group(say, arg, &s->g, l->from, l->to,
					s->g.m[l->from].slot->flags & STEP_SLOT_FAR ? 19 : 6,
					(l->transfer - mid) /
						s->p.at[s->g.m[l->from].rank]->t.step);
			found++;
		}
	}
	return err ? err : found;
}

/* --- B5: Bayesian online change point detection (Adams, MacKay), then 10 % --- */

static double likely(double x, double mean, double scale, double weight)
{
	double spread = scale * sqrt(1 + 1 / (weight + 1));

	return exp(-0.5 * (x - mean) * (x - mean) / (spread * spread)) / spread;
}

/* True: it is likely that a new run has begun within the last three steps. */
static bool changed(struct group *s, double x)
{
	double sum = 0, anew = 0, young = 0;

	if (s->seen++ < WARM) {
		s->sum += x;
		s->sum2 += x * x;
		s->before = s->sum / s->seen;
		s->scale = fmax(sqrt(fmax(s->sum2 / s->seen - s->before * s->before, 0)),
				0.002 * s->before);
		s->runs = 1;
		s->prob[0] = 1;
		s->mean[0] = s->before;
		s->weight[0] = s->seen;
		return false;
	}
	for (uint32_t r = 0; r < s->runs; r++) {
		double p = s->prob[r] * likely(x, s->mean[r], s->scale, s->weight[r]);

		anew += p * HAZARD;
		s->prob[r] = p * (1 - HAZARD);
	}
	for (uint32_t r = s->runs < RUNS ? s->runs++ : RUNS - 1; r > 0; r--) {
		s->prob[r] = s->prob[r - 1];
		s->weight[r] = s->weight[r - 1] + 1;
		s->mean[r] = s->mean[r - 1] + (x - s->mean[r - 1]) / s->weight[r];
	}
	s->prob[0] = anew;
	s->mean[0] = x;
	s->weight[0] = 1;
	for (uint32_t r = 0; r < s->runs; r++)
		sum += s->prob[r];
	for (uint32_t r = 0; r < s->runs; r++) {
		s->prob[r] = sum > 0 ? s->prob[r] / sum : r == 0;
		young += r > 0 && r < 16 ? s->prob[r] : 0;
	}
	return young > 0.9;
}

static double value_own(const struct panel *p, uint32_t rank, enum series s)
{
	(void)s;
	return panel_own(p->at[rank]);
}

static int greyhound_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say,
			  void *arg)
{
	struct group *s = state;
	int found;

	if (!panel_take(&s->p, rec, n) || !changed(s, rec[0].t.step) ||
	    rec[0].t.step < 1.1 * s->before)
		return 0;
	found = slow_groups(s, 1.1, say, arg);
	for (uint32_t role = 0; role < s->p.roles && found >= 0; role++) {
		double mid = panel_role(&s->p, role, value_own, OF_STEP, NULL), was[SERIES] = { 0 };

		for (uint32_t r = 0; r < s->p.world; r++)
			if (s->p.at[r] && s->p.role[r] == role && panel_own(s->p.at[r]) > 1.1 * mid)
				panel_say(say, arg, DIAG_RANK, r, panel_kind(s->p.at[r], was),
					  (panel_own(s->p.at[r]) - mid) / s->p.at[r]->t.step);
	}
	return found < 0 ? found : 0;
}

/* --- B6 --- */

/* Steps above their mean by two deviations: who stays 0.8 of the mean computes too long; a group
 * that takes 1.5 times what its like take is slow itself. */
static int aegis_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say,
		      void *arg)
{
	struct group *s = state;
	double mean, deviation, x;
	int err;

	if (!panel_take(&s->p, rec, n))
		return 0;
	x = rec[0].t.step;
	if (s->seen < WARM || x < s->sum / s->seen * 1.5) {
		s->seen++;
		s->sum += x;
		s->sum2 += x * x;
	}
	mean = s->sum / s->seen;
	deviation = sqrt(fmax(s->sum2 / s->seen - mean * mean, 0));
	if (s->seen < WARM || x < mean + 2 * deviation)
		return 0;
	err = slow_groups(s, 1.5, say, arg);
	for (size_t i = 0, end; i < s->g.n && err >= 0; i = end) {
		double sum = 0;

		end = panel_group_end(&s->g, i);
		for (size_t k = i; k < end; k++)
			sum += s->g.m[k].slot->sum / (double)(end - i);
		if (!step_op_syncs[s->g.m[i].op] || sum < LEVEL * x)
			continue;
		for (size_t k = i; k < end; k++)
			if (s->g.m[k].slot->sum < 0.8 * sum)
				panel_say(say, arg, DIAG_RANK, s->g.m[k].rank, 4,
					  (sum - s->g.m[k].slot->sum) / x);
	}
	return err < 0 ? err : 0;
}

const struct diagnoser base_greyhound = {
	"B5", "Greyhound: a change point of 10 %, then groups and ranks", group_open,
	greyhound_step, group_close
};
const struct diagnoser base_aegis = { "B6",
				      "Aegis: 0.8 of the group's mean stay, 1.5 of like groups",
				      group_open, aegis_step, group_close };
