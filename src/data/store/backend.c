/* SPDX-License-Identifier: Apache-2.0 */
/* backend.c - registers backends by prefix, and builds a store from a backend's operations. */
#include "store/backend.h"

#include <errno.h>
#include <string.h>

#include "store/priv.h"

#define BACKENDS 4u

static struct {
	const char *prefix; /* borrowed */
	store_open_fn *open;
} backend[BACKENDS];

void store_backend(const char *prefix, store_open_fn *open)
{
	for (size_t i = 0; i < BACKENDS; i++) {
		if (backend[i].prefix && strcmp(backend[i].prefix, prefix) != 0)
			continue;
		backend[i].prefix = prefix;
		backend[i].open = open;
		return;
	}
}

store_open_fn *store_opener(const char *name)
{
	for (size_t i = 0; i < BACKENDS && backend[i].prefix; i++)
		if (!strncmp(name, backend[i].prefix, strlen(backend[i].prefix)))
			return backend[i].open;
	return NULL;
}

bool store_is_elsewhere(const char *name)
{
	return store_opener(name) != NULL;
}

int store_elsewhere(struct store **out, const char *name, const struct store_ops *ops, void *self)
{
	struct store *st = store_new(name);

	if (!st)
		return -ENOMEM;
	st->ops = ops;
	st->self = self;
	st->old = true; /* no node, no telemetry */
	*out = st;
	return 0;
}
