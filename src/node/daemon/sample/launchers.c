/* SPDX-License-Identifier: Apache-2.0 */
/* launchers.c - see launchers.h. */
#include "daemon/sample/launchers.h"

#include "model/event.h"
#include "model/rollup.h"

#define WAITS   0.02 /* of the time */
#define SLOW    1.25 /* times its usual: a step that takes longer waits for something */
#define MOVE    0.02 /* of the usual length, by each step: the median of the last hundred or so */
#define HOLD_NS (10 * WINDOW_NS) /* for which a slow step is looked into: the next may be, too */
#define LATE_NS WINDOW_NS        /* after which the end of a step has surely been heard of */
#define FEW     0.01             /* of what the busiest thread does: not worth a sample */
#define LONE    1                /* mark or counter: a probe sets one when it begins */

#define BIT(KIND) (1u << EVENT_##KIND)
#define GPU_KINDS (BIT(KERNEL) | BIT(COPY) | BIT(MEMSET) | BIT(COLLECTIVE))
#define LAUNCHES  (BIT(API) | BIT(SYNC) | BIT(STEP))
#define RANGES    (BIT(RANGE) | BIT(OP) | BIT(MODULE))

static struct launcher *find(struct launchers *l, uint32_t track, bool add)
{
	if (l->last < l->n && l->at[l->last].track == track)
		return &l->at[l->last];
	for (l->last = 0; l->last < l->n; l->last++)
		if (l->at[l->last].track == track)
			return &l->at[l->last];
	if (!add || l->n == LAUNCHERS)
		return NULL;
	l->at[l->n] = (struct launcher){ .track = track };
	return &l->at[l->n++];
}

void launchers_track(struct launchers *l, uint32_t track, uint64_t tid)
{
	struct launcher *x = tid && tid < UINT32_MAX ? find(l, track, true) : NULL;

	if (x)
		x->tid = (uint32_t)tid;
}

uint32_t launchers_tid(const struct launchers *l, uint32_t track)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].track == track)
			return l->at[i].tid;
	return 0;
}

uint32_t launchers_track_of(const struct launchers *l, uint32_t tid)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (tid && l->at[i].tid == tid)
			return l->at[i].track;
	return 0;
}

/* The window that was under way is complete. */
static void turn(struct launchers *l, uint64_t start_ns)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		struct launcher *x = &l->at[i];

		most = x->busy_ns > most ? x->busy_ns : most;
		x->busy_ns = 0;
		x->launches /= 2;
		x->ranges /= 2;
		x->rest /= 2;
	}
	if (l->gpu && l->start_ns)
		l->busy = (3 * l->busy + (double)most / WINDOW_NS) / 4;
	l->start_ns = start_ns;
}

void launchers_window(struct launchers *l, const struct window *w)
{
	if (w->start_ns > l->start_ns)
		turn(l, w->start_ns);
	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *r = &w->row[i];
		bool gpu = GPU_KINDS >> r->kind & 1;
		struct launcher *x = find(l, r->track, gpu);
		double n = (double)r->count;

		if (!x)
			continue;
		if (!x->tid && gpu) {
			l->gpu = true;
			if (r->kind !=
			    EVENT_COLLECTIVE) /* it may do no more than wait for others */
				x->busy_ns += r->total_ns;
		} else if (LAUNCHES >> r->kind & 1) {
			x->launches += n;
		} else if (RANGES >> r->kind & 1) {
			x->ranges += n;
		} else {
			x->rest += n;
		}
	}
}

static double score(const struct launcher *x, int by)
{
	return !x->tid ? 0 : by == 0 ? x->launches : by == 1 ? x->ranges : x->rest;
}

/* Puts it where it belongs among the n first. */
static size_t place(struct launcher *out[], size_t n, size_t max, struct launcher *x, int by)
{
	size_t i = n < max ? n : max;

	for (; i > 0 && score(out[i - 1], by) < score(x, by); i--)
		if (i < max)
			out[i] = out[i - 1];
	if (i < max)
		out[i] = x;
	return n < max ? n + 1 : n;
}

size_t launchers_pick(struct launchers *l, struct launcher *out[LAUNCHERS_PICK])
{
	size_t n = 0, max = LAUNCHERS_PICK;

	/* Who launches on a GPU does more than to set marks: a thread of a probe is not it. */
	for (int by = 0; by < (l->gpu ? 2 : 3) && !n; by++) {
		if (by == 2)
			max = 1; /* of no thread is it known that it does anything */
		for (uint32_t i = 0; i < l->n; i++)
			if (score(&l->at[i], by) > (by == 2 ? LONE : 0.01))
				n = place(out, n, max, &l->at[i], by);
		while (n > 1 && score(out[n - 1], by) < FEW * score(out[0], by))
			n--;
	}
	return n;
}

void launchers_step(struct launchers *l, uint64_t start_ns, uint64_t dur_ns)
{
	double dur = (double)dur_ns;

	l->end_ns = start_ns + dur_ns > l->end_ns ? start_ns + dur_ns : l->end_ns;
	if (l->usual_ns > 0 && dur > SLOW * l->usual_ns)
		l->slow_ns = l->end_ns;
	l->usual_ns = !(l->usual_ns > 0)  ? dur
		      : dur > l->usual_ns ? l->usual_ns * (1 + MOVE)
					  : l->usual_ns * (1 - MOVE);
}

void launchers_waits(struct launchers *l, double step_ns, double waits_ns)
{
	if (step_ns > 0 && waits_ns >= 0)
		l->waits = (3 * l->waits + (waits_ns < step_ns ? waits_ns / step_ns : 1)) / 4;
}

bool launchers_wait(const struct launchers *l, uint64_t now_ns)
{
	return !l->gpu || l->busy < 1 - WAITS || l->waits > WAITS ||
	       (l->slow_ns && now_ns < l->slow_ns + HOLD_NS) ||
	       (l->usual_ns > 0 &&
		(double)now_ns > (double)l->end_ns + LATE_NS + SLOW * l->usual_ns);
}
