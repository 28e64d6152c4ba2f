/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - open ranges and steps of a session.
 *
 * Threads and started ranges are each kept in a `struct table`: a bounded map from a key that the
 * process chose to a slot, with the slots in order of use. The hash is keyed, so that a process
 * cannot force long chains. Pushed ranges are nodes of one pool; a thread's stack is a list of
 * them. A node that leaves early waits in the list `leaving`.
 */
#include "agg/open.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "abi/record.h"
#include "agg/pages.h"
#include "agg/steps.h"

/* Slot 0 is the head of the order: its `newer` is the oldest, its `older` the newest. */
struct slot {
	uint64_t key;
	uint32_t chain; /* next of the same bucket, or next free */
	uint32_t older, newer;
	uint32_t reserved;
};

struct table {
	uint32_t *bucket;
	struct slot *slot; /* owned, with the buckets: one mapping */
	uint64_t seed;     /* odd */
	uint32_t max;      /* a power of two */
	uint32_t shift;
	uint32_t count;
	uint32_t used; /* slots ever taken */
	uint32_t free;
};

struct node {
	struct event ev;
	uint32_t next;
	uint32_t reserved;
};

struct open {
	struct table threads, started, early;
	struct open_thread *thread; /* owned; by slot of `threads` */
	struct event *start;        /* owned; by slot of `started` */
	uint64_t *early_ns;         /* owned; by slot of `early` */
	uint64_t given_up;          /* early ends, not yet told */
	struct node *node;          /* owned; [0] is unused */
	uint32_t nodes_used, nodes_free, leaving;
	uint64_t count;
	struct steps steps;
};

static size_t table_bytes(uint32_t max)
{
	return max * sizeof(uint32_t) + (max + 1) * sizeof(struct slot);
}

static int table_init(struct table *t, uint32_t max)
{
	*t = (struct table){ .max = max, .shift = (uint32_t)__builtin_clzll(max) + 1 };
	if (getrandom(&t->seed, sizeof(t->seed), 0) != (ssize_t)sizeof(t->seed))
		return -EIO;
	t->seed |= 1;
	t->slot = pages_new(table_bytes(max));
	if (!t->slot)
		return -ENOMEM;
	t->bucket = (uint32_t *)(t->slot + max + 1);
	return 0;
}

static void table_fini(struct table *t)
{
	pages_free(t->slot, table_bytes(t->max));
}

static uint32_t *table_bucket(const struct table *t, uint64_t key)
{
	return &t->bucket[key * t->seed >> t->shift];
}

static uint32_t table_find(const struct table *t, uint64_t key)
{
	uint32_t i = *table_bucket(t, key);

	while (i && t->slot[i].key != key)
		i = t->slot[i].chain;
	return i;
}

static uint32_t table_oldest(const struct table *t)
{
	return t->slot[0].newer;
}

static void order_out(struct table *t, uint32_t i)
{
	struct slot *s = &t->slot[i];

	t->slot[s->older].newer = s->newer;
	t->slot[s->newer].older = s->older;
}

static void order_newest(struct table *t, uint32_t i)
{
	struct slot *s = &t->slot[i];

	s->newer = 0;
	s->older = t->slot[0].older;
	t->slot[s->older].newer = i;
	t->slot[0].older = i;
}

/* There must be room. */
static uint32_t table_add(struct table *t, uint64_t key)
{
	uint32_t *bucket = table_bucket(t, key), i = t->free;

	if (i)
		t->free = t->slot[i].chain;
	else
		i = ++t->used;
	t->slot[i].key = key;
	t->slot[i].chain = *bucket;
	*bucket = i;
	order_newest(t, i);
	t->count++;
	return i;
}

static void table_drop(struct table *t, uint32_t i)
{
	uint32_t *p = table_bucket(t, t->slot[i].key);

	while (*p != i)
		p = &t->slot[*p].chain;
	*p = t->slot[i].chain;
	order_out(t, i);
	t->slot[i].chain = t->free;
	t->free = i;
	t->count--;
}

