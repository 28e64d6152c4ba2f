/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c - analyses communicators from the members' slots: which rank came last, which ranks
 * waited, and how long the transfer takes. All ranks leave a synchronising collective together, so
 * the rank with the shortest stay came last, and its stay is the transfer time. Both ends of a send
 * count as one communicator.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "diagnose/state.h"

static uint8_t op_of(const struct step_slot *s)
{
	return s->op == STEP_OP_SEND ? STEP_OP_RECV : s->op;
}

static uint64_t hash_of(uint64_t comm, uint8_t op)
{
	return hash_mix(comm, op);
}

uint32_t comm_at(struct diag *d, uint64_t comm, uint8_t op)
{
	uint32_t c;

	for (size_t at = 0; lookup_next(&d->by_comm, hash_of(comm, op), &at, &c);)
		if (d->comm[c].comm == comm && d->comm[c].op == op)
			return c;
	return NOBODY;
}

/* What it can be compared with: as many members, as large, as often, as far. */
static uint32_t like(const struct step_slot *s)
{
	uint32_t is[] = { op_of(s), s->members, s->count, s->flags & STEP_SLOT_FAR,
			  s->kib ? 31u - (uint32_t)__builtin_clz(s->kib) : 0 };

	return (uint32_t)step_hash(is, sizeof(is), 4);
}

static int comm_find(struct diag *d, uint32_t rank, const struct step_slot *s, uint32_t *out)
{
	*out = comm_at(d, s->comm, op_of(s));
	if (*out != NOBODY)
		return 0;
	/* Communicators that come and go must not fill the memory. */
	if (d->comms >= 2 * STEP_SLOTS * d->world) {
		lookup_clear(&d->by_comm);
		d->comms = 0;
	}
	if (vec_more(&d->comm, d->comms, sizeof(*d->comm)) < 0 ||
	    lookup_put(&d->by_comm, hash_of(s->comm, op_of(s)), d->comms) < 0)
		return -ENOMEM;
	d->comm[d->comms] = (struct diag_comm){ .comm = s->comm,
						.op = op_of(s),
						.far = s->flags & STEP_SLOT_FAR,
						.members = s->members,
						.role = like(s),
						.host = d->rank[rank].host,
						.first = rank,
						.step = NOBODY };
	*out = d->comms++;
	return 0;
}

static void comm_put(struct diag *d, uint32_t rank, struct diag_comm *c, const struct step_slot *s)
{
	if (c->step != d->steps) {
		c->step = d->steps;
		c->came = 0;
		c->least = c->probe[0] = c->probe[1] = INFINITY;
		c->most = 0;
		c->last = rank;
		c->prompts = d->rank[rank].rec->flags & STEP_F_PREFILL;
	}
	c->came++;
	c->mixed |= c->host != d->rank[rank].host;
	if (s->sum < c->least) {
		c->least = s->sum;
		c->last = rank;
	}
	c->most = fmaxf(c->most, s->sum);
	for (uint32_t i = 0; i < STEP_PROBES; i++)
		c->probe[i] = fminf(c->probe[i], s->probe[i].dur);
}

int comms_take(struct diag *d)
{
	for (uint32_t r = 0; r < d->world; r++) {
		const struct step_rec *rec = d->rank[r].rec;

		for (uint32_t i = 0; rec && i < rec->slots; i++) {
			const struct step_slot *s = &rec->slot[i];
			uint32_t *at = &d->index[r * STEP_SLOTS + i];

			if (s->flags & STEP_SLOT_MERGED || !s->count ||
			    !(step_op_syncs[s->op < STEP_OPS ? s->op : 0] ||
			      s->op == STEP_OP_SEND)) {
				*at = NOBODY;
				continue;
			}
			if ((*at >= d->comms || d->comm[*at].comm != s->comm ||
			     d->comm[*at].op != op_of(s)) &&
			    comm_find(d, r, s, at) < 0)
				return -ENOMEM;
			comm_put(d, r, &d->comm[*at], s);
		}
	}
	return 0;
}

double comm_cover(const struct diag_comm *c)
{
	return c->members ? fmin(1, (double)c->came / c->members) : 1;
}

/* --- what a transfer takes, against its past --- */

#define LONGER 0.08f /* of a transfer: no chance */
#define SPIKE  0.03f /* of a step, in one operation */
#define ODD    1.25f /* of others of its like, from the start */
#define LIKES  3u
#define WHOLE  0.999f /* of the members' records, in the mean: none is missing */
#define LASTS  4u     /* steps before anything is reported */
#define LOOSE  0.02f  /* of a transfer: it varies by so much, at least */
#define SURE   3.0f   /* deviations, of the middle of the newest steps */

