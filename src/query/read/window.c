/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - see window.h. */
#include "read/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "model/trace.h"
#include "model/trace_demangle.h"
#include "store/store.h"
#include "store/trace.h"

#define STEPS_MAX 1000000u
#define TRIES     5
#define SEARCH    4u /* look this many times the wanted width back */

struct loading {
	size_t events_max;
	uint64_t until_ns;
};

static int go_on(void *arg, const struct trace *t)
{
	const struct loading *l = arg;

	if (t->events > l->events_max)
		return -EFBIG;
	return l->until_ns && clock_mono_ns() > l->until_ns ? -ETIMEDOUT : 0;
}

int read_part(struct trace **out, struct store *st, const char *path,
	      const struct store_filter *part, size_t most, uint64_t until_ns)
{
	struct loading l = { most, until_ns };
	struct trace *t;
	int err = trace_new(&t);

	if (err < 0)
		return err;
	err = store_trace_part(t, st, path, part, go_on, &l);
	err = err ? err : trace_seal(t);
	if (err < 0) {
		trace_free(t);
		return err;
	}
	demangle_trace(t);
	*out = t;
	return 0;
}

/* --- the newest steps --- */

struct step_list {
	uint64_t *start_ns; /* owned */
	uint64_t last_end_ns;
	size_t n;
};

static int on_steps(void *arg, uint32_t process, const struct event_columns *c)
{
	struct step_list *s = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		if (c->flags[i] & EVENT_OPEN)
			continue;
		if (s->n == STEPS_MAX) { /* full: drop the older half */
			s->n /= 2;
			memmove(s->start_ns, s->start_ns + s->n, s->n * sizeof(*s->start_ns));
		}
		if (vec_more(&s->start_ns, s->n, sizeof(*s->start_ns)) < 0)
			return -ENOMEM;
		s->start_ns[s->n++] = c->start_ns[i];
		if (c->start_ns[i] + c->dur_ns[i] > s->last_end_ns)
			s->last_end_ns = c->start_ns[i] + c->dur_ns[i];
	}
	return 0;
}

/* The newest `width` of the part, cut at the borders of steps if there are any. */
static void cut(struct store_filter *part, const struct step_list *steps, uint64_t width)
{
	uint64_t from;

	if (steps->n && steps->last_end_ns < part->to_ns)
		part->to_ns = steps->last_end_ns;
	from = part->to_ns - part->from_ns > width ? part->to_ns - width : part->from_ns;
	for (size_t i = 0; i < steps->n; i++)
		if (steps->start_ns[i] >= from && steps->start_ns[i] < part->to_ns) {
			from = steps->start_ns[i];
			break;
		}
	part->from_ns = from;
}

int read_window(struct trace **out, struct store *st, const char *path, struct store_filter *part,
		double events, size_t most, uint64_t until_ns)
{
	struct store_filter f = *part;
	uint32_t cols = EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_FLAGS;
	uint64_t width = (uint64_t)((double)(part->to_ns - part->from_ns) * 0.8 * (double)most /
				    (events > 1 ? events : 1));
	struct step_list steps = { .n = 0 };
	struct store_filter some = *part;
	int err;

	/* Only the steps of the first process are used. */
	f.processes = f.processes > 1 ? 1 : f.processes;
	f.kinds = 1u << EVENT_STEP;
	/* Older steps are not needed to find the borders of the newest. */
	if ((part->to_ns - part->from_ns) / SEARCH > width)
		f.from_ns = part->to_ns - SEARCH * width;
	err = store_each_events(st, &f, cols, on_steps, &steps);
	for (int i = 0; i < TRIES && !err; i++, width /= 2) {
		some = *part;
		cut(&some, &steps, width);
		err = read_part(out, st, path, &some, most, until_ns);
		if (err != -EFBIG)
			break;
		err = i + 1 < TRIES ? 0 : -EFBIG;
	}
	free(steps.start_ns);
	if (!err)
		*part = some;
	return err;
}
