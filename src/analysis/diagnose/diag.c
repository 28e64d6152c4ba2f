/* SPDX-License-Identifier: Apache-2.0 */
/* diag.c - the main loop: takes a step's records, updates every series, reports what stands out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/state.h"

const char *const diag_why_word[DIAG_WHYS] = {
#define WHY(NAME, word, what) word,
#include "diagnose/why.tbl.h"
};

int diag_new(struct diag **out, uint32_t world)
{
	struct diag *d = calloc(1, sizeof(*d));

	if (!d || !world) {
		free(d);
		return d ? -EINVAL : -ENOMEM;
	}
	d->world = world;
	d->stages = d->hosts = 1;
	d->warm = WARM;
	d->learn = LEARN;
	d->rank = calloc(world, sizeof(*d->rank));
	d->order = calloc(world, sizeof(*d->order));
	d->index = calloc((size_t)world * STEP_SLOTS, sizeof(*d->index));
	d->room = calloc(world, sizeof(*d->room));
	d->room2 = calloc(world, sizeof(*d->room2));
	if (!d->rank || !d->order || !d->index || !d->room || !d->room2) {
		diag_free(d);
		return -ENOMEM;
	}
	memset(d->index, 0xff, (size_t)world * STEP_SLOTS * sizeof(*d->index));
	*out = d;
	return 0;
}

void diag_expect(struct diag *d, uint32_t steps)
{
	if (steps >= 2 * (WARM + LEARN))
		return;
	d->warm = steps / 16 > 1 ? steps / 16 : 1;
	d->learn = steps / 3 < LEARN_LEAST ? LEARN_LEAST : steps / 3 < LEARN ? steps / 3 : LEARN;
}

void diag_free(struct diag *d)
{
	if (!d)
		return;
	free(d->rank);
	free(d->order);
	free(d->index);
	free(d->comm);
	lookup_fini(&d->by_comm);
	free(d->room);
	free(d->room2);
	free(d->stand);
	free(d);
}

/* --- findings --- */

void verdict_init(const struct diag *d, struct diag_verdict *v, enum diag_why why,
		  struct diag_part p, uint8_t kind)
{
	*v = (struct diag_verdict){ .f = { .part = { p }, .parts = 1, .kind = kind },
				    .why = why,
				    .since = d->step,
				    .step_ns = d->step_ns,
				    .coverage = (float)d->ranks / (float)d->world };
}

/* The incident that it is of; else a place for a new one: a free one, else the oldest. */
static struct incident *incident_of(struct diag *d, const struct diag_verdict *v)
{
	struct incident *to = d->incident;

	for (uint32_t i = 0; i < INCIDENTS; i++) {
		struct incident *is = &d->incident[i];

		if (is->open && is->said.why == v->why &&
		    diag_part_same(is->said.f.part[0], v->f.part[0]))
			return is;
		if (to->open && (!is->open || is->last < to->last))
			to = is;
	}
	*to = (struct incident){ .said = { .since = d->step } };
	return to;
}

/* A place is named once, and again when a note has become an act, or its own doing much worse. */
void verdict_say(struct saying *s, struct diag_verdict *v)
{
	struct incident *is = incident_of(s->d, v);

	v->f.step = s->d->step;
	v->f.confidence *= v->coverage < 0.95f ? v->coverage : 1;
	if (v->f.confidence < 0.3f)
		v->f.act = false;
	s->said += v->f.act;
	s->explained += v->f.act && !v->always ? v->f.gain : 0;
	is->last = s->d->steps;
	v->since = is->said.since;
	v->again = is->open && v->f.act <= is->act &&
		   (v->why > DIAG_WHY_STAGE || v->f.gain < 2 * is->gain + WORTH);
	if (!v->again) {
		is->gain = v->f.gain;
		is->act |= v->f.act;
	}
	is->open = true;
	is->said = *v;
	s->say(s->arg, v);
}

/* Whether every rank of the place is back to what it was: then nobody waits for long to say so. */
static bool is_back(const struct diag *d, const struct diag_verdict *v)
{
	if (v->why > DIAG_WHY_INPUT)
		return false;
	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && part_has(d, v->f.part[0], r) &&
		    !track_is_back(&d->rank[r].own[v->why - DIAG_WHY_COMPUTE]))
			return false;
	return true;
}

/* A step that ended ends every hang. */
static void close_incidents(struct saying *s)
{
	struct diag *d = s->d;

	for (uint32_t i = 0; i < INCIDENTS; i++) {
		struct incident *is = &d->incident[i];
		struct diag_verdict v = is->said;
		uint32_t wait = v.why >= DIAG_WHY_DEAD ? 0 : is_back(d, &v) ? QUIET : HOLD_OFF;

		if (!is->open || is->last + wait >= d->steps)
			continue;
		is->open = false;
		v.over = true;
		v.again = false;
		v.until = v.f.step;
		v.f.step = d->step;
		s->say(s->arg, &v);
	}
}

/* --- a step --- */

