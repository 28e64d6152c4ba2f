/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.c - which NIC, host or leaf switch makes collectives longer: the one that takes part in
 * the slow ones and in few others. Two that take part in the same collectives look alike; both are named.
 *
 * A noisy-or model: an operation through a faulty place is longer with probability HIT, one through
 * none with FALSE_ALARM. What one place explains is removed; the rest may be due to another place.
 */
#include <math.h>
#include <stdlib.h>

#include "diagnose/state.h"

#define HIT         0.9
#define FALSE_ALARM 1e-3
#define ROUNDS      3
#define SECOND      4.6  /* log 100: evidence that a second place needs */
#define ALIKE       0.4f /* of the longest's ratio, that others must have to be of the same cause */
#define FITS        0.75 /* share of a place's operations that must be longer */
#define FITS_FLAP   0.35 /* the first ones of a step only */
#define SEVERAL     10.0 /* operations of a rank that are longer, beside the worst */
#define NAMED       4.0
#define COUNTED     40.0 /* what an error counter of the place is worth */

static const double prior[] = { [DIAG_RANK] = 9.2, [DIAG_HOST] = 10.4, [DIAG_LEAF] = 11.5 };

/* Steps for which operations must be longer before such a place is named. */
static const uint8_t lasts[] = { [DIAG_RANK] = 4, [DIAG_HOST] = 6, [DIAG_LEAF] = 10 };

/* A candidate place: a bit for each operation that is longer, and how many are not. */
struct suspect {
	struct diag_part part;
	double counted, named;
	uint32_t longer, usual;
	uint64_t set;  /* hash of its operations */
	uint32_t last; /* the one that was put last: each counts once */
};

struct tomo {
	struct diag *d;
	struct suspect *of; /* by rank, then hosts and leaves as they come */
	uint32_t n;
	uint32_t *host, *leaf; /* by rank: which suspect its host is, and its leaf; NOBODY: none */
	uint8_t *state; /* of communicators: 0 not looked at, 1 usual, 2 longer, 3 explained */
};

static uint32_t suspect_of(struct tomo *t, struct diag_part p)
{
	for (uint32_t i = t->n; i-- > t->d->world;)
		if (diag_part_same(t->of[i].part, p))
			return i;
	t->of[t->n] = (struct suspect){ .part = p, .last = NOBODY };
	return t->n++;
}

static void put(const struct tomo *t, struct suspect *s, uint32_t comm)
{
	if (s->last == comm)
		return;
	s->last = comm;
	s->longer += t->state[comm] == 2;
	s->usual += t->state[comm] == 1;
	s->set += step_hash(&comm, sizeof(comm), 5);
}

static bool copies_longer(const struct diag_rank *r)
{
	return r->copy_odd ||
	       (r->copies >= LEARN / 2 && r->copy_base > 0 && r->copy > COPY_LONGER * r->copy_base);
}

/* What counters say of a place. */
static double counted(const struct diag_rank *r)
{
	return r->retrans > 0.02f || copies_longer(r) ? COUNTED : 0;
}

/* An earlier finding holds until another cause is clearly likelier. */
static bool was_named(const struct diag *d, struct diag_part p)
{
	for (uint32_t i = 0; i < INCIDENTS; i++)
		if (d->incident[i].open && d->incident[i].act &&
		    d->incident[i].said.why == DIAG_WHY_NETWORK &&
		    diag_part_same(d->incident[i].said.f.part[0], p))
			return true;
	return false;
}

/* Who there is to suspect, and what counters say of them. */
static void collect(struct tomo *t)
{
	struct diag *d = t->d;

	for (uint32_t r = 0; r < d->world; r++)
		t->of[r] = (struct suspect){ .part = { DIAG_RANK, r }, .last = NOBODY };
	t->n = d->world;
	for (uint32_t r = 0; r < d->world; r++) {
		const struct step_rec *rec = d->rank[r].rec;

		t->host[r] = t->leaf[r] = NOBODY;
		if (!rec)
			continue;
		t->host[r] = suspect_of(t, (struct diag_part){ DIAG_HOST, d->rank[r].host });
		if (d->rank[r].leaf)
			t->leaf[r] =
				suspect_of(t, (struct diag_part){ DIAG_LEAF, d->rank[r].leaf });
		t->of[r].counted = counted(&d->rank[r]);
		if (rec->have >> STEP_HAVE_CNP & 1 && rec->nic_cnp > 1000)
			t->of[t->host[r]].counted = COUNTED;
	}
	for (uint32_t i = 0; i < t->n; i++)
		if (was_named(d, t->of[i].part))
			t->of[i].named = NAMED;
}

