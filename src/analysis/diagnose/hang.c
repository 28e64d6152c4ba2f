/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.c - a hanging job: which rank waits for which, from the communicators' sequence numbers.
 *
 * A host may have enqueued many operations that its GPU has not reached. A rank stands at the first
 * unfinished operation of its program; the last complete step gives their order. It waits for the
 * members that stand elsewhere. The cause is where this chain ends: a process that is gone, a rank
 * that is in no collective or transfer, one in which all members are, or a cycle.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "diagnose/state.h"

/* A rank's part in a communicator. */
struct word {
	uint64_t comm;
	uint32_t rank, issued, done, what, members, group;
	uint8_t op;
	float at; /* where in the step the unfinished operation comes; INFINITY: none */
};

struct group {
	uint32_t from, to; /* of words */
	uint32_t here;     /* members that stand in it */
};

struct hang {
	struct diag *d;
	struct word *word;
	struct group *group;
	uint32_t words, groups;
	uint32_t *stands; /* by rank: word in which it stands; NOBODY: in none */
	uint32_t *queue;
	uint8_t *mark;
};

static int by_comm(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	return cmp_num(x->comm, y->comm) ?: cmp_num(x->rank, y->rank);
}

static float when(const struct diag_rank *r, uint32_t slot)
{
	const struct step_slot *s = &r->rec->slot[slot];

	if (!s->what)
		return INFINITY;
	return s->count ? fmaxf(s->probe[STEP_PROBES - 1].start + s->probe[STEP_PROBES - 1].dur,
				r->begin[slot] + r->pace[slot] * (float)s->count)
			: r->begin[slot];
}

/* Kinds of one communicator are one: its operations are numbered together. */
static void merge(struct hang *h)
{
	uint32_t n = 0;

	if (h->words)
		qsort(h->word, h->words, sizeof(*h->word), by_comm);
	for (uint32_t i = 0; i < h->words; i++) {
		struct word *w = &h->word[i], *to = n ? &h->word[n - 1] : NULL;

		if (!to || to->comm != w->comm || to->rank != w->rank) {
			h->word[n++] = *w;
			continue;
		}
		to->issued = w->issued > to->issued ? w->issued : to->issued;
		to->done = w->done > to->done ? w->done : to->done;
		if (w->at < to->at) {
			to->at = w->at;
			to->what = w->what;
			to->op = w->op;
		}
	}
	h->words = n;
	for (uint32_t i = 0; i < n; i++) {
		if (!i || h->word[i].comm != h->word[i - 1].comm)
			h->group[h->groups++] = (struct group){ i, i, 0 };
		h->group[h->groups - 1].to = i + 1;
		h->word[i].group = h->groups - 1;
	}
}

/* Nobody waits for what he sends. */
static bool comes_first(const struct word *a, const struct word *b)
{
	bool x = a->op == STEP_OP_SEND, y = b->op == STEP_OP_SEND;

	return x != y ? y : a->at < b->at;
}

/* Whether the rank has reached the operation, even if it is past it. */
static bool is_in(const struct hang *h, uint32_t word)
{
	uint32_t at = h->stands[h->word[word].rank];

	return at == word || (at != NOBODY && h->word[word].at < h->word[at].at);
}

static int gather(struct hang *h)
{
	struct diag *d = h->d;
	size_t most = (size_t)d->world * STEP_SLOTS + 1;

	h->word = malloc(most * sizeof(*h->word));
	h->group = malloc(most * sizeof(*h->group));
	h->stands = malloc(d->world * sizeof(*h->stands));
	h->queue = malloc(d->world * sizeof(*h->queue));
	h->mark = malloc(d->world);
	if (!h->word || !h->group || !h->stands || !h->queue || !h->mark)
		return -ENOMEM;
	for (uint32_t r = 0; r < d->world; r++) {
		const struct step_rec *rec = d->rank[r].rec;

		h->stands[r] = NOBODY;
		for (uint32_t i = 0; rec && i < rec->slots; i++) {
			const struct step_slot *s = &rec->slot[i];

			if (!(s->flags & STEP_SLOT_MERGED))
				h->word[h->words++] = (struct word){ .comm = s->comm,
								     .rank = r,
								     .issued = s->issued,
								     .done = s->done,
								     .what = s->what,
								     .members = s->members,
								     .op = s->op,
								     .at = when(&d->rank[r], i) };
		}
	}
	merge(h);
	for (uint32_t i = 0; i < h->words; i++) {
		uint32_t *is = &h->stands[h->word[i].rank];

		if (isfinite(h->word[i].at) &&
		    (*is == NOBODY || comes_first(&h->word[i], &h->word[*is])))
			*is = i;
	}
	for (uint32_t i = 0; i < h->words; i++)
		h->group[h->word[i].group].here += is_in(h, i);
	return 0;
}

