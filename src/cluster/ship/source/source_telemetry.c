/* SPDX-License-Identifier: Apache-2.0 */
/* source_telemetry.c - telemetry: for each series the last value of every minute, if it changed. */
#include <errno.h>
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/vec.h"
#include "model/telemetry.h"
#include "ship/source/source_priv.h"

#define SECOND  1000000000ull
#define EACH_NS (60 * SECOND)
#define LAG_NS  (12 * SECOND) /* aond stores the block under way every five seconds */
#define SERIES  65536u

static int on_series(void *arg, const struct series *x)
{
	struct ship_source *s = arg;
	size_t had = s->seriess;

	if (x->id >= SERIES)
		return 0;
	if (vec_room0(&s->series, &s->seriess, x->id + 1, sizeof(*s->series)) < 0)
		return -ENOMEM;
	for (size_t i = had; i < s->seriess; i++)
		s->series[i].now = s->series[i].said = NAN;
	s->series[x->id].s = *x;
	s->series_known = x->id > s->series_known ? x->id : s->series_known;
	return 0;
}

struct stretch {
	struct ship_source *s;
	uint64_t from_ns, to_ns;
};

static int on_block(void *arg, const struct telemetry_block *b)
{
	const struct stretch *x = arg;

	for (uint32_t i = 0; i < b->changes; i++) {
		const struct change *c = &b->change[i];
		struct told_series *t = c->series < x->s->seriess ? &x->s->series[c->series] : NULL;
		uint64_t at = c->tick < b->ticks ? b->tick_ns[c->tick] : 0;

		if (!t || !t->s.id || at < x->from_ns || at >= x->to_ns || at < t->at_ns)
			continue;
		t->now = c->value;
		t->at_ns = at;
		t->wall_ns = at + (uint64_t)b->wall_offset_ns;
	}
	return 0;
}

static void put_series(struct ship_source *s, struct told_series *t)
{
	const struct metric *m = metric_get(t->s.metric);

	if (!m || isnan(t->now) || t->now == t->said)
		return;
	t->said = t->now;
	packs_add(&s->packs, SHIP_TELEMETRY, ship_hash_text(s->o.host),
		  &(struct ship_telemetry){ .host = ship_text(s->o.host),
					    .device = ship_text(t->s.device),
					    .metric = ship_text(m->name),
					    .labels = ship_text(t->s.labels),
					    .t_ns = t->wall_ns,
					    .value = t->now,
					    .unit = ship_text(m->unit) });
}

int source_telemetry(struct ship_source *s)
{
	uint64_t now = clock_mono_ns() - LAG_NS;
	struct stretch x = { .s = s };
	int err;

	/* CLOCK_MONOTONIC begins anew with each boot. */
	if (s->at.boot != (uint32_t)s->boot[0]) {
		s->at.boot = (uint32_t)s->boot[0];
		s->at.telemetry = 0;
	}
	if (now > clock_mono_ns() || now < s->at.telemetry + EACH_NS)
		return 0;
	x.to_ns = now - now % EACH_NS;
	x.from_ns = s->at.telemetry ? s->at.telemetry : x.to_ns > EACH_NS ? x.to_ns - EACH_NS : 0;
	err = store_each_series(s->st, s->series_known, on_series, s);
	err = err ? err : store_each_telemetry(s->st, x.from_ns, x.to_ns, on_block, &x);
	if (err)
		return err;
	for (uint32_t i = 0; i < s->seriess && !s->packs.err; i++)
		put_series(s, &s->series[i]);
	s->at.telemetry = x.to_ns;
	return s->packs.err;
}
