/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_comm.c - collectives and transfers of a step: which communicator, which number, how long.
 *
 * An operation of gloo, or of NCCL while its times are requested, is one complete event. Otherwise
 * NCCL reports that an operation was enqueued, with its number, and its kernel gives the times: the
 * n-th kernel of a kind on a stream is the n-th operation of that kind of the stream's
 * communicator. Sends and receives that were enqueued together run in one kernel. An operation
 * without a kernel for COLL_WAIT_NS has no time and is skipped.
 */
#include <stdlib.h>

#include "agg/stepper_priv.h"
#include "base/order.h"

#define COLL_WAIT_NS  2000000000ull
#define COLL_GROUP_NS 200000ull  /* sends and receives of one group are enqueued within */
#define COLL_EARLY_NS 1000000ull /* clocks of host and GPU may differ so much */

static struct step_coll *coll_new(struct stepper *s)
{
	if (!s->coll)
		s->coll = malloc(STEPPER_COLLS * sizeof(*s->coll));
	if (!s->coll || s->colls == STEPPER_COLLS) {
		s->forgot++;
		return NULL;
	}
	return &s->coll[s->colls++];
}

/* Both ends compute it alike: who sends to whom. */
static uint64_t pair_hash(uint64_t comm, uint32_t from, uint32_t to)
{
	uint64_t is[] = { comm, from, to };

	return step_hash(is, sizeof(is), 0);
}

void step_coll_event(struct stepper *s, const struct event *e, const struct step_means *m)
{
	const struct step_track *l = stepper_track_get(s, e->track);
	struct step_coll *c;
	bool p2p = m->op == STEP_OP_SEND || m->op == STEP_OP_RECV;

	if (!l || !l->members || m->op >= STEP_OPS)
		return;
	c = coll_new(s);
	if (!c)
		return;
	*c = (struct step_coll){ .start_ns = e->start_ns,
				 .dur_ns = e->dur_ns,
				 .bytes = e->a,
				 .sequence = e->b,
				 .comm = l->comm,
				 .members = l->members,
				 .track = e->track,
				 .peer = m->peer,
				 .from = (uint16_t)l->rank,
				 .op = m->op,
				 .p2p = p2p,
				 .state = l->device && !e->dur_ns ? COLL_ISSUED : COLL_WHOLE };
}

void step_coll_kernel(struct stepper *s, const struct event *e, const struct step_means *m)
{
	struct step_coll *c = m->op < STEP_OPS || m->p2p ? coll_new(s) : NULL;

	if (c)
		*c = (struct step_coll){ .start_ns = e->start_ns,
					 .dur_ns = e->dur_ns,
					 .track = e->track,
					 .op = m->op,
					 .p2p = m->p2p,
					 .state = COLL_KERNEL };
}

static int by_start(const void *a, const void *b)
{
	const struct step_coll *x = a, *y = b;

	return cmp_num(x->start_ns, y->start_ns) ?: cmp_num(x->sequence, y->sequence);
}

static int by_slot(const void *a, const void *b)
{
	const struct step_coll *x = a, *y = b;

	return cmp_num(x->comm, y->comm) ?: cmp_num(x->op, y->op) ?:
	       cmp_num(x->sequence, y->sequence) ?: by_start(a, b);
}

/* --- kernels --- */

/* The communicator that a stream's kernels work for; 0: not known yet. */
static struct track_of_kernels *bound(struct stepper *s, uint32_t track)
{
	size_t n = sizeof(s->bound) / sizeof(s->bound[0]);

	for (size_t i = 0; i < n; i++)
		if (s->bound[i].track == track || !s->bound[i].track)
			return &s->bound[i];
	return NULL;
}

static bool fits(const struct step_coll *kernel, const struct step_coll *c, uint64_t comm)
{
	return c->state == COLL_ISSUED && c->p2p == kernel->p2p &&
	       (c->p2p || c->op == kernel->op) && (!comm || c->comm == comm) &&
	       c->start_ns <= kernel->start_ns + COLL_EARLY_NS;
}

static void take(struct step_coll *c, const struct step_coll *kernel)
{
	c->start_ns = kernel->start_ns;
	c->dur_ns = kernel->dur_ns;
	c->state = COLL_WHOLE;
}

static void match_kernel(struct stepper *s, size_t k)
{
	const struct step_coll *kernel = &s->coll[k];
	struct track_of_kernels *b = bound(s, kernel->track);
	uint64_t comm = b && b->track ? b->comm : 0, issued = 0;
	bool several = false;

	for (size_t i = 0; i < s->colls; i++) {
		struct step_coll *c = &s->coll[i];

		if (!fits(kernel, c, comm))
			continue;
		if (!issued) {
			issued = c->start_ns;
			comm = c->comm;
			/* Is it the only one that it can be? */
			for (size_t j = i; j < s->colls && !several; j++)
				several = fits(kernel, &s->coll[j], 0) && s->coll[j].comm != comm;
			take(c, kernel);
			if (!kernel->p2p)
				break;
		} else if (c->comm == comm && c->start_ns <= issued + COLL_GROUP_NS) {
			take(c, kernel);
		}
	}
	if (issued && b && !b->track && !several)
		*b = (struct track_of_kernels){ kernel->track, comm };
	s->coll[k].state = COLL_DONE;
}

