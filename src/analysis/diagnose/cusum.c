/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cusum.c - compares one series with its own past.
 *
 * A CUSUM of clipped deviations detects lasting changes and their end. Two more tests detect
 * intermittent changes, and changes that are plain after three steps. No test alarms on a change
 * that costs next to nothing: the minimum effect size matters more than the method
 * (docs/diagnosis.md).
 */
#include <math.h>
#include <string.h>

#include "diagnose/state.h"

#define DRIFT      1.5f /* k: deviations a step that are forgiven */
#define LIMIT      CUSUM_LIMIT
#define CLIP       3.0f
#define FAST_Z     10.0f
#define FAST_LEAST 0.10f /* of a step */
#define FAST_STEPS 3u
#define WINDOW_Z   8.0f
#define OFTEN      5u /* of the window's steps */
#define SLOW       512.0f

void track_reset(struct cusum *t)
{
	memset(t, 0, sizeof(*t));
}

bool track_learn(struct cusum *t, float v, uint32_t steps)
{
	float room[RING];

	if (t->learnt)
		return true;
	t->ring[t->seen++ % RING] = v;
	if (t->seen < steps)
		return false;
	memcpy(room, t->ring, sizeof(room));
	t->base = select_at(room, t->seen, 0.5);
	for (uint32_t i = 0; i < t->seen; i++)
		t->ring[i] -= t->base;
	t->learnt = true;
	return false;
}

static float newest(const struct cusum *t, uint32_t i)
{
	return t->ring[(t->seen - 1 - i) % RING];
}

float track_mean(const struct cusum *t, uint32_t n)
{
	float sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += newest(t, i);
	return sum / (float)n;
}

static float clip(float z)
{
	return fmaxf(fminf(z, CLIP), -CLIP);
}

/* Is it back? Half of what it had risen by is as far from the one as from the other. */
static void look_down(struct cusum *t, float by, float noise)
{
	if (!(t->level > 0)) {
		if (t->fast >= FAST_STEPS)
			t->level = track_mean(t, FAST_STEPS);
		else if (t->sum >= LIMIT)
			t->level = track_mean(t, SHORT);
		t->down = 0;
		return;
	}
	t->down = fmaxf(t->down + clip((t->level / 2 - by) / noise), 0);
	if (t->down < LIMIT)
		return;
	t->sum = t->level = t->down = 0;
	t->fast = 0;
	t->back = t->seen;
}

void track_add(struct cusum *t, float v, float noise)
{
	float by = v - t->base, z = by / noise;

	t->ring[t->seen++ % RING] = by;
	t->sum += clip(z) - DRIFT;
	t->sum = t->sum < 0 ? 0 : t->sum > 2 * LIMIT ? 2 * LIMIT : t->sum;
	t->fast = z > FAST_Z && by > FAST_LEAST ? (uint8_t)(t->fast + (t->fast < 255)) : 0;
	if (t->sum <= 0) /* slow drift is no fault; what is under way is not learnt */
		t->base += fmaxf(fminf(by, noise), -noise) / SLOW;
	look_down(t, by, noise);
}

float track_at(const struct cusum *t, uint32_t n, double q)
{
	float room[RING];

	for (uint32_t i = 0; i < n; i++)
		room[i] = newest(t, i);
	return select_at(room, n, q);
}

uint32_t track_above(const struct cusum *t, uint32_t n, float least)
{
	uint32_t above = 0;

	for (uint32_t i = 0; i < n; i++)
		above += newest(t, i) > least;
	return above;
}

bool track_is_up(const struct cusum *t, float noise)
{
	uint32_t n = track_is_back(t) ? t->seen - t->back : RING; /* what is over does not count */
	float mean, least = fmaxf(3 * noise, 0.005f);

	if (!t->learnt)
		return false;
	if (t->fast >= FAST_STEPS)
		return true;
	if (t->sum >= LIMIT && track_above(t, SHORT, 0.8f * (float)WORTH) >= SHORT - 2)
		return true;
	if (!n)
		return false;
	mean = track_mean(t, n) * (float)n / RING;
	return mean > WORTH && mean > WINDOW_Z * noise / sqrtf(RING) &&
	       track_above(t, n, least) >= OFTEN &&
	       track_above(t, n < SHORT * 2 ? n : SHORT * 2, least) > 0;
}
