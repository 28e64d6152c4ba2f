/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - see link.h. Stacks form a tree whose nodes are shared. */
#include "export/link.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

#define DEPTH_MAX 512u

static uint64_t key_of(uint32_t process, uint32_t corr)
{
	return (uint64_t)(process + 1) << 32 | corr;
}

static int mark(struct links *l, uint32_t process, uint32_t corr, uint32_t flag, uint32_t stack)
{
	uint64_t *flags = map_at(&l->launch, key_of(process, corr));

	if (!flags)
		return -ENOMEM;
	/* Of two calls with one id (a runtime's, and the driver's below) the outer comes first. */
	if (flag == LINK_CALL && !(*flags & LINK_CALL))
		*flags |= (uint64_t)stack << 32;
	*flags |= flag;
	return 0;
}

bool link_find(struct link *out, const struct links *l, uint32_t process, uint32_t corr)
{
	uint64_t flags = corr ? map_get(&l->launch, key_of(process, corr)) : 0;

	*out = (struct link){ .key = key_of(process, corr),
			      .flags = (uint32_t)flags,
			      .stack = (uint32_t)(flags >> 32) };
	return flags;
}

/* --- stacks --- */

int link_frame(struct links *l, uint32_t below, uint32_t name, uint32_t *out)
{
	uint64_t key = (uint64_t)below << 32 | name;

	*out = (uint32_t)map_get(&l->by_frame, key);
	if (*out)
		return 0;
	if (!l->nodes && vec_more(&l->node, l->nodes, sizeof(*l->node)) == 0)
		l->node[l->nodes++] = (struct stack_node){ 0 };
	if (!l->nodes || vec_more(&l->node, l->nodes, sizeof(*l->node)) < 0 ||
	    map_put(&l->by_frame, key, l->nodes) < 0)
		return -ENOMEM;
	l->node[l->nodes] = (struct stack_node){ .below = below, .name = name };
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
	map_fini(&l->launch);
	free(l->node);
	map_fini(&l->by_frame);
	*l = (struct links){ 0 };
}
