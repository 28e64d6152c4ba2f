/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - grows, indexes and frees a trace.
 *
 * Events are nearly all of its memory: their array is a mapping that doubles by mremap(), so
 * nothing is copied and what is not written yet is not resident.
 */
#include "model/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "model/trace_priv.h"

#define CHUNK_BYTES  (256u << 10)
#define EVENTS_FIRST 4096u

typedef bool same_fn(const struct trace *t, const void *key, uint32_t id);

/* --- arrays --- */

/* Room for one more than n elements. */
static int grow(void *array, size_t *cap, size_t n, size_t size)
{
	void **p = array, *q;
	size_t to = *cap ? *cap * 2 : 16;

	if (n < *cap)
		return 0;
	q = realloc(*p, to * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = to;
	return 0;
}

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

static int index_grow(struct trace_index *x, size_t cap)
{
	uint64_t *slot = calloc(cap, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	for (size_t i = 0; i < x->cap; i++) {
		size_t to = x->slot[i] >> 32;

		if (!x->slot[i])
			continue;
		while (slot[to & (cap - 1)])
			to++;
		slot[to & (cap - 1)] = x->slot[i];
	}
	free(x->slot);
	x->slot = slot;
	x->cap = cap;
	return 0;
}

/* The id of `key`, or -1. *at is where it would go; room for it is made first. */
static int64_t index_find(const struct trace *t, struct trace_index *x, uint64_t hash,
			  const void *key, same_fn *same, size_t *at)
{
	uint64_t upper = hash >> 32 << 32;
	size_t i = hash >> 32;

	if (x->used >= x->cap / 2 && index_grow(x, x->cap ? x->cap * 2 : 64) < 0)
		return -ENOMEM;
	for (;; i++) {
		uint64_t s = x->slot[i &= x->cap - 1];

		if (!s) {
			*at = i;
			return -ENOENT;
		}
		if ((s ^ upper) >> 32 == 0 && same(t, key, (uint32_t)s - 1))
			return (uint32_t)s - 1;
	}
}

static void index_put(struct trace_index *x, size_t at, uint64_t hash, size_t id)
{
	x->slot[at] = (hash >> 32 << 32) | (uint32_t)(id + 1);
	x->used++;
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
	int64_t found;
	size_t at;

	if (!len) {
		*id = 0;
		return 0;
	}
	hash = XXH3_64bits(s, key.len);
	found = index_find(t, &pr->by_name, hash, &key, same_name, &at);
	if (found == -ENOENT && t->names >= TRACE_NAMES_MAX) {
		t->names_over++;
		found = TRACE_NAME_OTHER;
	}
	if (found != -ENOENT) {
		if (found < 0)
			return (int)found;
		*id = (uint32_t)found;
		return 0;
	}
	s = keep(pr, s, key.len);
	if (!s || grow(&t->name, &pr->cap_name, t->names, sizeof(*t->name)) < 0)
		return -ENOMEM;
	t->name[t->names] = (struct trace_text){ s, (uint32_t)key.len };
	index_put(&pr->by_name, at, hash, t->names);
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
static int find_or_add(struct trace *t, struct trace_index *x, uint64_t hash, const void *key,
		       same_fn *same, void *array, size_t *n, size_t *cap, size_t size,
		       uint32_t *id)
{
	size_t at;
	int64_t found = index_find(t, x, hash, key, same, &at);

	if (found == -ENOENT) {
		if (*n >= UINT32_MAX - 1 || grow(array, cap, *n, size) < 0)
			return -ENOMEM;
		memcpy(*(char **)array + *n * size, key, size);
		index_put(x, at, hash, *n);
		found = (int64_t)(*n)++;
	}
	if (found < 0)
		return (int)found;
	*id = (uint32_t)found;
	return 0;
}

int trace_process(struct trace *t, uint32_t file, uint64_t pid, uint32_t *id)
{
	struct trace_process key = { .file = file, .pid = pid };
	uint64_t k[2] = { pid, file };

	return find_or_add(t, &t->priv->by_process, XXH3_64bits(k, sizeof(k)), &key, same_process,
			   &t->process, &t->processes, &t->priv->cap_process, sizeof(key), id);
}

int trace_device(struct trace *t, uint32_t process, uint32_t device, uint32_t *id)
{
	struct trace_device key = { .file = t->process[process].file,
				    .process = process,
				    .device = device };
	uint32_t k[2] = { process, device };

	return find_or_add(t, &t->priv->by_device, XXH3_64bits(k, sizeof(k)), &key, same_device,
			   &t->device, &t->devices, &t->priv->cap_device, sizeof(key), id);
}

int trace_track(struct trace *t, const struct trace_track *l, uint32_t *id)
{
	uint64_t k[3] = { l->stream, (uint64_t)l->process << 32 | l->device, l->context };
	int err;

	err = find_or_add(t, &t->priv->by_track, XXH3_64bits(k, sizeof(k)), l, same_track,
			  &t->track, &t->tracks, &t->priv->cap_track, sizeof(*l), id);
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
			  &t->geos, &t->priv->cap_geo, sizeof(*g), id);
	if (!err) {
		made = &t->geo[*id];
		made->id = *id;
	}
	return err;
}

int trace_file_add(struct trace *t, const char *path, uint32_t *id)
{
	char *copy = strdup(path);

	if (!copy || grow(&t->file, &t->priv->cap_file, t->files, sizeof(*t->file)) < 0) {
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
	if (grow(&t->comm, &t->priv->cap_comm, t->comms, sizeof(*t->comm)) < 0)
		return -ENOMEM;
	t->comm[t->comms] = *c;
	*id = (uint32_t)t->comms++;
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
	if (!t->priv || grow(&t->name, &t->priv->cap_name, 0, sizeof(*t->name)) < 0) {
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
		free(pr->by_name.slot);
		free(pr->by_process.slot);
		free(pr->by_device.slot);
		free(pr->by_track.slot);
		free(pr->by_geo.slot);
		unmap(t->event, pr->cap_event * sizeof(*t->event));
		unmap(t->event_comm, pr->cap_event * sizeof(*t->event_comm));
	}
	if (!t)
		return;
	for (size_t i = 0; i < t->files; i++)
		free(t->file[i].path);
	free(t->file);
	free(t->process);
	free(t->device);
	free(t->track);
	free(t->name);
	free(t->geo);
	free(t->comm);
	free(t->track_first);
	free(pr);
	free(t);
}
