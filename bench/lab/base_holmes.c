/* SPDX-License-Identifier: Apache-2.0 */
/* base_holmes.c - B8: Holmes' way back through groups, with three deviations for its forest. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lab/baseline.h"
#include "lab/panel.h"

#define HOPS 8

struct holmes {
	struct panel p;
	struct panel_groups g;
	float *mean, *square; /* [rank][slot]: of what it stayed, when all was well */
	double step_mean;
	uint32_t learnt;
};

static void holmes_close(void *state)
{
	struct holmes *h = state;

	if (h) {
		panel_fini(&h->p);
		free(h->g.m);
		free(h->mean);
		free(h->square);
	}
	free(h);
}

static int holmes_open(void **state, uint32_t world)
{
	struct holmes *h = calloc(1, sizeof(*h));

	if (!h || panel_init(&h->p, world) < 0) {
		free(h);
		return -ENOMEM;
	}
	h->mean = calloc((size_t)world * STEP_SLOTS, sizeof(*h->mean));
	h->square = calloc((size_t)world * STEP_SLOTS, sizeof(*h->square));
	if (!h->mean || !h->square) {
		holmes_close(h);
		return -ENOMEM;
	}
	*state = h;
	return 0;
}

static size_t place(const struct holmes *h, const struct panel_member *m)
{
	return (size_t)m->rank * STEP_SLOTS + (size_t)(m->slot - h->p.at[m->rank]->slot);
}

/* How much longer than usual it stayed; 0: within three deviations. */
static double excess(const struct holmes *h, const struct panel_member *m)
{
	double mean = h->mean[place(h, m)],
	       deviation = sqrt(fmax(h->square[place(h, m)] - mean * mean, 0));

	return m->slot->sum > mean + 3 * deviation ? m->slot->sum - mean : 0;
}

static void learn(struct holmes *h, const struct step_rec *rec, size_t n)
{
	double by = 1.0 / ++h->learnt;

	h->step_mean += (rec[0].t.step - h->step_mean) * by;
	for (size_t i = 0; i < n; i++)
		for (uint32_t s = 0; s < rec[i].slots && rec[i].rank < h->p.world; s++) {
			size_t at = (size_t)rec[i].rank * STEP_SLOTS + s;
			float v = rec[i].slot[s].sum;

			h->mean[at] += (float)((v - h->mean[at]) * by);
			h->square[at] += (float)(((double)v * v - h->square[at]) * by);
		}
}

/* The group in which this rank (or, UINT32_MAX, anybody) waits the longest beyond the usual. */
static size_t worst(const struct holmes *h, uint32_t rank, double *most)
{
	size_t at = SIZE_MAX;

	*most = 0;
	for (size_t i = 0; i < h->g.n; i++)
		if ((rank == UINT32_MAX || h->g.m[i].rank == rank) && step_op_syncs[h->g.m[i].op] &&
		    excess(h, &h->g.m[i]) > *most) {
			*most = excess(h, &h->g.m[i]);
			at = i;
		}
	while (at != SIZE_MAX && at > 0 && h->g.m[at - 1].comm == h->g.m[at].comm &&
	       h->g.m[at - 1].op == h->g.m[at].op)
		at--;
	return at;
}

static void walk(struct holmes *h, double step, diag_say_fn *say, void *arg)
{
	uint32_t rank = UINT32_MAX;
	double cost = 0, most;

	for (int hop = 0; hop < HOPS; hop++) {
		size_t i = worst(h, rank, &most), end;
		uint32_t next = UINT32_MAX;
		double least = INFINITY;

		if (i == SIZE_MAX)
			break;
		cost = hop ? cost : most;
		end = panel_group_end(&h->g, i);
		for (size_t k = i; k < end; k++) /* the copy that is as usual: others wait for it */
			if (excess(h, &h->g.m[k]) == 0 && h->g.m[k].slot->sum < least) {
				least = h->g.m[k].slot->sum;
				next = h->g.m[k].rank;
			}
		if (next == UINT32_MAX) { /* all of them: the operation itself */
			panel_say_group(say, arg, &h->g, i, end,
					h->g.m[i].slot->flags & STEP_SLOT_FAR ? 19 : 6,
					cost / step);
			return;
		}
		rank = next;
	}
	if (rank != UINT32_MAX)
		panel_say(say, arg, DIAG_RANK, rank, 4, cost / step);
}

static int holmes_step(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say,
		       void *arg)
{
	struct holmes *h = state;
	int err;

	if (!panel_take(&h->p, rec, n))
		return 0;
	if (h->learnt < PAST || rec[0].t.step < 1.04 * h->step_mean) {
		learn(h, rec, n);
		return 0;
	}
	err = panel_groups(&h->g, &h->p);
	if (!err)
		walk(h, rec[0].t.step, say, arg);
	return err;
}

const struct diagnoser base_holmes = { "B8",
				       "Holmes: an irregular step, back through who waits for whom",
				       holmes_open, holmes_step, holmes_close };
