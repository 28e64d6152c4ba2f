/* SPDX-License-Identifier: Apache-2.0 */
/* intern.c - open addressing, linear probing, at most three quarters full. */
#include "store/intern.h"

#include <errno.h>
#include <stdlib.h>

#define CAP_MIN 64u

void intern_fini(struct intern *t)
{
	free(t->slot);
	*t = (struct intern){ 0 };
}

/* The slot that holds `hash`, or the free one where it would go. */
static struct intern_entry *probe(const struct intern *t, uint64_t hash)
{
	uint32_t i = (uint32_t)hash & (t->cap - 1);

	while (t->slot[i].id && t->slot[i].hash != hash)
		i = (i + 1) & (t->cap - 1);
	return &t->slot[i];
}

struct intern_entry *intern_find(const struct intern *t, uint64_t hash)
{
	struct intern_entry *e;

	if (!t->cap)
		return NULL;
	e = probe(t, hash);
	return e->id ? e : NULL;
}

/* Moves all entries but those to drop to a table of `cap` slots. */
static int rebuild(struct intern *t, uint32_t cap, intern_fn *drop, void *arg)
{
	struct intern to = { .slot = calloc(cap, sizeof(*to.slot)), .cap = cap };

	if (!to.slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->cap; i++) {
		if (!t->slot[i].id || (drop && drop(arg, &t->slot[i])))
			continue;
		*probe(&to, t->slot[i].hash) = t->slot[i];
		to.count++;
	}
	free(t->slot);
	*t = to;
	return 0;
}

int intern_add(struct intern *t, uint64_t hash, uint32_t id, uint32_t owner)
{
	int err;

	if (t->count >= t->cap / 4 * 3) {
		err = rebuild(t, t->cap ? t->cap * 2 : CAP_MIN, NULL, NULL);
		if (err < 0)
			return err;
	}
	*probe(t, hash) = (struct intern_entry){ .hash = hash, .id = id, .owner = owner };
	t->count++;
	return 0;
}

void intern_drop(struct intern *t, intern_fn *fn, void *arg)
{
	/* Without memory they stay: then the table is only larger than it need be. */
	if (t->cap)
		(void)rebuild(t, t->cap, fn, arg);
}
