/* SPDX-License-Identifier: Apache-2.0 */
/* pauses.c - pauses of hosts that records name: garbage collection, allocation, checkpoints. */
#include <math.h>

#include "diagnose/state.h"

#define FADE_GC    (1 - 1.0 / 128)
#define FADE_ALLOC (1.0f / 32)
#define OFTEN      20u /* steps from one checkpoint to the next: more seldom is a choice */

static void fade(double sum[2], double lost, double all)
{
	sum[0] = sum[0] * FADE_GC + lost;
	sum[1] = sum[1] * FADE_GC + all;
}

static void say_pause(struct saying *s, enum diag_why why, struct diag_part p, uint8_t kind,
		      double share, double ns)
{
	struct diag_verdict v;

	verdict_init(s->d, &v, why, p, kind);
	v.seen_ns = ns;
	v.f.gain = (float)fmin(share, 1);
	v.gain_least = share / 2;
	v.f.confidence = 0.9f;
	v.f.act = share >= WORTH;
	verdict_say(s, &v);
}

static void alloc_of(struct saying *s, double step_ns)
{
	struct diag *d = s->d;
	uint32_t n = 0;
	double most = 0;

	for (uint32_t i = 0; i < d->world; i++) {
		struct diag_rank *r = &d->rank[i];

		if (!r->rec)
			continue;
		r->alloc += (float)((r->rec->t.alloc > 0 ? fmin(r->rec->t.alloc / step_ns, 1) : 0) -
				    r->alloc) *
			    FADE_ALLOC;
		if (r->rec->t.alloc > 0.002 * step_ns && r->allocs < 1000)
			r->allocs++;
		if (r->alloc >= WORTH && r->allocs >= 3) {
			n++;
			most = fmax(most, r->alloc);
		}
	}
	if (n > 1 && 2 * n > d->ranks) {
		say_pause(s, DIAG_WHY_ALLOC, (struct diag_part){ DIAG_JOB, 0 }, 11, most,
			  most * step_ns);
		return;
	}
	for (uint32_t i = 0; n && i < d->world; i++)
		if (d->rank[i].rec && d->rank[i].alloc >= WORTH && d->rank[i].allocs >= 3)
			say_pause(s, DIAG_WHY_ALLOC, (struct diag_part){ DIAG_RANK, i }, 11,
				  d->rank[i].alloc, d->rank[i].alloc * step_ns);
}

void find_pauses(struct saying *s, bool usual)
{
	struct diag *d = s->d;
	double gc = 0, ckpt = 0, step = 0;

	for (uint32_t i = 0; i < d->world; i++)
		if (d->rank[i].rec) {
			gc = fmax(gc, d->rank[i].rec->t.gc);
			ckpt = fmax(ckpt, d->rank[i].rec->t.ckpt);
			step = fmax(step, d->rank[i].rec->t.step);
		}
	step = step > 0 && step < 1e15 ? step : 1;
	fade(d->gc, fmin(gc, step), step);
	fade(d->ckpt, fmin(ckpt, step), step);
	d->gcs = d->gcs * (float)FADE_GC + (gc > 0);
	d->ckpts = d->ckpts * (float)FADE_GC + (ckpt > 0);
	if (ckpt > 0) {
		d->ckpt_gap = d->steps - d->ckpt_step;
		d->ckpt_step = d->steps;
	}
	if (d->gcs > 1.5f && d->gc[0] >= WORTH * d->gc[1])
		say_pause(s, DIAG_WHY_GC, (struct diag_part){ DIAG_JOB, 0 }, 10,
			  d->gc[0] / d->gc[1], d->gc[0] / d->gcs);
	if (d->ckpts > 2.5f && d->ckpt_gap <= OFTEN && d->steps - d->ckpt_step <= OFTEN &&
	    d->ckpt[0] >= WORTH * d->ckpt[1])
		say_pause(s, DIAG_WHY_CHECKPOINT, (struct diag_part){ DIAG_JOB, 0 }, 26,
			  d->ckpt[0] / d->ckpt[1], d->ckpt[0] / d->ckpts);
	if (usual)
		alloc_of(s, step);
}
