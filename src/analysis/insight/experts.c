/* SPDX-License-Identifier: Apache-2.0 */
/*
 * experts.c - how long each device worked on experts, up to any time. Tokens are routed to experts of
 * all ranks, unequally and anew in each layer. So another rank may be last each time, and what the
 * others wait for it is the difference of their experts' work since the last such collective.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"

/* A kernel of an expert by its own name, or by the module that launched it. */
static bool is_experts(struct insight *in, uint32_t event)
{
	const struct event *e = &in->t->event[event];
	uint32_t module;

	if (e->kind != EVENT_KERNEL || insight_class(in, event) == CLASS_COMM)
		return false;
	if (names_experts(in->names, e->name) == EXPERTS_WORK ||
	    names_kernel(in->names, e->name) == CLASS_MOE)
		return true;
	module = insight_module(in, event);
	return module != NO_EVENT &&
	       names_experts(in->names, in->t->event[module].name) == EXPERTS_WORK;
}

static int by_end(const void *a, const void *b)
{
	const struct expert_work *x = a, *y = b;

	return cmp_num(x->end_ns, y->end_ns);
}

/* Those of this stretch. */
static int find_device(struct insight *in, uint32_t device)
{
	struct state_experts *x = &in->x->device[device].experts;
	const struct trace *t = in->t;

	x->n = 0;
	x->before_ns = x->sum_ns;
	for (uint32_t l = 0; l < t->tracks; l++)
		for (size_t i = t->track_first[l];
		     t->track[l].device == device && i < t->track_first[l + 1]; i++) {
			const struct event *e = &t->event[i];

			if (!event_counts(e) || !is_experts(in, (uint32_t)i))
				continue;
			if (vec_room(&x->work, &x->room, x->n + 1, sizeof(*x->work)) < 0)
				return -ENOMEM;
			x->work[x->n++] = (struct expert_work){ event_end(e), e->dur_ns };
		}
	if (x->n)
		qsort(x->work, x->n, sizeof(*x->work), by_end);
	for (size_t i = 0; i < x->n; i++)
		x->work[i].until_ns = x->sum_ns += x->work[i].until_ns;
	return 0;
}

int experts_find(struct insight *in)
{
	int err = 0;

	for (uint32_t i = 0; i < in->x->devices && !err; i++)
		err = find_device(in, i);
	return err;
}

uint64_t experts_until(const struct insight *in, uint32_t device, uint64_t ns)
{
	const struct state_experts *x = &in->x->device[device].experts;
	size_t next = first_where(i, 0, x->n, x->work[i].end_ns > ns);

	return next ? x->work[next - 1].until_ns : x->before_ns;
}
