/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - see steps.h. */
#include "serve/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sketch.h"
#include "base/vec.h"
#include "store/store.h"

static int on_events(void *arg, uint32_t process, const struct event_columns *c)
{
	struct step_rows *s = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		if (c->flags[i] & EVENT_OPEN)
			continue;
		if (s->n == STEPS_KEPT) { /* full: drop the older half */
			s->n /= 2;
			memmove(s->step, s->step + s->n, s->n * sizeof(*s->step));
		}
		if (vec_more(&s->step, s->n, sizeof(*s->step)) < 0)
			return -ENOMEM;
		s->step[s->n++] = (struct step_row){ c->a[i], c->start_ns[i], c->dur_ns[i] };
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct step_row *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

int steps_read(struct step_rows *out, const struct run *r, uint64_t from_ns, uint64_t to_ns)
{
	uint32_t cols = EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_FLAGS;
	struct store_filter f = {
		.processes = 1, .kinds = 1u << EVENT_STEP, .from_ns = from_ns, .to_ns = to_ns
	};
	int err = 0;

	*out = (struct step_rows){ .n = 0 };
	for (size_t i = 0; i < r->processes && !out->n && !err; i++) {
		f.process = &r->process[i].id;
		err = store_each_events(r->src->st, &f, cols, on_events, out);
	}
	if (out->n)
		qsort(out->step, out->n, sizeof(*out->step), by_start);
	if (err < 0)
		steps_fini(out);
	return err;
}

int steps_looked_at(struct step_rows *out, const struct run *r, const struct insight *in)
{
	*out = (struct step_rows){ .step = calloc(in->steps + 1, sizeof(*out->step)) };
	if (!out->step)
		return -ENOMEM;
	for (size_t p = 0; p < r->processes && !out->n; p++)
		for (size_t i = 0; i < in->steps; i++)
			if (in->t->process[in->step[i].process].pid == r->process[p].pid)
				out->step[out->n++] =
					(struct step_row){ in->step[i].number, in->step[i].start_ns,
							   in->step[i].dur_ns };
	return 0;
}

void steps_fini(struct step_rows *s)
{
	free(s->step);
	*s = (struct step_rows){ .n = 0 };
}

uint64_t steps_quantile(const struct step_rows *s, size_t from, size_t n, double q)
{
	struct sketch k = { .cell = NULL };
	uint64_t v, lo = UINT64_MAX, hi = 0;

	for (size_t i = from; i < from + n && i < s->n; i++) {
		uint64_t d = s->step[i].dur_ns;

		lo = d < lo ? d : lo;
		hi = d > hi ? d : hi;
		if (sketch_add(&k, d, 1) < 0)
			break;
	}
	v = sketch_quantile(&k, q);
	sketch_fini(&k);
	return v > hi ? hi : v < lo ? (hi ? lo : 0) : v;
}