/* Each operation counts once for each of its places. */
static void incidence(struct tomo *t, const uint32_t *member, const uint32_t *first)
{
	for (uint32_t c = 0; c < t->d->comms; c++)
		for (uint32_t i = first[c]; i < first[c + 1]; i++) {
			uint32_t r = member[i];

			put(t, &t->of[r], c);
			put(t, &t->of[t->host[r]], c);
			if (t->leaf[r] != NOBODY)
				put(t, &t->of[t->leaf[r]], c);
		}
}

static double weigh(const struct suspect *s)
{
	double hit = log(1 - (1 - FALSE_ALARM) * (1 - HIT)) - log(FALSE_ALARM);
	double miss = log((1 - FALSE_ALARM) * (1 - HIT)) - log(1 - FALSE_ALARM);

	return s->longer * hit + s->usual * miss + s->counted + s->named - prior[s->part.level];
}

/* Members of each communicator that counts, in a row. */
static uint32_t *members_of(struct tomo *t, uint32_t **first)
{
	struct diag *d = t->d;
	uint32_t *f = calloc(d->comms + 2, sizeof(*f)), *m, n = 0;

	for (uint32_t i = 0; f && i < d->world * STEP_SLOTS; i++) {
		uint32_t r = i / STEP_SLOTS, k = i % STEP_SLOTS, c;

		if (!d->rank[r].rec || k >= d->rank[r].rec->slots)
			continue;
		c = d->index[i];
		if (c < d->comms && t->state[c]) {
			f[c + 2]++;
			n++;
		}
	}
	m = f ? malloc((n + 1) * sizeof(*m)) : NULL;
	if (!m) {
		free(f);
		return NULL;
	}
	for (uint32_t c = 2; c < d->comms + 2; c++)
		f[c] += f[c - 1];
	for (uint32_t i = 0; i < d->world * STEP_SLOTS; i++) {
		uint32_t r = i / STEP_SLOTS, k = i % STEP_SLOTS, c;

		if (!d->rank[r].rec || k >= d->rank[r].rec->slots)
			continue;
		c = d->index[i];
		if (c < d->comms && t->state[c])
			m[f[c + 1]++] = r;
	}
	*first = f;
	return m;
}

/* --- findings --- */

/* All places with the same operations as the likeliest one, or the job if that is all of them. */
static void name_parts(const struct tomo *t, const struct suspect *best, struct diag_finding *f)
{
	uint32_t same = 0, ranks = 0;

	f->parts = 0;
	f->part[f->parts++] = best->part;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct suspect *s = &t->of[i];

		if (s->set != best->set || !s->longer)
			continue;
		same++;
		ranks += s->part.level == DIAG_RANK;
		if (s != best && s->part.level == best->part.level && s->counted >= best->counted &&
		    f->parts < DIAG_PARTS)
			f->part[f->parts++] = s->part;
	}
	if (ranks == t->d->ranks && ranks > 1 && best->counted <= 0) {
		f->parts = 1;
		f->part[0] = (struct diag_part){ DIAG_JOB, 0 };
	}
	f->confidence = same > 1 && best->counted <= 0 ? 0.7f : 0.9f;
}

static uint8_t kind_of(const struct tomo *t, const struct suspect *s, bool spikes)
{
	const struct diag *d = t->d;

	if (s->part.level == DIAG_LEAF)
		return 22;
	if (s->part.level == DIAG_HOST)
		return s->counted > 0 ? 21 : 24;
	if (copies_longer(&d->rank[s->part.index]))
		return 7;
	if (s->counted > 0)
		return spikes ? 20 : 23;
	return spikes ? 25 : 19;
}

