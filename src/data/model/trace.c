/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - grows, indexes and frees a trace.
 *
 * Events take nearly all of its memory: their array is a mapping that doubles by mremap(), so
 * nothing is copied, and pages that are not written yet are not resident.
 */
#include "model/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "base/vec.h"
#include "model/trace_priv.h"

#define CHUNK_BYTES  (256u << 10)
#define EVENTS_FIRST 4096u

typedef bool same_fn(const struct trace *t, const void *key, uint32_t id);

/* --- arrays --- */

static int remap(void *array, size_t from, size_t to)
{
	void **p = array, *q;

	if (*p)
		q = mremap(*p, from, to, MREMAP_MAYMOVE);
	else
		q = mmap(NULL, to, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (q == MAP_FAILED)
		return -ENOMEM;
	if (to >= TRACE_HUGE_FROM)
		(void)madvise(q, to, MADV_HUGEPAGE); /* a fault for each 2 MB instead of 4 KB */
	*p = q;
	return 0;
}

static void unmap(void *p, size_t len)
{
	if (p)
		munmap(p, len);
}

static int grow_events(struct trace *t)
{
	struct trace_priv *pr = t->priv;
	size_t cap = pr->cap_event, to = cap ? cap * 2 : EVENTS_FIRST;

	if (t->event_comm &&
	    remap(&t->event_comm, cap * sizeof(*t->event_comm), to * sizeof(*t->event_comm)) < 0)
		return -ENOMEM;
	if (remap(&t->event, cap * sizeof(*t->event), to * sizeof(*t->event)) < 0) {
		/* The comms are larger than they need be; shrinking cannot fail. */
		if (t->event_comm)
			(void)remap(&t->event_comm, to * sizeof(*t->event_comm),
				    cap * sizeof(*t->event_comm));
		return -ENOMEM;
	}
	pr->cap_event = to;
	return 0;
}

/* --- indexes --- */

static bool find(const struct trace *t, const struct lookup *x, uint64_t hash, const void *key,
		 same_fn *same, uint32_t *id)
{
	for (size_t at = 0; lookup_next(x, hash, &at, id);)
		if (same(t, key, *id))
			return true;
	return false;
}

/* --- names --- */

struct text {
	const char *s;
	size_t len;
};

static bool same_name(const struct trace *t, const void *key, uint32_t id)
{
	const struct text *k = key;

	return t->name[id].len == k->len && !memcmp(t->name[id].s, k->s, k->len);
}

/* A copy of the text that lives as long as the trace. */
static const char *keep(struct trace_priv *pr, const char *s, size_t len)
{
	char *to;

	if (!pr->arena || pr->arena_cap - pr->arena_used < len + 1) {
		char *chunk = malloc(CHUNK_BYTES);

		if (!chunk)
			return NULL;
		memcpy(chunk, &pr->arena, sizeof(pr->arena));
		pr->arena = chunk;
		pr->arena_used = sizeof(pr->arena);
		pr->arena_cap = CHUNK_BYTES;
	}
	to = pr->arena + pr->arena_used;
	memcpy(to, s, len);
	to[len] = '\0';
	pr->arena_used += len + 1;
	return to;
}

int trace_name(struct trace *t, const char *s, size_t len, uint32_t *id)
{
	struct text key = { s, len > TRACE_NAME_BYTES ? TRACE_NAME_BYTES : len };
	struct trace_priv *pr = t->priv;
	uint64_t hash;

	if (!len) {
		*id = 0;
		return 0;
	}
	hash = XXH3_64bits(s, key.len);
	if (find(t, &pr->by_name, hash, &key, same_name, id))
		return 0;
	if (t->names >= TRACE_NAMES_MAX) {
		t->names_over++;
		*id = TRACE_NAME_OTHER;
		return 0;
	}
	s = keep(pr, s, key.len);
	if (!s || vec_more(&t->name, t->names, sizeof(*t->name)) < 0 ||
	    lookup_put(&pr->by_name, hash, (uint32_t)t->names) < 0)
		return -ENOMEM;
	t->name[t->names] = (struct trace_text){ s, (uint32_t)key.len };
	*id = (uint32_t)t->names++;
	return 0;
}

/* --- what a trace holds besides events --- */

static bool same_process(const struct trace *t, const void *key, uint32_t id)
{
	const struct trace_process *k = key, *p = &t->process[id];

	return p->pid == k->pid && p->file == k->file;
}

static bool same_device(const struct trace *t, const void *key, uint32_t id)
{
	const struct trace_device *k = key, *d = &t->device[id];

	return d->device == k->device && d->process == k->process;
}

static bool same_track(const struct trace *t, const void *key, uint32_t id)
{
	const struct trace_track *k = key, *l = &t->track[id];

	return l->stream == k->stream && l->process == k->process && l->device == k->device &&
	       l->context == k->context;
}

static bool same_geo(const struct trace *t, const void *key, uint32_t id)
{
	const struct geo *k = key, *g = &t->geo[id];

	return !memcmp(k->grid, g->grid, sizeof(g->grid)) &&
	       !memcmp(k->block, g->block, sizeof(g->block)) && k->regs == g->regs &&
	       k->smem_static == g->smem_static && k->smem_dynamic == g->smem_dynamic;
}

/* Finds the key, or puts it at the end of its array. */
static int find_or_add(struct trace *t, struct lookup *x, uint64_t hash, const void *key,
		       same_fn *same, void *array, size_t *n, size_t size, uint32_t *id)
{
	if (find(t, x, hash, key, same, id))
		return 0;
	if (*n >= UINT32_MAX - 1 || vec_more(array, *n, size) < 0 ||
	    lookup_put(x, hash, (uint32_t)*n) < 0)
		return -ENOMEM;
	memcpy(*(char **)array + *n * size, key, size);
	*id = (uint32_t)(*n)++;
	return 0;
}

int trace_process(struct trace *t, uint32_t file, uint64_t pid, uint32_t *id)
{
	struct trace_process key = { .file = file, .pid = pid };
	uint64_t k[2] = { pid, file };

	return find_or_add(t, &t->priv->by_process, XXH3_64bits(k, sizeof(k)), &key, same_process,
			   &t->process, &t->processes, sizeof(key), id);
}

int trace_device(struct trace *t, uint32_t process, uint32_t device, uint32_t *id)
{
	struct trace_device key = { .file = t->process[process].file,
				    .process = process,
				    .device = device };
	uint32_t k[2] = { process, device };

	return find_or_add(t, &t->priv->by_device, XXH3_64bits(k, sizeof(k)), &key, same_device,
			   &t->device, &t->devices, sizeof(key), id);
}

int trace_track(struct trace *t, const struct trace_track *l, uint32_t *id)
{
	uint64_t k[3] = { l->stream, (uint64_t)l->process << 32 | l->device, l->context };
	int err;

	err = find_or_add(t, &t->priv->by_track, XXH3_64bits(k, sizeof(k)), l, same_track,
			  &t->track, &t->tracks, sizeof(*l), id);
	if (!err && l->name)
		t->track[*id].name = l->name;
	return err;
}

int trace_geo(struct trace *t, const struct geo *g, uint32_t *id)
{
	uint32_t k[9];
	struct geo *made;
	int err;

	memcpy(k, g->grid, sizeof(g->grid));
	memcpy(k + 3, g->block, sizeof(g->block));
	k[6] = g->regs;
	k[7] = g->smem_static;
	k[8] = g->smem_dynamic;
	err = find_or_add(t, &t->priv->by_geo, XXH3_64bits(k, sizeof(k)), g, same_geo, &t->geo,
			  &t->geos, sizeof(*g), id);
	if (!err) {
		made = &t->geo[*id];
		made->id = *id;
	}
	return err;
}

int trace_file_add(struct trace *t, const char *path, uint32_t *id)
{
	char *copy = strdup(path);

	if (!copy || vec_more(&t->file, t->files, sizeof(*t->file)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	t->file[t->files] = (struct trace_file){
		.path = copy, .rank = TRACE_NO_RANK, .broke_at = UINT64_MAX, .tick_ns = 1
	};
	*id = (uint32_t)t->files++;
	return 0;
}

int trace_comm_add(struct trace *t, const struct trace_comm *c, uint32_t *id)
{
	if (vec_more(&t->comm, t->comms, sizeof(*t->comm)) < 0)
		return -ENOMEM;
	t->comm[t->comms] = *c;
	*id = (uint32_t)t->comms++;
	return 0;
}

int trace_stack_add(struct trace *t, const struct stack_frame *f, size_t n, uint32_t *id)
{
	struct trace_priv *pr = t->priv;
	size_t at = t->stacks ? t->stacks : 1; /* 0 is none */

	if (n > STACK_FRAMES_MAX)
		n = STACK_FRAMES_MAX;
	if (at >= UINT32_MAX ||
	    vec_room0(&t->stack, &pr->cap_stack, at + 1, sizeof(*t->stack)) < 0 ||
	    vec_room(&t->frame, &pr->cap_frame, t->frames + n, sizeof(*t->frame)) < 0)
		return -ENOMEM;
	if (n)
		memcpy(t->frame + t->frames, f, n * sizeof(*f));
	t->stack[at] = (struct trace_stack){ t->frames, (uint32_t)n };
	t->frames += n;
	t->stacks = at + 1;
	*id = (uint32_t)at;
	return 0;
}

/* --- events --- */

int trace_add(struct trace *t, const struct event *e, uint32_t comm)
{
	struct trace_priv *pr = t->priv;
	int err;

	if (t->events >= pr->cap_event) {
		err = grow_events(t);
		if (err < 0)
			return err;
	}
	if (comm && !t->event_comm) {
		err = remap(&t->event_comm, 0, pr->cap_event * sizeof(*t->event_comm));
		if (err < 0)
			return err;
	}
	if (t->event_comm)
		t->event_comm[t->events] = comm;
	t->event[t->events++] = *e;
	pr->sealed = false;
	return pr->batch && t->events >= pr->batch ? trace_flush(t) : 0;
}

void trace_clear(struct trace *t, size_t comms)
{
	t->events = 0;
	t->comms = comms < t->comms ? comms : t->comms;
	t->priv->sealed = false;
}

int trace_drop(struct trace *t, size_t comms)
{
	trace_clear(t, comms);
	unmap(t->event, t->priv->cap_event * sizeof(*t->event));
	unmap(t->event_comm, t->priv->cap_event * sizeof(*t->event_comm));
	t->event = NULL;
	t->event_comm = NULL;
	t->priv->cap_event = 0;
	return trace_seal(t);
}

void trace_stream(struct trace *t, size_t batch, trace_batch_fn *fn, void *arg)
{
	t->priv->batch = batch;
	t->priv->batch_fn = fn;
	t->priv->batch_arg = arg;
}

int trace_flush(struct trace *t)
{
	struct trace_priv *pr = t->priv;
	size_t n = t->events;

	int err;

	if (!pr->batch || !n)
		return 0;
	t->events = 0;
	err = pr->batch_fn(pr->batch_arg, t, t->event, t->event_comm, n);
	t->comms = 0; /* they were of these events */
	return err;
}

/* --- the whole --- */

int trace_new(struct trace **out)
{
	struct trace *t = calloc(1, sizeof(*t));
	uint32_t id;

	if (!t)
		return -ENOMEM;
	t->priv = calloc(1, sizeof(*t->priv));
	if (!t->priv || vec_more(&t->name, 0, sizeof(*t->name)) < 0) {
		trace_free(t);
		return -ENOMEM;
	}
	t->name[t->names++] = (struct trace_text){ "", 0 };
	if (trace_name(t, "(other)", strlen("(other)"), &id) < 0 ||
	    trace_geo(t, &(struct geo){ 0 }, &id) < 0) {
		trace_free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void trace_free(struct trace *t)
{
	struct trace_priv *pr = t ? t->priv : NULL;

	if (pr) {
		while (pr->arena) {
			char *chunk = pr->arena;

			memcpy(&pr->arena, chunk, sizeof(pr->arena));
			free(chunk);
		}
		lookup_fini(&pr->by_name);
		lookup_fini(&pr->by_process);
		lookup_fini(&pr->by_device);
		lookup_fini(&pr->by_track);
		lookup_fini(&pr->by_geo);
		free(pr->sums.sum);
		unmap(t->event, pr->cap_event * sizeof(*t->event));
		unmap(t->event_comm, pr->cap_event * sizeof(*t->event_comm));
	}
	if (!t)
		return;
	for (size_t i = 0; i < t->files; i++)
		free(t->file[i].path);
	free(t->file);
	free(t->process);
	free(t->rolled);
	free(t->device);
	free(t->track);
	free(t->name);
	free(t->geo);
	free(t->comm);
	free(t->stack);
	free(t->frame);
	free(t->track_first);
	free(pr);
	free(t);
}