/* Where in a step a rank's operations come: needed to interpret a step that never ends. */
static void remember(struct diag *d)
{
	for (uint32_t r = 0; r < d->world; r++) {
		const struct step_rec *rec = d->rank[r].rec;

		for (uint32_t i = 0; rec && i < rec->slots; i++) {
			const struct step_slot *s = &rec->slot[i];

			if (!s->count)
				continue;
			d->rank[r].begin[i] = s->probe[0].start;
			d->rank[r].pace[i] = s->count > 1
						     ? (s->probe[1].start - s->probe[0].start) /
							       (float)(s->count - 1)
						     : s->probe[0].dur;
		}
	}
}

static void look(struct diag *d, struct saying *s, bool usual)
{
	if (usual) {
		own_take(d);
		whole_take(d);
		whatif_take(d);
		comms_track(d);
		if (!d->judged && d->steps > d->warm + d->learn + 3)
			comms_judge(d);
		blame_step(d);
		find_own(s);
		find_whole(s, false);
	}
	find_pauses(s, usual);
	if (usual) {
		find_drift(s);
		find_network(s);
		find_whole(s, true);
	}
}

/* Ranks may stand in steps of different numbers, which come one after the other: the newest word of each. */
static int stand_still(struct diag *d, const struct step_rec *rec, size_t n)
{
	if (!d->stand)
		d->stand = calloc(d->world, sizeof(*d->stand));
	if (!d->stand)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (rec[i].rank < d->world && rec[i].slots <= STEP_SLOTS)
			d->stand[rec[i].rank] = rec[i];
	d->ranks = 0;
	for (uint32_t r = 0; r < d->world; r++) {
		d->rank[r].rec = d->stand[r].magic ? &d->stand[r] : NULL;
		d->ranks += d->rank[r].rec != NULL;
	}
	return 0;
}

int diag_step(struct diag *d, const struct step_rec *rec, size_t n, diag_verdict_fn *say, void *arg)
{
	struct saying s = { .d = d, .say = say, .arg = arg };
	uint16_t flags = 0;
	int err;

	for (size_t i = 0; i < n; i++)
		flags |= rec[i].flags;
	if (!n)
		return 0;
	d->step = rec[0].step;
	if (flags & STEP_F_PARTIAL) {
		err = stand_still(d, rec, n);
		if (!err)
			find_hang(&s);
		return err;
	}
	free(d->stand);
	d->stand = NULL;
	d->steps++;
	if (roles_take(d, rec, n) < 0)
		return 0;
	err = comms_take(d);
	if (err < 0)
		return err;
	remember(d);
	close_incidents(&s);
	look(d, &s, !(flags & (STEP_F_CKPT | STEP_F_EVAL | STEP_F_COMPILE)));
	return 0;
}

/* --- whom to look at --- */

uint32_t diag_rank_of(const struct diag *d, struct diag_part p)
{
	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && part_has(d, p, r))
			return r;
	return UINT32_MAX;
}

/* Of a rank, what it loses by its own doing; of one that waits, less than nothing. */
static float own_effect(const struct diag_rank *r)
{
	return fmaxf(r->effect[0], 0) + fmaxf(r->effect[1], 0) + fmaxf(r->effect[2], 0);
}

uint32_t diag_three(const struct diag *d, const struct diag_verdict *v, uint32_t rank[3])
{
	uint32_t bad = NOBODY, well = NOBODY, victim = NOBODY, n = 0;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && part_has(d, v->f.part[0], r) &&
		    (bad == NOBODY || own_effect(&d->rank[r]) > own_effect(&d->rank[bad])))
			bad = r;
	if (bad == NOBODY)
		return 0;
	rank[n++] = bad;
	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known && d->rank[r].role == d->rank[bad].role &&
		    !part_has(d, v->f.part[0], r) &&
		    (well == NOBODY || own_effect(&d->rank[r]) < own_effect(&d->rank[well])))
			well = r;
	if (well != NOBODY)
		rank[n++] = well;
	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].rec && r != well && !part_has(d, v->f.part[0], r) &&
		    (victim == NOBODY ||
		     d->rank[r].rec->t.exposed > d->rank[victim].rec->t.exposed))
			victim = r;
	if (victim != NOBODY)
		rank[n++] = victim;
	return n;
}

/* --- as a contender --- */

struct to {
	diag_say_fn *say;
	void *arg;
};

static void pass_on(void *arg, const struct diag_verdict *v)
{
	const struct to *to = arg;

	if (!v->again && !v->over)
		to->say(to->arg, &v->f);
}

static int open_one(void **state, uint32_t world)
{
	return diag_new((struct diag **)state, world);
}
static int step_one(void *state, const struct step_rec *rec, size_t n, diag_say_fn *say, void *arg)
{
	struct to to = { say, arg };

	return diag_step(state, rec, n, pass_on, &to);
}
static void close_one(void *state)
{
	diag_free(state);
}

const struct diagnoser diagnoser_aon = {
	"aon", "roles, own excess, who came last, tomography, what-if, wait-for graph", open_one,
	step_one, close_one
};