static void say_part(struct saying *to, struct tomo *t, const struct suspect *best,
		     const struct diag_comm *c)
{
	struct diag *d = to->d;
	struct diag_verdict v;
	double lost = whatif_lost(d) - to->explained;

	verdict_init(d, &v, DIAG_WHY_NETWORK, best->part, kind_of(t, best, c->spikes));
	name_parts(t, best, &v.f);
	v.comm = c->comm;
	v.op = c->op;
	v.members = c->members;
	v.usual_ns = c->x.base;
	v.seen_ns = c->x.base * (1 + c->now);
	v.ranks = best->longer;
	v.of = best->longer + best->usual;
	v.always = c->odd;
	v.f.gain = (float)fmin(
		fmax(fmin((c->odd ? 1 : SEVERAL) * c->extra_ns / d->step_ns, c->odd ? 1 : lost), 0),
		1);
	v.gain_least = fmin(v.f.gain, fmax(lost, 0));
	v.f.act = v.f.gain >= 0.7 * WORTH && v.coverage >= 0.5f;
	to->network = true;
	verdict_say(to, &v);
}

static const struct suspect *likeliest(const struct tomo *t, double least)
{
	const struct suspect *best = NULL;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->of[i].longer && (!best || weigh(&t->of[i]) > weigh(best) + 1e-9))
			best = &t->of[i];
	return best && weigh(best) >= least ? best : NULL;
}

static void explain(struct tomo *t, const struct suspect *s, const uint32_t *member,
		    const uint32_t *first)
{
	for (uint32_t c = 0; c < t->d->comms; c++)
		for (uint32_t i = first[c]; i < first[c + 1]; i++)
			if (t->state[c] == 2 && part_has(t->d, s->part, member[i]))
				t->state[c] = 3;
}

/* Those of the same cause as the longest; the rest of what is longer waits for its turn. */
static const struct diag_comm *mark(struct tomo *t, bool far)
{
	const struct diag_comm *worst = NULL;

	for (uint32_t i = 0; i < t->d->comms; i++) {
		const struct diag_comm *c = &t->d->comm[i];

		if (c->step == t->d->steps && c->far == far && c->alarm && t->state[i] != 3 &&
		    (!worst || c->now > worst->now))
			worst = c;
	}
	for (uint32_t i = 0; i < t->d->comms && worst; i++) {
		const struct diag_comm *c = &t->d->comm[i];

		if (t->state[i] == 3 || c->step != t->d->steps || c->far != far || !c->x.learnt)
			continue;
		t->state[i] =
			worst->spikes ? (c->spikes ? 2 : 1)
			: c->now > 0.05f &&
					(c->now > ALIKE * worst->now ||
					 (!worst->odd &&
					  c->now * c->x.base > ALIKE * worst->now * worst->x.base))
				? 2
				: 1;
	}
	/* The longer kind of operation of a communicator matters; a flap hits one of them. */
	for (uint32_t i = 0; i < t->d->comms && worst && worst->spikes; i++)
		for (uint8_t op = 0; op < STEP_OPS && t->state[i] == 1; op++) {
			uint32_t other = comm_at(t->d, t->d->comm[i].comm, op);

			if (other != NOBODY && t->state[other] == 2)
				t->state[i] = 0;
		}
	return worst;
}

static const struct suspect *unexplained(const struct tomo *t)
{
	/* Some may not have been looked at for long enough. */
	if (++t->d->unexplained < LEARN / 2)
		return NULL;
	for (uint32_t i = 0; i < t->d->comms; i++)
		if (t->state[i] == 2)
			comm_not_odd(&t->d->comm[i]);
	return NULL;
}

static void far_ones(struct saying *s, struct tomo *t)
{
	for (int round = 0; round < ROUNDS; round++) {
		const struct diag_comm *worst = mark(t, true);
		const struct suspect *best;
		uint32_t *first = NULL, *member = worst ? members_of(t, &first) : NULL;

		if (!member)
			return;
		collect(t);
		incidence(t, member, first);
		best = likeliest(t, round ? SECOND : -INFINITY);
		if (best && best->longer < (worst->spikes ? FITS_FLAP : FITS) *
						   (best->longer + best->usual))
			best = unexplained(t); /* chance, or a load that all share */
		if (best && !worst->spikes && worst->now < PLAIN &&
		    worst->up < lasts[best->part.level])
			best = NULL; /* links that are shared make many longer for a moment */
		if (best) {
			say_part(s, t, best, worst);
			explain(t, best, member, first);
		}
		free(member);
		free(first);
		if (!best)
			return;
	}
}