int open_new(struct open **out)
{
	struct open *o;
	int err;

	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	err = table_init(&o->threads, OPEN_THREADS);
	if (err)
		goto free_open;
	err = table_init(&o->started, OPEN_STARTED);
	if (err)
		goto free_open;
	err = table_init(&o->early, OPEN_EARLY);
	if (err)
		goto free_open;
	err = -ENOMEM;
	o->early_ns = pages_new((OPEN_EARLY + 1) * sizeof(*o->early_ns));
	o->thread = pages_new((OPEN_THREADS + 1) * sizeof(*o->thread));
	o->start = pages_new((OPEN_STARTED + 1) * sizeof(*o->start));
	o->node = pages_new((OPEN_PUSHED + 1) * sizeof(*o->node));
	if (!o->thread || !o->start || !o->node || !o->early_ns)
		goto free_open;
	*out = o;
	return 0;

free_open:
	open_free(o);
	return err;
}

void open_free(struct open *o)
{
	if (!o)
		return;
	pages_free(o->node, (OPEN_PUSHED + 1) * sizeof(*o->node));
	pages_free(o->start, (OPEN_STARTED + 1) * sizeof(*o->start));
	pages_free(o->thread, (OPEN_THREADS + 1) * sizeof(*o->thread));
	pages_free(o->early_ns, (OPEN_EARLY + 1) * sizeof(*o->early_ns));
	table_fini(&o->early);
	table_fini(&o->started);
	table_fini(&o->threads);
	free(o);
}

uint64_t open_count(const struct open *o)
{
	return o->count + o->steps.count;
}

bool open_any(const struct open *o, bool (*is)(void *arg, uint32_t name), void *arg)
{
	for (uint32_t i = table_oldest(&o->threads); i; i = o->threads.slot[i].newer)
		for (uint32_t n = o->thread[i].top; n; n = o->node[n].next)
			if (o->node[n].ev.kind && is(arg, o->node[n].ev.name))
				return true;
	for (uint32_t i = table_oldest(&o->started); i; i = o->started.slot[i].newer)
		if (is(arg, o->start[i].name))
			return true;
	return false;
}

static uint32_t node_get(struct open *o)
{
	uint32_t i = o->nodes_free;

	if (i)
		o->nodes_free = o->node[i].next;
	else if (o->nodes_used < OPEN_PUSHED)
		i = ++o->nodes_used;
	return i;
}

static void node_put(struct open *o, uint32_t i)
{
	o->node[i].next = o->nodes_free;
	o->nodes_free = i;
}

static void leave(struct open *o, struct open_thread *t, uint64_t now_ns)
{
	while (t->top) {
		uint32_t i = t->top;

		t->top = o->node[i].next;
		if (o->node[i].ev.kind) {
			end_at(&o->node[i].ev, now_ns, EVENT_OPEN);
			o->node[i].next = o->leaving;
			o->leaving = i;
		} else {
			node_put(o, i);
		}
	}
	t->depth = 0;
	t->refused = 0;
}

struct open_thread *open_thread(struct open *o, uint32_t tid)
{
	uint32_t i = table_find(&o->threads, tid);

	if (i) {
		order_out(&o->threads, i);
		order_newest(&o->threads, i);
		return &o->thread[i];
	}
	if (o->threads.count == OPEN_THREADS) {
		i = table_oldest(&o->threads);
		leave(o, &o->thread[i], o->thread[i].last_ns);
		table_drop(&o->threads, i);
	}
	i = table_add(&o->threads, tid);
	o->thread[i] = (struct open_thread){ .tid = tid };
	return &o->thread[i];
}

int open_push(struct open *o, struct open_thread *t, const struct event *ev)
{
	uint32_t i = 0;

	if (!t->refused && t->depth < OPEN_DEPTH)
		i = node_get(o);
	if (!i) {
		t->refused++;
		return -(int)AON_LOSS_BUDGET;
	}
	o->node[i].ev = *ev;
	o->node[i].ev.depth = (uint16_t)t->depth++;
	o->node[i].next = t->top;
	t->top = i;
	if (ev->kind == EVENT_NONE)
		return -(int)AON_LOSS_INVALID;
	o->count++;
	return 0;
}

uint32_t open_above(const struct open *o, const struct open_thread *t, uint32_t name)
{
	uint32_t above = 0;

	for (uint32_t i = t->top; i && o->node[i].ev.name != name; i = o->node[i].next)
		above++;
	return above;
}

