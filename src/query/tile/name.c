/* SPDX-License-Identifier: Apache-2.0 */
/* name.c - the names of a view: each classified once, numbered in order of appearance. */
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "insight/breakdown.h"
#include "insight/insight.h"
#include "store/trace.h"
#include "tile/view.h"

const char *const tile_class_word[TILE_GROUPS] = {
#define GROUP(NAME, word) [TILE_##NAME] = word,
#include "tile/class.tbl.h"
};

static const uint8_t group_of[CLASSES] = {
	[CLASS_OTHER] = TILE_OTHER,
#define OF(CLASS, GROUP) [CLASS_##CLASS] = TILE_##GROUP,
#include "tile/class.tbl.h"
};

/* Appends a name whose text is known. */
static struct name *add(struct tile_view *v, const char *text)
{
	struct name *n;

	if (vec_more(&v->name, v->names, sizeof(*v->name)) < 0)
		return NULL;
	n = &v->name[v->names++];
	*n = (struct name){ .text = text, .shown = text, .first_ns = UINT64_MAX };
	return n;
}

_Static_assert(NAME_UNRECORDED == IDLE_CAUSES, "it comes after these");

int view_names_init(struct tile_view *v)
{
	static const char *const people[IDLE_CAUSES] = {
		[IDLE_INPUT] = "waiting for input",
		[IDLE_SYNC] = "host waits for the GPU",
		[IDLE_HOST] = "host busy",
		[IDLE_LAUNCH] = "launching",
		[IDLE_DEPENDENCY] = "waiting for others",
		[IDLE_OTHER] = "launch not recorded",
		[IDLE_COMPILE] = "compiling",
		[IDLE_CHECKPOINT] = "checkpoint",
		[IDLE_GC] = "garbage collection",
		[IDLE_ALLOC] = "allocating",
		[IDLE_CAPTURE] = "capturing a graph",
		[IDLE_WARM_UP] = "first use",
		[IDLE_PROFILER] = "the profiler",
	};

	struct name *n;

	for (size_t i = 0; i < IDLE_CAUSES; i++)
		if (!add(v, people[i]))
			return -ENOMEM;
	n = add(v, "not recorded");
	if (!n)
		return -ENOMEM;
	n->gpu = true; /* so that it does not get the class of steps */
	n->of_gpu = TILE_OTHER;
	return 0;
}

static int learn(struct tile_view *v, uint32_t source)
{
	struct name *n = add(v, source ? v->feed->text(v->feed, source) : "");
	enum call call;

	if (!n)
		return -ENOMEM;
	n->source = source;
	n->shown = v->show ? v->show(n->text) : n->text;
	n->of_gpu = group_of[names_kernel_text(v->classes, n->shown)];
	n->mark = !strncmp(n->text, INTO_COMM, strlen(INTO_COMM));
	n->aside = !strcmp(n->text, INTO_SMS) || !strcmp(n->text, INTO_MEMORY);
	call = names_call_text(v->classes, n->text);
	n->launches = call == CALL_LAUNCH || call == CALL_COPY || call == CALL_COPY_WAITS ||
		      call == CALL_MEMSET;
	n->waits = idle_is_sync(EVENT_API, call);
	n->call = (uint8_t)call;
	n->range = (uint8_t)names_range_text(v->classes, n->text);
	v->by_source[source] = (uint32_t)v->names;
	return 0;
}

int view_name(struct tile_view *v, uint32_t source, uint32_t kind, uint32_t *out)
{
	struct name *n;
	int err;

	source = source < FEED_IDS ? source : 0;
	if (vec_room0(&v->by_source, &v->sources, (size_t)source + 1, sizeof(*v->by_source)) < 0)
		return -ENOMEM;
	err = v->by_source[source] ? 0 : learn(v, source);
	if (err)
		return err;
	*out = v->by_source[source] - 1;
	n = &v->name[*out];
	n->gpu |= kind_is_gpu(kind);
	n->copy |= kind == EVENT_COPY || kind == EVENT_MEMSET;
	return 0;
}

const char *view_shown(const struct tile_view *v, uint32_t name)
{
	return v->name[name].shown;
}

enum tile_class view_class(const struct tile_view *v, const struct piece *p)
{
	const struct name *n = &v->name[p->name];

	if (p->name == NAME_UNRECORDED)
		return TILE_OTHER;
	if (!kind_is_gpu(p->kind))
		return TILE_HOST;
	if (p->comm || p->kind == EVENT_COLLECTIVE)
		return TILE_COMM;
	return p->kind == EVENT_COPY || p->kind == EVENT_MEMSET ? TILE_COPY : n->of_gpu;
}

int tile_name(struct tile_view *v, uint32_t name, struct tile_name *out)
{
	int err = -ENOENT;

	pthread_mutex_lock(&v->lock);
	if (name < v->names) {
		const struct name *n = &v->name[name];

		out->text = n->shown;
		out->class = !n->gpu ? TILE_HOST : n->copy ? TILE_COPY : (enum tile_class)n->of_gpu;
		err = 0;
	}
	pthread_mutex_unlock(&v->lock);
	return err;
}
