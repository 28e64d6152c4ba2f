/* SPDX-License-Identifier: Apache-2.0 */
/* sampling_estimator.c - a ratio estimator over blocks of steps; see sampling_estimator.h. */
#include "insight/sampling_estimator.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"

void chosen_fini(struct chosen *c)
{
	free(c->block);
	*c = (struct chosen){ 0 };
}

int chosen_step(struct chosen *c, uint64_t start_ns, uint64_t dur_ns, uint32_t weight)
{
	struct chosen_block *b = c->n ? &c->block[c->n - 1] : NULL;

	if (b && start_ns < b->from_ns)
		return 0; /* out of order: it is as the one before it */
	if (!b || b->weight != weight) {
		if (vec_more(&c->block, c->n, sizeof(*c->block)) < 0)
			return -ENOMEM;
		b = &c->block[c->n++];
		*b = (struct chosen_block){ .from_ns = start_ns, .weight = weight };
	}
	b->to_ns = start_ns + dur_ns;
	b->step_ns += (double)dur_ns;
	return 0;
}

size_t chosen_at(const struct chosen *c, size_t *hint, uint64_t ns)
{
	size_t i = *hint;

	if (!c->n || c->block[0].from_ns > ns)
		return CHOSEN_NONE;
	if (i >= c->n || c->block[i].from_ns > ns)
		i = 0;
	while (i + 1 < c->n && c->block[i + 1].from_ns <= ns)
		i++;
	*hint = i;
	while (i && !c->block[i].weight)
		i--;
	return c->block[i].weight ? i : CHOSEN_NONE;
}

uint64_t chosen_unseen(const struct chosen *c, uint64_t start_ns, uint64_t end_ns)
{
	size_t next = first_where(i, 0, c->n, c->block[i].from_ns >= end_ns);
	uint64_t to;

	while (next && c->block[next - 1].weight)
		next--;
	if (!next || c->block[next - 1].to_ns <= start_ns)
		return 0;
	to = c->block[next - 1].to_ns;
	return (to < end_ns ? to : end_ns) - start_ns;
}

/* Student's t at 97.5 %. */
static double student(double freedom)
{
	static const double t[] = { 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23 };

	if (freedom < 1)
		return t[0] / (freedom > 0.1 ? freedom : 0.1);
	return freedom < 11 ? t[(size_t)freedom - 1] : 1.96 + 2.4 / freedom;
}

double chosen_few(double units)
{
	double t = student(units - 1) / 1.96;

	return t * t * (units > 1.1 ? units / (units - 1) : 11);
}

struct chosen_sum chosen_sum(const struct chosen *c, const double *y, size_t stride)
{
	double all = 0, weighted = 0, square = 0, sum = 0, apart = 0, ratio, times;
	struct chosen_sum s = { .times = 1 };

	for (size_t i = 0; i < c->n; i++) {
		const struct chosen_block *b = &c->block[i];

		if (b->weight == 1) {
			s.ns += y[i * stride];
			continue;
		}
		all += b->step_ns;
		weighted += b->weight * b->step_ns;
		square += b->weight * b->step_ns * b->weight * b->step_ns;
		sum += b->weight * y[i * stride];
	}
	if (weighted <= 0)
		return s;
	ratio = sum / weighted;
	times = all / weighted;
	for (size_t i = 0; i < c->n; i++) {
		const struct chosen_block *b = &c->block[i];
		double off = b->weight * (y[i * stride] - ratio * b->step_ns);

		if (b->weight <= 1)
			continue;
		s.variance += (1 - 1.0 / b->weight) * off * off;
		off = b->weight * y[i * stride];
		apart += (1 - 1.0 / b->weight) * off * off;
	}
	s.variance *= chosen_few(weighted * weighted / square);
	/* One block is always as the mean of all: its error is that of its own sum. */
	if (weighted * weighted < 2 * square && s.variance < apart)
		s.variance = apart;
	s.variance *= times * times;
	s.ns += sum * times;
	s.times = times;
	return s;
}