/* Ranks that wait for this one, at first or any hand; marks them. */
static uint32_t reach(struct hang *h, uint32_t rank)
{
	uint32_t head = 0, tail = 0, n = 0;

	memset(h->mark, 0, h->d->world);
	h->queue[tail++] = rank;
	h->mark[rank] = 1;
	while (head < tail) {
		uint32_t m = h->queue[head++];

		for (uint32_t i = 0; i < h->words; i++) {
			const struct group *g = &h->group[h->word[i].group];

			if (h->word[i].rank != m)
				continue;
			for (uint32_t k = g->from; k < g->to; k++) {
				uint32_t r = h->word[k].rank;

				if (!h->mark[r] && h->stands[r] == k && !is_in(h, i)) {
					h->mark[r] = 1;
					h->queue[tail++] = r;
					n++;
				}
			}
		}
	}
	return n;
}

static void say(struct saying *to, struct hang *h, enum diag_why why, uint8_t kind,
		const struct word *w, struct diag_finding *f, uint32_t waiting)
{
	struct diag_verdict v;

	verdict_init(h->d, &v, why, f->part[0], kind);
	memcpy(v.f.part, f->part, sizeof(v.f.part));
	v.f.parts = f->parts;
	v.f.gain = 1;
	v.gain_least = 1;
	v.f.confidence = f->confidence;
	v.f.act = true;
	v.ranks = waiting;
	v.of = h->d->ranks;
	if (w) {
		v.comm = w->comm;
		v.members = w->members;
		v.sequence = w->done + 1;
		v.op = w->op;
	}
	verdict_say(to, &v);
}

static void say_rank(struct saying *to, struct hang *h, enum diag_why why, uint8_t kind,
		     uint32_t rank, float sure)
{
	struct diag_finding f = { .part = { { DIAG_RANK, rank } }, .parts = 1, .confidence = sure };
	const struct word *in = NULL;
	uint32_t n = reach(h, rank);

	/* The operation in which the others wait for it. */
	for (uint32_t i = 0; i < h->words && !in; i++)
		if (h->word[i].rank == rank && h->group[h->word[i].group].here)
			in = &h->word[i];
	say(to, h, why, kind, in, &f, n);
}

/* Of a job that goes on: where all are gone, it has ended. */
static bool any_gone(struct saying *to, struct hang *h)
{
	bool any = false, left = false;

	for (uint32_t r = 0; r < h->d->world; r++)
		left |= h->d->rank[r].rec && !(h->d->rank[r].rec->flags & STEP_F_GONE);
	for (uint32_t r = 0; !left && r < h->d->world; r++)
		if (h->d->rank[r].rec)
			return true;
	for (uint32_t r = 0; r < h->d->world; r++)
		if (h->d->rank[r].rec && h->d->rank[r].rec->flags & STEP_F_GONE) {
			say_rank(to, h, DIAG_WHY_DEAD, 27, r, 0.99f);
			any = true;
		}
	return any;
}

/* Among ranks that are in no operation, the one that most others wait for. */
static bool any_outside(struct saying *to, struct hang *h)
{
	uint32_t best = NOBODY, most = 0;

	for (uint32_t r = 0; r < h->d->world; r++) {
		uint32_t n;

		if (!h->d->rank[r].rec || h->stands[r] != NOBODY)
			continue;
		n = reach(h, r);
		if (n > most) {
			most = n;
			best = r;
		}
	}
	if (best == NOBODY)
		return false;
	say_rank(to, h, DIAG_WHY_OUTSIDE, 30, best, 0.95f);
	return true;
}

/* --- an operation in which all of its members are --- */

/* The member that is in another operation than most: by kind and size, else by number. */
static uint32_t odd_one(const struct hang *h, const struct group *g, bool by_what)
{
	for (uint32_t i = g->from; i < g->to; i++) {
		const struct word *w = &h->word[i];
		uint32_t same = 0, higher = 0;

		for (uint32_t k = g->from; k < g->to; k++) {
			const struct word *o = &h->word[k];

			same += by_what ? o->what == w->what : o->issued == w->issued;
			higher += o->issued > w->issued;
		}
		if (2 * same < g->to - g->from || (2 * same == g->to - g->from && higher == same))
			return w->rank;
	}
	return NOBODY;
}

static bool is_whole(const struct hang *h, const struct group *g)
{
	return g->to - g->from > 1 && g->here == g->to - g->from &&
	       g->here >= h->word[g->from].members;
}

/* The same of those whose word is there, if they are most of its members. */
static bool is_told(const struct hang *h, const struct group *g)
{
	uint32_t n = g->to - g->from;

	return n > 2 && g->here == n && 4 * n >= 3 * h->word[g->from].members;
}

/* Finds ranks that issued fewer or other operations than the rest of a collective that all have reached. Names of
 * operations are known of some ranks only; sequence numbers are known of all, so a missing rank may be the culprit. */
