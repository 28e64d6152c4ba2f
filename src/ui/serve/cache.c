/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - see cache.h. */
#include "serve/cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "serve/serve.h"

struct entry {
	char *target, *body; /* owned; target NULL: free */
	char run[RUN_ID];
	uint64_t asof, blob, used;
	size_t len;
	const char *type;
	bool immutable;
};

struct cache {
	pthread_mutex_t lock; /* guards all members */
	struct entry entry[CACHE_ENTRIES];
	size_t bytes;
	uint64_t clock;
};

int cache_new(struct cache **out)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	*out = c;
	return 0;
}

static void drop(struct cache *c, struct entry *e)
{
	if (e->target)
		c->bytes -= e->len;
	free(e->target);
	free(e->body);
	*e = (struct entry){ .target = NULL };
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < CACHE_ENTRIES; i++)
		drop(c, &c->entry[i]);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct entry *find(struct cache *c, const struct cache_key *k)
{
	for (size_t i = 0; i < CACHE_ENTRIES; i++) {
		struct entry *e = &c->entry[i];

		if (e->target && !strcmp(e->run, k->run) && !strcmp(e->target, k->target))
			return e;
	}
	return NULL;
}

bool cache_get(struct cache *c, const struct cache_key *k, struct answer *a)
{
	struct entry *e;
	bool found = false;

	pthread_mutex_lock(&c->lock);
	e = find(c, k);
	if (e && e->asof == k->asof && e->blob == k->blob) {
		a->body = malloc(e->len + 1);
		if (a->body) {
			memcpy(a->body, e->body, e->len);
			a->body[e->len] = '\0'; /* NUL-terminated, as open_memstream() leaves it */
			a->len = e->len;
			a->type = e->type;
			a->immutable = e->immutable;
			e->used = ++c->clock;
			found = true;
		}
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

static struct entry *oldest(struct cache *c)
{
	struct entry *old = &c->entry[0];

	for (size_t i = 0; i < CACHE_ENTRIES; i++) {
		if (!c->entry[i].target)
			return &c->entry[i];
		if (c->entry[i].used < old->used)
			old = &c->entry[i];
	}
	return old;
}

/* Drops the least recently used entries until `len` bytes fit. */
static bool make_room(struct cache *c, size_t len)
{
	while (c->bytes + len > CACHE_BYTES) {
		struct entry *old = NULL;

		for (size_t i = 0; i < CACHE_ENTRIES; i++)
			if (c->entry[i].target && (!old || c->entry[i].used < old->used))
				old = &c->entry[i];
		if (!old)
			return false;
		drop(c, old);
	}
	return true;
}

void cache_put(struct cache *c, const struct cache_key *k, const struct answer *a)
{
	struct entry *e;

	if (a->len > CACHE_BYTES / 8)
		return;
	pthread_mutex_lock(&c->lock);
	e = find(c, k);
	if (e)
		drop(c, e);
	if (make_room(c, a->len)) {
		e = oldest(c);
		drop(c, e);
		e->target = strdup(k->target);
		e->body = malloc(a->len + 1);
		if (!e->target || !e->body) {
			free(e->target);
			e->target = NULL;
			drop(c, e);
		} else {
			memcpy(e->body, a->body, a->len);
			memcpy(e->run, k->run, RUN_ID);
			e->asof = k->asof;
			e->blob = k->blob;
			e->len = a->len;
			e->type = a->type;
			e->immutable = a->immutable;
			e->used = ++c->clock;
			c->bytes += a->len;
		}
	}
	pthread_mutex_unlock(&c->lock);
}