static void judge_now(const struct diag *d, struct diag_comm *c)
{
	float base = c->x.base, high = 0;
	uint32_t spikes = 0, bouts = 0;
	bool before = true;

	/* Where members are missing, one of them may have come last: then it looks longer than it is. */
	c->now = track_at(&c->x, SHORT, c->whole > WHOLE ? 0.5 : 0.2);
	c->extra_ns = c->least * c->now / (1 + c->now);
	for (uint32_t i = 0; i < RING; i++) {
		float by = c->x.ring[(c->x.seen + i) % RING] * base;
		bool is = by > SPIKE * d->step_ns && c->full >> (c->x.seen + i) % RING & 1;

		spikes += is;
		bouts += is && !before;
		high += is ? by : 0;
		before = is;
	}
	c->alarm =
		c->now > fmaxf(LONGER, SURE * c->noise) && c->extra_ns > 0.3 * WORTH * d->step_ns;
	c->up = c->alarm ? (uint8_t)(c->up + (c->up < 255)) : 0;
	c->alarm &= c->up >= LASTS || c->now > PLAIN;
	c->spikes = !c->alarm && spikes >= 3 && bouts >= 2 &&
		    track_above(&c->x, SHORT, SPIKE * (float)d->step_ns / base) > 0;
	if (!c->spikes)
		return;
	c->now = high / (float)spikes / base;
	c->extra_ns = high / RING;
	c->alarm = true;
}

static void comm_track(const struct diag *d, struct diag_comm *c)
{
	float x = c->probe[0] + c->probe[1], room[RING] = { 0 };

	c->whole += ((float)comm_cover(c) - c->whole) / (c->whole > 0 ? 16 : 1);

	/* With a member missing, the shortest stay may be one that waited. */
	if (comm_cover(c) < (c->members <= 8 ? 1 : 0.5) || !(x > 0) || !isfinite(x) || c->prompts)
		return;
	if (!c->x.learnt) {
		if (d->steps > d->warm)
			track_learn(&c->x, x, d->learn);
		for (uint32_t i = 0; i < track_len(&c->x) && c->x.learnt && c->x.base > 0; i++)
			room[i] = c->x.ring[i] /= c->x.base;
		c->noise = c->x.learnt ? fmaxf(spread_of(room, track_len(&c->x), 0), LOOSE) : 0;
		return;
	}
	if (!(c->x.base > 0))
		return;
	c->full &= ~(1u << c->x.seen % RING);
	c->full |= (uint32_t)(comm_cover(c) >= 1) << c->x.seen % RING;
	c->x.ring[c->x.seen++ % RING] = x / c->x.base - 1;
	judge_now(d, c);
}

void comms_track(struct diag *d)
{
	for (uint32_t i = 0; i < d->comms; i++) {
		d->comm[i].alarm = d->comm[i].spikes = false;
		if (d->comm[i].step == d->steps)
			comm_track(d, &d->comm[i]);
	}
}

/* It was always longer, and no place explains it: so is the job. */
void comm_not_odd(struct diag_comm *c)
{
	for (uint32_t m = 0; m < RING && c->odd; m++)
		c->x.ring[m] = (c->x.ring[m] + 1) * c->x.base / c->was - 1;
	c->x.base = c->odd ? c->was : c->x.base;
	c->odd = false;
}

static int by_like(const void *a, const void *b)
{
	const struct diag_comm *const *x = a, *const *y = b;

	return cmp_num((*x)->role, (*y)->role) ?: cmp_num((*x)->x.base, (*y)->x.base);
}

/* Those that always took longer than their like have no past to go by: the others' is taken. */
void comms_judge(struct diag *d)
{
	struct diag_comm **of = malloc((d->comms + 1) * sizeof(*of));
	uint32_t n = 0, all = 0;

	for (uint32_t i = 0; of && i < d->comms; i++) {
		all += d->comm[i].step == d->steps;
		if (d->comm[i].x.learnt && d->comm[i].x.base > 0)
			of[n++] = &d->comm[i];
	}
	d->judged = n >= all - all / 8;
	if (!d->judged)
		n = 0;
	if (n)
		qsort(of, n, sizeof(struct diag_comm *), by_like);
	for (uint32_t i = 0, end; i < n; i = end) {
		float mid;

		for (end = i; end < n && of[end]->role == of[i]->role; end++)
			;
		mid = of[i + (end - i) / 3]->x.base;
		/* What most of them have is how the job is made. */
		if (of[i + (end - i) * 4 / 9]->x.base > ODD * mid)
			continue;
		for (uint32_t k = i; k < end && end - i >= LIKES; k++) {
			float by = of[k]->x.base / mid;

			for (uint32_t m = 0; m < RING && by > ODD; m++)
				of[k]->x.ring[m] = (of[k]->x.ring[m] + 1) * by - 1;
			of[k]->odd = by > ODD;
			of[k]->was = of[k]->x.base;
			of[k]->x.base = by > ODD ? mid : of[k]->x.base;
		}
	}
	free(of);
}
