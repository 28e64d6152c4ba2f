/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account_comm.c - when a process without a GPU only communicates: a collective is under way on any of
 * its threads, and no operator is. Samples tell more (host_cause.c); this is for recordings without.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/live/live_priv.h"
#include "insight/state.h"

struct spans {
	struct insight_span *v;
	size_t n;
};

static int put(struct spans *s, const struct event *e)
{
	if (vec_more(&s->v, s->n, sizeof(*s->v)) < 0)
		return -ENOMEM;
	s->v[s->n++] = (struct insight_span){ .start_ns = e->start_ns, .end_ns = event_end(e) };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	return cmp_num(((const struct insight_span *)a)->start_ns,
		       ((const struct insight_span *)b)->start_ns);
}

/* In order, none begins before another ends. */
static void join(struct spans *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_start);
	for (size_t i = 0; i < s->n; i++) {
		struct insight_span *last = n ? &s->v[n - 1] : NULL;

		if (!last || s->v[i].start_ns > last->end_ns)
			s->v[n++] = s->v[i];
		else if (s->v[i].end_ns > last->end_ns)
			last->end_ns = s->v[i].end_ns;
	}
	s->n = n;
}

static bool is_collective(struct insight *in, const struct event *e)
{
	return e->kind == EVENT_COLLECTIVE ||
	       (e->kind == EVENT_RANGE && (e->a == TRACE_USER || e->a == TRACE_OP) &&
		names_kernel(in->names, e->name) == CLASS_COMM);
}

static void see(struct host_account *a, const struct event *e)
{
	a->comms++;
	a->comm_all_ns += e->dur_ns;
	if (e->dur_ns > a->comm_longest_ns) {
		a->comm_longest_ns = e->dur_ns;
		a->comm_name = e->name;
	}
}

/* Collectives, or operators that are none. */
static int collect(struct insight *in, struct host_account *a, bool comm, struct spans *s)
{
	const struct trace *t = in->t;
	int err = 0;

	for (uint32_t l = 0; l < t->tracks && !err; l++) {
		if (t->track[l].process != a->process || t->track[l].device != TRACK_HOST)
			continue;
		for (size_t i = t->track_first[l]; i < t->track_first[l + 1] && !err; i++) {
			const struct event *e = &t->event[i];

			if (!e->dur_ns || is_collective(in, e) != comm ||
			    (!comm && (e->kind != EVENT_RANGE || e->a != TRACE_OP)))
				continue;
			err = put(s, e);
			if (comm && event_counts(e))
				see(a, e);
		}
	}
	join(s);
	return err;
}

/* The parts of collectives that no operator covers. */
static int without(struct spans *out, const struct spans *comm, const struct spans *op)
{
	size_t k = 0;
	int err = 0;

	for (size_t i = 0; i < comm->n; i++) {
		struct event piece = { .start_ns = comm->v[i].start_ns };

		while (k < op->n && op->v[k].end_ns <= piece.start_ns)
			k++;
		for (size_t j = k; j < op->n && op->v[j].start_ns < comm->v[i].end_ns && !err;
		     j++) {
			if (op->v[j].start_ns > piece.start_ns) {
				piece.dur_ns = op->v[j].start_ns - piece.start_ns;
				err = put(out, &piece);
			}
			piece.start_ns = op->v[j].end_ns;
		}
		if (piece.start_ns < comm->v[i].end_ns && !err) {
			piece.dur_ns = comm->v[i].end_ns - piece.start_ns;
			err = put(out, &piece);
		}
	}
	return err;
}

static bool has_device(const struct trace *t, uint32_t process)
{
	for (size_t i = 0; i < t->devices; i++)
		if (t->device[i].process == process)
			return true;
	return false;
}

int host_comm_take(struct insight *in, struct host_account *a, struct insight_span **bare,
		   size_t *bares)
{
	struct spans comm = { 0 }, op = { 0 }, out = { 0 };
	int err;

	free(*bare);
	*bare = NULL;
	*bares = 0;
	if (in->kinds[EVENT_SAMPLE] >= SAMPLES_ENOUGH || has_device(in->t, a->process))
		return 0;
	err = collect(in, a, true, &comm);
	if (!err && comm.n)
		err = collect(in, a, false, &op);
	err = err ? err : without(&out, &comm, &op);
	free(comm.v);
	free(op.v);
	*bare = out.v;
	*bares = out.n;
	return err;
}

uint64_t host_comm_between(const struct insight_span *bare, size_t bares, uint64_t from_ns,
			   uint64_t to_ns)
{
	uint64_t ns = 0;

	for (size_t i = first_where(k, 0, bares, bare[k].end_ns > from_ns);
	     i < bares && bare[i].start_ns < to_ns; i++) {
		uint64_t a = bare[i].start_ns > from_ns ? bare[i].start_ns : from_ns;
		uint64_t b = bare[i].end_ns < to_ns ? bare[i].end_ns : to_ns;

		ns += b - a;
	}
	return ns;
}
