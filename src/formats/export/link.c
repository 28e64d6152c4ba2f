/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - see link.h. Open addressing over launches; stacks as a tree whose nodes are shared. */
#include "export/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 512u

static size_t hash64(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15ull;
	return (size_t)(v ^ v >> 29);
}

static struct link *place(const struct links *l, uint64_t key)
{
	size_t at = hash64(key) & (l->slots - 1);

	while (l->slot[at].key && l->slot[at].key != key)
		at = (at + 1) & (l->slots - 1);
	return &l->slot[at];
}

static int grow_slots(struct links *l)
{
	struct links to = { .slots = l->slots ? l->slots * 2 : 1024 };

	if (l->slots && l->used * 4 < l->slots * 3)
		return 0;
	to.slot = calloc(to.slots, sizeof(*to.slot));
	if (!to.slot)
		return -ENOMEM;
	for (size_t i = 0; i < l->slots; i++)
		if (l->slot[i].key)
			*place(&to, l->slot[i].key) = l->slot[i];
	free(l->slot);
	l->slot = to.slot;
	l->slots = to.slots;
	return 0;
}

static int mark(struct links *l, uint32_t process, uint32_t corr, uint32_t flag, uint32_t stack)
{
	uint64_t key = (uint64_t)(process + 1) << 32 | corr;
	struct link *k;
	int err = grow_slots(l);

	if (err)
		return err;
	k = place(l, key);
	l->used += !k->key;
	k->key = key;
	/* Of two calls with one id (a runtime's, and the driver's below) the outer comes first. */
	if (flag == LINK_CALL && !(k->flags & LINK_CALL))
		k->stack = stack;
	k->flags |= flag;
	return 0;
}

const struct link *link_find(const struct links *l, uint32_t process, uint32_t corr)
{
	const struct link *k;

	if (!corr || !l->slots)
		return NULL;
	k = place(l, (uint64_t)(process + 1) << 32 | corr);
	return k->key ? k : NULL;
}

/* --- stacks --- */

static int grow_nodes(struct links *l)
{
	size_t cap = l->cap ? l->cap * 2 : 1024;
	struct node *node;
	uint32_t *head;

	if (l->nodes < l->cap)
		return 0;
	node = realloc(l->node, cap * sizeof(*node));
	if (!node)
		return -ENOMEM;
	l->node = node;
	l->cap = cap;
	head = calloc(cap, sizeof(*head));
	if (!head)
		return -ENOMEM;
	free(l->head);
	l->head = head;
	l->heads = cap;
	for (uint32_t i = 1; i < l->nodes; i++) {
		size_t h = hash64((uint64_t)node[i].below << 32 | node[i].name) & (cap - 1);

		node[i].next = head[h];
		head[h] = i;
	}
	return 0;
}

int link_frame(struct links *l, uint32_t below, uint32_t name, uint32_t *out)
{
	int err = grow_nodes(l);
	size_t h;

	if (err)
		return err;
	if (!l->nodes)
		l->node[l->nodes++] = (struct node){ 0 };
	h = hash64((uint64_t)below << 32 | name) & (l->heads - 1);
	for (uint32_t i = l->head[h]; i; i = l->node[i].next)
		if (l->node[i].below == below && l->node[i].name == name) {
			*out = i;
			return 0;
		}
	l->node[l->nodes] = (struct node){ .below = below, .name = name, .next = l->head[h] };
	l->head[h] = (uint32_t)l->nodes;
	*out = (uint32_t)l->nodes++;
	return 0;
}

/* What encloses the calls of one thread. */
struct open_stack {
	uint64_t end[DEPTH_MAX];
	uint32_t node[DEPTH_MAX + 1];
	size_t depth;
};

static int host_track(struct links *l, const struct trace *t, size_t track, struct open_stack *s,
		      bool stacks)
{
	int err = 0;

	s->depth = 0;
	s->node[0] = 0;
	for (size_t i = t->track_first[track]; i < t->track_first[track + 1] && !err; i++) {
		const struct event *e = &t->event[i];

		while (s->depth && s->end[s->depth - 1] <= e->start_ns)
			s->depth--;
		if (e->kind == EVENT_RANGE && stacks && s->depth < DEPTH_MAX && e->dur_ns) {
			err = link_frame(l, s->node[s->depth], e->name, &s->node[s->depth + 1]);
			s->end[s->depth++] = e->start_ns + e->dur_ns;
		} else if (e->kind == EVENT_API && e->corr) {
			err = mark(l, t->track[track].process, e->corr, LINK_CALL,
				   s->node[s->depth]);
		}
	}
	return err;
}

static int device_track(struct links *l, const struct trace *t, size_t track)
{
	int err = 0;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1] && !err; i++)
		if (t->event[i].corr && link_is_work(&t->event[i]))
			err = mark(l, t->track[track].process, t->event[i].corr, LINK_WORK, 0);
	return err;
}

int link_all(struct links *l, const struct trace *t, int32_t file, bool stacks)
{
	struct open_stack *s = malloc(sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	*l = (struct links){ 0 };
	for (size_t i = 0; i < t->tracks && !err; i++) {
		if (file >= 0 && t->process[t->track[i].process].file != (uint32_t)file)
			continue;
		err = t->track[i].device == TRACK_HOST ? host_track(l, t, i, s, stacks)
						       : device_track(l, t, i);
	}
	free(s);
	if (err)
		link_free(l);
	return err;
}

void link_free(struct links *l)
{
	free(l->slot);
	free(l->node);
	free(l->head);
	*l = (struct links){ 0 };
}
