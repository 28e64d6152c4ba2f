/* SPDX-License-Identifier: Apache-2.0 */
/* rate.c - events a second, from the newest windows; see rate.h. */
#include "cli/report/rate.h"

/* Windows reach the store some seconds after they end. */
#define LAG_NS  (5 * WINDOW_NS)
#define SPAN_NS (5 * WINDOW_NS)

struct sum {
	uint64_t count, first_ns, last_ns;
};

static int on_window(void *arg, const struct window *w)
{
	struct sum *s = arg;

	if (!s->last_ns || w->start_ns < s->first_ns)
		s->first_ns = w->start_ns;
	if (w->start_ns + WINDOW_NS > s->last_ns)
		s->last_ns = w->start_ns + WINDOW_NS;
	for (uint32_t i = 0; i < w->rows; i++)
		s->count += w->row[i].count;
	return 0;
}

int rate_of(struct store *st, const struct process *p, uint64_t now_ns, double *per_s)
{
	struct store_filter f = { .process = &p->id, .processes = 1 };
	struct sum s = { 0 };
	int err;

	f.from_ns = now_ns > LAG_NS + SPAN_NS ? now_ns - LAG_NS - SPAN_NS : 0;
	err = store_each_window(st, &f, on_window, &s);
	/* The first second may have begun before it joined, the last may not be over. */
	if (p->first_ns > s.first_ns)
		s.first_ns = p->first_ns;
	if (p->last_ns > s.first_ns && p->last_ns < s.last_ns)
		s.last_ns = p->last_ns;
	*per_s = s.last_ns > s.first_ns ? (double)s.count * 1e9 / (double)(s.last_ns - s.first_ns)
					: 0;
	return err < 0 ? err : 0;
}