static void drop_done(struct stepper *s, uint64_t before)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->colls; i++) {
		const struct step_coll *c = &s->coll[i];
		bool old = c->state == COLL_ISSUED && c->start_ns + COLL_WAIT_NS < before;

		if (c->state != COLL_DONE && !old)
			s->coll[kept++] = *c;
	}
	s->colls = kept;
}

void step_coll_match(struct stepper *s, uint64_t before)
{
	if (!s->colls)
		return;
	qsort(s->coll, s->colls, sizeof(*s->coll), by_start);
	for (size_t i = 0; i < s->colls; i++)
		if (s->coll[i].state == COLL_KERNEL && s->coll[i].start_ns < before)
			match_kernel(s, i);
	drop_done(s, before);
}

/* --- slots --- */

static struct step_comm *comm_of(struct stepper *s, uint64_t comm, uint8_t op)
{
	struct step_comm *c = s->comm;

	for (; c < s->comm + STEPPER_COMMS && c->comm; c++)
		if (c->comm == comm && c->op == op)
			return c;
	if (c == s->comm + STEPPER_COMMS)
		return NULL;
	*c = (struct step_comm){ .comm = comm, .op = op, .peer = UINT32_MAX };
	return c;
}

static void name_pair(struct step_coll *c)
{
	bool sends = c->op == STEP_OP_SEND;

	if (!c->p2p || c->peer == STEP_NO_PEER)
		return;
	c->comm = pair_hash(c->comm, sends ? c->from : c->peer, sends ? c->peer : c->from);
	c->members = 2;
}

static void add_slot(struct stepper *s, const struct step_coll *c, uint64_t from,
		     struct step_rec *r)
{
	struct step_slot *slot = step_rec_slot(r, c->comm, (enum step_op)c->op);
	struct step_comm *n = comm_of(s, c->comm, c->op);
	uint32_t sequence = c->sequence ? (uint32_t)c->sequence : n ? n->done + 1 : 0;

	if (!(slot->flags & STEP_SLOT_MERGED)) {
		slot->members = c->members;
		slot->peer = c->p2p && c->peer != STEP_NO_PEER ? c->peer : UINT32_MAX;
	}
	step_slot_add(slot, sequence, c->bytes, (double)(c->start_ns - from), (double)c->dur_ns);
	slot->exposed += (float)(c->dur_ns - step_ran(s, c->start_ns, c->start_ns + c->dur_ns));
	if (n) {
		const struct step_track *l = stepper_track_get(s, c->track);

		n->words = l ? l->words : 0;
		n->members = c->members;
		n->issued = n->done = sequence;
		n->peer = slot->peer;
	}
}

void step_coll_slots(struct stepper *s, uint64_t from, uint64_t to, struct step_rec *r)
{
	size_t n = 0, kept = 0;

	if (!s->colls)
		return;
	/* Those of this step first. */
	for (size_t i = 0; i < s->colls; i++) {
		struct step_coll c = s->coll[i];

		if (c.state != COLL_WHOLE || c.start_ns < from || c.start_ns >= to)
			continue;
		s->coll[i] = s->coll[n];
		s->coll[n++] = c;
	}
	for (size_t i = 0; i < n; i++)
		name_pair(&s->coll[i]);
	qsort(s->coll, n, sizeof(*s->coll), by_slot);
	for (size_t i = 0; i < n; i++)
		add_slot(s, &s->coll[i], from, r);
	for (size_t i = n; i < s->colls; i++)
		if (s->coll[i].state != COLL_WHOLE || s->coll[i].start_ns >= to)
			s->coll[kept++] = s->coll[i];
	s->colls = kept;
}

static bool has_words(const struct stepper *s, uint64_t words)
{
	for (const struct step_comm *c = s->comm; c < s->comm + STEPPER_COMMS && c->comm; c++)
		if (c->words == words)
			return true;
	return false;
}

/* The last words say what was begun last, and only of one communicator. */
void step_coll_stand(struct stepper *s, const struct step_words *w, struct step_rec *r)
{
	struct step_comm *best = NULL;
	bool named = w->comm && has_words(s, w->comm);

	for (struct step_comm *c = s->comm; c < s->comm + STEPPER_COMMS && c->comm; c++) {
		struct step_slot *slot = step_rec_slot(r, c->comm, (enum step_op)c->op);

		if (slot->flags & STEP_SLOT_MERGED)
			continue;
		if (!slot->count) {
			slot->members = c->members;
			slot->peer = c->peer;
			slot->issued = slot->done = c->done;
		}
		if ((!named || c->words == w->comm) && slot->done < (uint32_t)w->sequence &&
		    (!best || c->done > best->done))
			best = c;
	}
	for (size_t i = 0; best && i < r->slots; i++) {
		struct step_slot *slot = &r->slot[i];
		uint64_t is[] = { slot->op, 0 };

		if (slot->comm != best->comm || slot->op != best->op)
			continue;
		slot->issued = (uint32_t)w->sequence;
		slot->what = (uint32_t)step_hash(is, sizeof(is), 0);
	}
}
