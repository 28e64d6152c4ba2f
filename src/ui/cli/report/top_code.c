/* SPDX-License-Identifier: Apache-2.0 */
/* top_code.c - what launching threads do, from their newest samples; see top.h. */
#include "cli/report/top.h"

#include <string.h>

#define CODE_NS (5 * WINDOW_NS)
#define LATE_NS (150 * WINDOW_NS) /* aond stores samples of many seconds together */
#define PLACES  64u               /* further ones of these seconds are not looked at */

struct places {
	struct {
		uint32_t name;
		enum sample_state state;
		uint64_t ns;
	} at[PLACES];
	size_t n;
	uint64_t ns, samples;
	uint64_t newest_ns;
};

static int on_newest(void *arg, uint32_t process, const struct event_columns *c)
{
	struct places *p = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++)
		p->newest_ns = c->start_ns[i] > p->newest_ns ? c->start_ns[i] : p->newest_ns;
	return 0;
}

static int on_samples(void *arg, uint32_t process, const struct event_columns *c)
{
	struct places *p = arg;

	(void)process;
	for (size_t i = 0; i < c->n; i++) {
		enum sample_state state = sample_state(c->b[i]);
		size_t k = 0;

		if (sample_flags(c->b[i]) & SAMPLE_HOLDER)
			continue;
		p->samples++;
		p->ns += c->dur_ns[i];
		while (k < p->n && (p->at[k].name != c->name[i] || p->at[k].state != state))
			k++;
		if (k == PLACES)
			continue;
		p->n += k == p->n;
		p->at[k].name = c->name[i];
		p->at[k].state = state;
		p->at[k].ns += c->dur_ns[i];
	}
	return 0;
}

int top_code(struct top_look *l, struct top_proc *t)
{
	struct store_filter f = { .process = &t->p->id,
				  .processes = 1,
				  .kinds = 1u << EVENT_SAMPLE,
				  .from_ns = l->now_ns > LATE_NS ? l->now_ns - LATE_NS : 0 };
	struct places p = { .n = 0 };
	size_t best = 0;
	int err = store_each_events(l->st, &f, EVENT_COL_START, on_newest, &p);

	if (err < 0 || !p.newest_ns)
		return err;
	f.from_ns = p.newest_ns > CODE_NS ? p.newest_ns - CODE_NS : 0;
	err = store_each_events(l->st, &f,
				EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_NAME | EVENT_COL_B,
				on_samples, &p);
	if (err < 0 || !p.ns)
		return err;
	t->code_age_ns = l->now_ns > p.newest_ns ? l->now_ns - p.newest_ns : 0;
	for (size_t i = 1; i < p.n; i++)
		best = p.at[i].ns > p.at[best].ns ? i : best;
	t->code_samples = p.samples;
	t->code_share = (double)p.at[best].ns / (double)p.ns;
	t->code_state = p.at[best].state;
	snprintf(t->code, sizeof(t->code), "%s",
		 p.at[best].name ? store_name_text(l->st, p.at[best].name) : "(no frame)");
	return 0;
}