/* --- within a host --- */

/* Unevenly routed tokens make an operation as long as the part of the busiest rank. */
static bool is_routed(const struct diag *d, uint32_t comm)
{
	for (uint32_t r = 0; r < d->world; r++)
		for (uint32_t i = 0; d->rank[r].rec && i < d->rank[r].rec->slots; i++)
			if (d->index[r * STEP_SLOTS + i] == comm && d->rank[r].experts &&
			    d->rank[r].expert > 1.04f * d->rank[r].expert_base)
				return true;
	return false;
}

static void near_ones(struct saying *s)
{
	struct diag *d = s->d;
	const struct diag_comm *worst = NULL;
	struct diag_verdict v;
	double lost = whatif_lost(d) - s->explained;

	for (uint32_t i = 0; i < d->comms; i++) {
		const struct diag_comm *c = &d->comm[i];

		if (c->step == d->steps && !c->far && !c->mixed && c->members > 1 && c->alarm &&
		    !c->spikes && (!worst || c->now > worst->now) && !is_routed(d, i))
			worst = c;
	}
	if (!worst)
		return;
	verdict_init(d, &v, DIAG_WHY_LINK, (struct diag_part){ DIAG_HOST, worst->host }, 6);
	v.comm = worst->comm;
	v.op = worst->op;
	v.members = worst->members;
	v.usual_ns = worst->x.base;
	v.seen_ns = worst->x.base * (1 + worst->now);
	v.f.gain = (float)fmin(
		fmax(fmin(worst->extra_ns / d->step_ns, worst->odd || d->infer ? 1 : lost), 0), 1);
	v.gain_least = fmin(v.f.gain, fmax(lost, 0));
	v.f.confidence = 0.85f;
	v.f.act = v.f.gain >= 0.7 * WORTH && v.coverage >= 0.5f;
	s->network = true;
	verdict_say(s, &v);
}

/* --- by counters alone --- */

/* A NIC or host link that was always faulty, in operations that have nothing to compare with. */
static void counted_ones(struct saying *s)
{
	struct diag *d = s->d;

	for (uint32_t r = 0; r < d->world; r++) {
		struct diag_part p = { DIAG_RANK, r };
		const struct diag_rank *is = &d->rank[r];
		struct diag_verdict v;
		double far = 0;

		if (!is->rec || !d->judged || !(is->retrans > 0.9f || is->copy_odd) ||
		    was_named(d, p))
			continue;
		for (uint32_t i = 0; i < is->rec->slots; i++)
			if (is->rec->slot[i].flags & STEP_SLOT_FAR)
				far += is->rec->slot[i].exposed;
		if (!(far > 2 * WORTH * d->step_ns))
			continue;
		verdict_init(d, &v, DIAG_WHY_NETWORK, p, is->copy_odd ? 7 : 23);
		v.always = true;
		v.f.gain = (float)fmin(far / d->step_ns / 2, 1);
		v.f.confidence = 0.7f;
		v.f.act = true;
		s->network = true;
		verdict_say(s, &v);
	}
}

void find_network(struct saying *s)
{
	struct diag *d = s->d;
	struct tomo t = { .d = d };
	bool any = false;

	for (uint32_t i = 0; i < d->comms; i++)
		any |= d->comm[i].alarm;
	counted_ones(s);
	if (!any)
		return;
	near_ones(s);
	t.state = calloc(d->comms + 1, 1);
	t.of = malloc((3 * (size_t)d->world + 1) * sizeof(*t.of));
	t.host = malloc(2 * (size_t)d->world * sizeof(*t.host));
	if (t.state && t.of && t.host) {
		t.leaf = t.host + d->world;
		far_ones(s, &t);
	}
	free(t.state);
	free(t.of);
	free(t.host);
}
