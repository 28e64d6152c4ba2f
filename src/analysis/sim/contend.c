/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contend.c - communication operations that use a NIC, or the uplinks of a leaf switch, at the same
 * time share its bandwidth.
 *
 * One run of the net gives the begin of each operation if none disturbs another. With these times
 * each NIC and each leaf is simulated by itself: its flows share it evenly, and when one ends the
 * others get its part. An operation takes as long as on its slowest place. The net then runs again
 * with these durations, since later operations begin later, a few times at most.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "sim/engine.h"

#define ROUNDS 3
#define NEAR   1000 /* ns: no operation moves by more than this, so it has settled */

/* One operation at one place. */
struct flow {
	uint32_t place;
	uint32_t meet;
	int64_t at;
	double left;   /* ns that it takes alone */
	double weight; /* NICs that it fills behind the place */
};

struct contend {
	struct play *p;
	struct flow *flow;
	size_t flows, cap;
	double *takes; /* by meeting */
	uint32_t *now; /* room: flows that are there */
};

static int put(struct contend *c, const struct flow *f)
{
	if (vec_room(&c->flow, &c->cap, c->flows + 1, sizeof(*c->flow)) < 0)
		return -ENOMEM;
	c->flow[c->flows++] = *f;
	return 0;
}

static uint32_t nics_of(const struct job *j)
{
	return j->nics ? j->nics : j->ranks_per_node;
}

/* Those of NICs come first, then those of leaves. */
static int put_meet(struct contend *c, uint32_t k)
{
	const struct job *j = c->p->job;
	const struct play_meet *m = &c->p->meet[k];
	struct play_meeting t;
	uint32_t nics = nics_of(j), node_last = job_node(j, job_ranks(j) - 1);
	uint32_t first_leaf = (node_last + 1) * nics, before = UINT32_MAX;
	bool leaves = false;
	int err = 0;

	play_meeting(c->p, m->rank, m->op, &t);
	for (uint32_t i = 1; i < t.team.size; i++)
		leaves |=
			job_node(j, play_member(&t, i)) / j->leaf != job_node(j, m->rank) / j->leaf;
	for (uint32_t i = 0; i < t.team.size && !err; i++) {
		uint32_t rank = play_member(&t, i), node = job_node(j, rank);
		uint32_t nic = node * nics + rank % j->ranks_per_node * nics / j->ranks_per_node;
		struct flow f = { nic, k, m->at, (double)m->ns, 1 };

		if (nic == before)
			continue;
		before = nic;
		err = put(c, &f);
		f.place = first_leaf + node / j->leaf;
		if (!err && leaves)
			err = put(c, &f);
	}
	return err;
}

static int by_place(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	return cmp_num(x->place, y->place) ?: cmp_num(x->at, y->at) ?: cmp_num(x->meet, y->meet);
}

/* NICs of one operation behind a leaf are one flow of their weight. A NIC is one flow, however many
 * ranks of the operation use it: the operation's own cost includes that. */
static void merge(struct contend *c)
{
	const struct job *j = c->p->job;
	uint32_t nics = (job_node(j, job_ranks(j) - 1) + 1) * nics_of(j);
	size_t kept = 0;

	for (size_t i = 0; i < c->flows; i++) {
		struct flow *last = kept ? &c->flow[kept - 1] : NULL;

		if (last && last->place == c->flow[i].place && last->meet == c->flow[i].meet)
			last->weight += last->place < nics ? 0 : c->flow[i].weight;
		else
			c->flow[kept++] = c->flow[i];
	}
	c->flows = kept;
}

/* Plays one place: flows from..to, by when they come. `room`: NICs that it can carry. */
static void share(struct contend *c, size_t from, size_t to, double room)
{
	double now = (double)c->flow[from].at, load = 0;
	size_t n = 0, next = from;

	while (next < to || n) {
		double rate, until = next < to ? (double)c->flow[next].at : 1e300;
		size_t kept = 0;

		if (!n)
			now = until;
		rate = load > room ? room / load : 1;
		for (size_t i = 0; i < n; i++) {
			double end = now + c->flow[c->now[i]].left / rate;

			until = end < until ? end : until;
		}
		for (size_t i = 0; i < n; i++) {
			struct flow *f = &c->flow[c->now[i]];

			f->left -= (until - now) * rate;
			if (f->left > 0.5) {
				c->now[kept++] = c->now[i];
				continue;
			}
			load -= f->weight;
			if (until - (double)f->at > c->takes[f->meet])
				c->takes[f->meet] = until - (double)f->at;
		}
		n = kept;
		now = until;
		while (next < to && (double)c->flow[next].at <= now) {
			load += c->flow[next].weight;
			c->now[n++] = (uint32_t)next++;
		}
	}
}

static void share_all(struct contend *c)
{
	const struct job *j = c->p->job;
	uint32_t nics = (job_node(j, job_ranks(j) - 1) + 1) * nics_of(j);

	for (size_t i = 0, end; i < c->flows; i = end) {
		for (end = i; end < c->flows && c->flow[end].place == c->flow[i].place; end++)
			;
		share(c, i, end, c->flow[i].place < nics ? 1 : j->leaf * nics_of(j) / j->oversub);
	}
}

/* Updates the duration of each operation. True: one has moved. */
static bool apply(struct contend *c)
{
	bool moved = false;

	for (uint32_t k = 0; k < c->p->meets; k++) {
		struct play_meet *m = &c->p->meet[k];
		int64_t more = c->takes[k] > (double)m->ns ? (int64_t)c->takes[k] - m->ns : 0;

		moved |= llabs(more - m->more) > NEAR;
		for (uint32_t i = 0; i < m->size; i++) {
			int64_t *lag = &c->p->net->edge[m->edge + 2 + 2 * (size_t)i].lag;

			if (*lag != SIM_CUT)
				*lag += more - m->more;
		}
		m->more = more;
	}
	return moved;
}

static int round_of(struct contend *c, bool *moved)
{
	struct play *p = c->p;
	int err = 0;

	c->flows = 0;
	for (uint32_t k = 0; k < p->meets && !err; k++) {
		struct play_meet *m = &p->meet[k];

		c->takes[k] = 0;
		m->at = p->time[p->net->edge[m->edge].to];
		if (m->at < SIM_NEVER && m->ns < SIM_NEVER)
			err = put_meet(c, k);
	}
	if (err < 0)
		return err;
	if (c->flows)
		qsort(c->flow, c->flows, sizeof(*c->flow), by_place);
	merge(c);
	free(c->now);
	c->now = malloc((c->flows + 1) * sizeof(*c->now));
	if (!c->now)
		return -ENOMEM;
	share_all(c);
	*moved = apply(c);
	return 0;
}

int play_contend(struct play *p)
{
	struct contend c = { .p = p };
	bool moved = true;
	int err = 0;

	c.takes = calloc(p->meets + 1u, sizeof(*c.takes));
	if (!c.takes)
		return -ENOMEM;
	for (int i = 0; i < ROUNDS && moved && !err; i++) {
		err = round_of(&c, &moved);
		if (!err && moved)
			sim_run(p->net, NULL, p->time);
	}
	free(c.flow);
	free(c.takes);
	free(c.now);
	return err;
}