static bool any_mismatch(struct saying *to, struct hang *h)
{
	for (int by_what = 1; by_what >= 0; by_what--)
		for (uint32_t i = 0; i < h->groups; i++) {
			const struct group *g = &h->group[i];
			bool whole = is_whole(h, g);
			struct diag_finding f = { .confidence = whole ? 0.8f : 0.6f };
			uint32_t odd = whole || (by_what && is_told(h, g)) ? odd_one(h, g, by_what)
									   : NOBODY;

			if (odd == NOBODY)
				continue;
			f.part[f.parts++] = (struct diag_part){ DIAG_RANK, odd };
			say(to, h, DIAG_WHY_MISMATCH, 29, &h->word[g->from], &f,
			    reach(h, odd) + g->here);
			return true;
		}
	return false;
}

static bool any_stuck(struct saying *to, struct hang *h)
{
	uint32_t best = NOBODY, most = 0;

	for (uint32_t i = 0; i < h->groups; i++)
		if (is_whole(h, &h->group[i])) {
			uint32_t n = reach(h, h->word[h->group[i].from].rank) + h->group[i].here;

			if (n > most) {
				most = n;
				best = i;
			}
		}
	if (best == NOBODY)
		return false;
	const struct group *g = &h->group[best];
	struct diag_finding f = { .confidence = 0.8f };

	for (uint32_t i = g->from; i < g->to && f.parts < DIAG_PARTS; i++)
		f.part[f.parts++] = (struct diag_part){ DIAG_RANK, h->word[i].rank };
	say(to, h, DIAG_WHY_TRANSPORT, 28, &h->word[g->from], &f, most);
	return true;
}

/* --- a circle --- */

/* A member of the operation that `r` is in, which is elsewhere. */
static uint32_t waits_for(const struct hang *h, uint32_t r)
{
	const struct group *g;

	if (h->stands[r] == NOBODY)
		return NOBODY;
	g = &h->group[h->word[h->stands[r]].group];
	for (uint32_t i = g->from; i < g->to; i++)
		if (!is_in(h, i))
			return h->word[i].rank;
	return NOBODY;
}

static bool any_circle(struct saying *to, struct hang *h)
{
	for (uint32_t from = 0; from < h->d->world; from++) {
		uint32_t r = from, hops = 0;
		struct diag_verdict v;

		while (r != NOBODY && hops++ <= h->d->world && (r = waits_for(h, r)) != from)
			;
		if (r != from || h->stands[from] == NOBODY)
			continue;
		verdict_init(h->d, &v, DIAG_WHY_DEADLOCK, (struct diag_part){ DIAG_RANK, from },
			     29);
		v.f.parts = 0;
		do {
			if (v.cycles < DIAG_CYCLE)
				v.cycle[v.cycles++] = r;
			if (v.f.parts < DIAG_PARTS)
				v.f.part[v.f.parts++] = (struct diag_part){ DIAG_RANK, r };
			r = waits_for(h, r);
		} while (r != from && r != NOBODY && v.cycles < DIAG_CYCLE);
		v.f.gain = 1;
		v.gain_least = 1;
		v.f.confidence = 0.8f;
		v.f.act = true;
		v.comm = h->word[h->stands[from]].comm;
		v.sequence = h->word[h->stands[from]].done + 1;
		v.op = h->word[h->stands[from]].op;
		v.of = h->d->ranks;
		v.ranks = v.cycles;
		verdict_say(to, &v);
		return true;
	}
	return false;
}

/* How many ranks wait in operations that this rank is a member of, by the last complete step. */
static uint32_t missed(const struct hang *h, uint32_t rank)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < STEP_SLOTS; i++) {
		uint32_t at = h->d->index[rank * STEP_SLOTS + i];

		for (uint32_t g = 0; at < h->d->comms && g < h->groups; g++)
			if (h->word[h->group[g].from].comm == h->d->comm[at].comm)
				n += h->group[g].here;
	}
	return n;
}

/* Ranks without a record, for whose operations others wait: not known to be healthy. */
static void silent_ones(struct saying *to, struct hang *h)
{
	struct diag_finding f = { .confidence = 0.5f };
	bool any = false;

	for (uint32_t r = 0; r < h->d->world; r++)
		any |= !h->d->rank[r].rec && missed(h, r);
	for (uint32_t r = 0; r < h->d->world; r++)
		if (!h->d->rank[r].rec && f.parts < DIAG_PARTS && (!any || missed(h, r)))
			f.part[f.parts++] = (struct diag_part){ DIAG_RANK, r };
	if (f.parts)
		say(to, h, DIAG_WHY_SILENT, 0, NULL, &f, h->d->ranks);
}

void find_hang(struct saying *s)
{
	struct hang h = { .d = s->d };

	if (gather(&h) == 0 && !any_gone(s, &h) && !any_outside(s, &h) && !any_mismatch(s, &h) &&
	    !any_stuck(s, &h) && !any_circle(s, &h))
		silent_ones(s, &h);
	free(h.word);
	free(h.group);
	free(h.stands);
	free(h.queue);
	free(h.mark);
}
