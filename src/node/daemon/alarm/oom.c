/* SPDX-License-Identifier: Apache-2.0 */
/* oom.c - see oom.h: the words of the table. */
#include "daemon/alarm/oom.h"

#define GROWN_SHARE 8u /* of what is held: as much as this part has grown, or growth is no cause */
#define GROWN_STEPS 3u
#define MARGIN      20u /* of a batch that fits, left free */

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t last_step(const struct aon_memory *m)
{
	return m->step ? m->step - 1 : 0;
}

/* Bytes a step, or 0. */
static uint64_t growth_of(const struct aon_memory *m, const struct aon_memory_site *s)
{
	uint64_t steps = minus(last_step(m), s->since_step);

	return steps >= GROWN_STEPS && s->since_step ? minus(s->most, s->since) / steps : 0;
}

struct oom_site oom_site(const struct aon_memory *m, enum aon_memory_space space)
{
	struct oom_site out = { .held = m->total[space].live };
	uint64_t grown = 0, most = 0, largest = 0, growth = 0;
	uint32_t grows = 0;

	for (uint32_t i = 0; i < AON_MEMORY_SITES; i++) {
		const struct aon_memory_site *s = &m->site[i];
		uint64_t by = growth_of(m, s);

		if (!s->key || s->space != space)
			continue;
		if (s->live > largest) {
			largest = s->live;
			out.site = i;
		}
		if (!by)
			continue;
		growth += by;
		grown += minus(s->most, s->since);
		if (minus(s->most, s->since) > most) {
			most = minus(s->most, s->since);
			grows = i;
		}
	}
	if (grows && grown >= out.held / GROWN_SHARE) {
		out.site = grows;
		out.growth = growth;
		out.since = m->site[grows].since_step;
	}
	return out;
}

/* Activations grow with the batch, the rest does not: what a step with a known batch needed above its minimum tells
 * about others. */
uint64_t oom_fits(const struct aon_memory *m, enum aon_memory_space space,
		  const struct oom_facts *f)
{
	const struct aon_memory_total *t = &m->total[space];
	uint64_t outside = f->killed && space == AON_MEMORY_HOST ? minus(f->limit, t->live) : 0;

	if (!m->batch || !f->limit || t->every != 1)
		return 0;
	outside = f->outside > outside ? f->outside : outside;
	for (uint64_t i = t->rows; i-- > 0;) {
		const struct aon_memory_step *r = &t->step[i];
		uint64_t room = minus(f->limit, outside + r->low), fits;
		double each = r->batch ? (double)minus(r->peak, r->low) / (double)r->batch : 0;

		if (each <= 0)
			continue;
		fits = (uint64_t)((double)(room - room / MARGIN) / each);
		return fits < m->batch ? fits : 0;
	}
	return 0;
}

/* Of the program's own tensors some have a site of their line: the one that holds most stands for all. */
static const char *own_line(const struct aon_memory *m, uint16_t space)
{
	const struct aon_memory_site *best = NULL;

	for (uint32_t i = AON_MEMORY_FIXED; i < AON_MEMORY_SITES; i++) {
		const struct aon_memory_site *s = &m->site[i];

		if (s->key && s->part == AON_MEMORY_OTHER && s->space == space && s->live &&
		    (!best || s->live > best->live))
			best = s;
	}
	return best ? best->name : "";
}

static void put_place(struct journal_entry *e, const struct aon_memory *m,
		      const struct aon_memory_site *s)
{
	const char *line = s->part != AON_MEMORY_OTHER ? ""
			   : *s->name                  ? s->name
						       : own_line(m, s->space);

	entry_u(e, FIELD_IS_BYTES, s->live);
	entry_u(e, FIELD_PART, s->part);
	if (s->part == AON_MEMORY_FORWARD)
		entry_s(e, FIELD_SITE, *s->name ? s->name : "other modules");
	if (*line)
		entry_s(e, FIELD_PLACE, line);
	else if (s->placed > 1) /* "?": asked for, and not known */
		entry_s(e, FIELD_PLACE, s->place);
}

void oom_put_site(struct journal_entry *e, const struct aon_memory *m,
		  const struct aon_memory_site *s)
{
	uint64_t growth = growth_of(m, s);

	put_place(e, m, s);
	entry_u(e, FIELD_PEAK_BYTES, s->peak);
	entry_u(e, FIELD_KEPT_BYTES, s->kept);
	if (growth) {
		entry_u(e, FIELD_GROWTH, growth);
		entry_u(e, FIELD_SINCE, s->since_step);
	}
}

void oom_entry(struct journal_entry *e, const struct aon_memory *m, enum aon_memory_space space,
	       const struct oom_facts *f)
{
	const struct aon_memory_total *t = &m->total[space];
	struct oom_site o = oom_site(m, space);

	e->kind = f->killed ? ENTRY_OOM_KILLED : ENTRY_OOM_FAILED;
	entry_u(e, FIELD_STEP, f->killed ? m->step : t->fail_step);
	if (f->limit) {
		entry_u(e, FIELD_LIMIT_BYTES, f->limit);
		entry_u(e, FIELD_HELD_BYTES, f->killed || !t->fail_live ? t->live : t->fail_live);
	}
	if (!f->killed)
		entry_u(e, FIELD_ASKED_BYTES, t->fail_bytes);
	if (f->caught)
		entry_u(e, FIELD_CAUGHT, 1);
	if (o.site)
		put_place(e, m, &m->site[o.site]);
	if (o.growth) {
		entry_u(e, FIELD_GROWTH, o.growth);
		entry_u(e, FIELD_SINCE, o.since);
	} else if (m->batch) {
		entry_u(e, FIELD_BATCH, m->batch);
		entry_u(e, FIELD_FITS, oom_fits(m, space, f));
	}
	if (f->killed && t->live < minus(f->limit, f->rss_at) / 2)
		entry_u(e, FIELD_ELSEWHERE, 1);
	if (f->killed && f->rss)
		entry_u(e, FIELD_RSS_BYTES, f->rss);
	if (f->killed && f->rss_at)
		entry_u(e, FIELD_WAS_BYTES, f->rss_at);
}