int open_pop(struct open *o, struct open_thread *t, uint32_t above, uint64_t now_ns,
	     struct event *out)
{
	uint32_t *at = &t->top, i;

	if (t->refused) {
		t->refused--;
		return -(int)AON_LOSS_BUDGET;
	}
	if (above >= t->depth)
		return -(int)AON_LOSS_UNMATCHED;
	for (; above; above--) { /* they have one less around them now */
		o->node[*at].ev.depth--;
		at = &o->node[*at].next;
	}
	i = *at;
	*at = o->node[i].next;
	t->depth--;
	*out = o->node[i].ev;
	node_put(o, i);
	if (out->kind == EVENT_NONE)
		return -(int)AON_LOSS_INVALID;
	end_at(out, now_ns, 0);
	o->count--;
	return 1;
}

static void take_start(struct open *o, uint32_t i, struct event *out)
{
	*out = o->start[i];
	table_drop(&o->started, i);
	o->count--;
}

static void drop_early(struct open *o, uint32_t i)
{
	table_drop(&o->early, i);
	o->count--;
}

/* Ends whose start has not come in time, and those over the bound. */
static void give_up(struct open *o, uint64_t now_ns)
{
	uint64_t before = now_ns > OPEN_EARLY_NS ? now_ns - OPEN_EARLY_NS : 0;
	uint32_t i;

	while ((i = table_oldest(&o->early)) &&
	       (o->early.count == OPEN_EARLY || o->early_ns[i] < before)) {
		drop_early(o, i);
		o->given_up++;
	}
	o->given_up += steps_give_up(&o->steps, before);
}

int open_start(struct open *o, const struct event *ev, struct event *out)
{
	uint32_t i = table_find(&o->early, ev->a);
	int got = 0;

	if (i) {
		*out = *ev;
		end_at(out, o->early_ns[i], 0);
		drop_early(o, i);
		return 1;
	}
	i = table_find(&o->started, ev->a);
	if (!i && o->started.count == OPEN_STARTED)
		i = table_oldest(&o->started);
	if (i) {
		take_start(o, i, out);
		end_at(out, ev->start_ns, EVENT_OPEN);
		got = 1;
	}
	o->start[table_add(&o->started, ev->a)] = *ev;
	o->count++;
	return got;
}

int open_end(struct open *o, uint64_t id, uint64_t now_ns, struct event *out)
{
	uint32_t i = table_find(&o->started, id);

	if (i) {
		take_start(o, i, out);
		end_at(out, now_ns, 0);
		return 1;
	}
	give_up(o, now_ns);
	if (table_find(&o->early, id))
		return -(int)AON_LOSS_UNMATCHED;
	o->early_ns[table_add(&o->early, id)] = now_ns;
	o->count++;
	return 0;
}

uint64_t open_given_up(struct open *o)
{
	uint64_t n = o->given_up;

	o->given_up = 0;
	return n;
}

int open_step_begin(struct open *o, uint32_t tid, const struct event *ev, struct event *out)
{
	return steps_begin(&o->steps, tid, ev, out);
}

int open_step_end(struct open *o, uint32_t tid, uint64_t number, uint64_t now_ns, struct event *out)
{
	give_up(o, now_ns);
	return steps_end(&o->steps, tid, number, now_ns, out);
}

size_t open_flush(struct open *o, struct event *out, size_t max)
{
	size_t n = 0;

	while (o->leaving && n < max) {
		uint32_t i = o->leaving;

		o->leaving = o->node[i].next;
		out[n++] = o->node[i].ev;
		node_put(o, i);
		o->count--;
	}
	return n;
}

size_t open_close(struct open *o, uint64_t end_ns, struct event *out, size_t max)
{
	size_t n;

	for (uint32_t i = table_oldest(&o->threads); i; i = o->threads.slot[i].newer)
		leave(o, &o->thread[i], end_ns);
	give_up(o, UINT64_MAX);
	n = open_flush(o, out, max);
	while (n < max && o->started.count) {
		take_start(o, table_oldest(&o->started), &out[n]);
		end_at(&out[n++], end_ns, EVENT_OPEN);
	}
	while (n < max && steps_take(&o->steps, end_ns, &out[n]))
		n++;
	return n;
}
