/* SPDX-License-Identifier: Apache-2.0 */
/* flame.c - stacks added up into a tree; see flame.h. */
#include "serve/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "names/class.h"

#define NODES_MAX 200000u

static const char *keep(struct flame *t, const char *s)
{
	for (size_t i = 0; i < t->texts; i++)
		if (!strcmp(t->text[i], s))
			return t->text[i];
	if (t->texts == sizeof(t->text) / sizeof(t->text[0]))
		return "(more)";
	t->text[t->texts] = strdup(s);
	return t->text[t->texts] ? t->text[t->texts++] : "(more)";
}

static size_t slot_of(const struct flame *t, uint32_t parent, const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull + parent * 0x9e3779b97f4a7c15ull;
	size_t i;

	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3ull;
	for (i = (h ^ h >> 32) & (t->slots - 1); t->slot[i]; i = (i + 1) & (t->slots - 1)) {
		const struct flame_node *n = &t->node[t->slot[i]];

		if (n->parent == parent && (n->name == name || !strcmp(n->name, name)))
			break;
	}
	return i;
}

static int grow(struct flame *t)
{
	size_t cap = 2 * t->cap;
	struct flame_node *node = reallocarray(t->node, cap, sizeof(*node));
	uint32_t *slot = calloc(4 * cap, sizeof(*slot));

	if (node)
		t->node = node;
	if (!node || !slot) {
		free(slot);
		return -ENOMEM;
	}
	free(t->slot);
	t->slot = slot;
	t->slots = 4 * cap;
	t->cap = cap;
	for (uint32_t i = 1; i < t->n; i++)
		slot[slot_of(t, node[i].parent, node[i].name)] = i;
	return 0;
}

/* The child of that name: found, or made. */
static uint32_t child(struct flame *t, uint32_t parent, const char *name)
{
	size_t at = slot_of(t, parent, name);

	if (t->slot[at])
		return t->slot[at];
	if (t->n == NODES_MAX || (t->n == t->cap && grow(t) < 0))
		return UINT32_MAX;
	t->node[t->n] = (struct flame_node){ .name = name, .parent = parent, .class = -1 };
	t->slot[slot_of(t, parent, name)] = (uint32_t)t->n;
	return (uint32_t)t->n++;
}

int flame_init(struct flame *t)
{
	*t = (struct flame){ .cap = 256 };
	t->slots = 4 * t->cap;
	t->n = 1;
	t->node = calloc(t->cap, sizeof(*t->node));
	t->slot = calloc(t->slots, sizeof(*t->slot));
	return t->node && t->slot ? 0 : -ENOMEM;
}

void flame_fini(struct flame *t)
{
	free(t->node);
	free(t->slot);
	for (size_t i = 0; i < t->texts; i++)
		free(t->text[i]);
}

static void add(uint64_t to[FLAME_WEIGHTS], const uint64_t weight[FLAME_WEIGHTS])
{
	for (size_t i = 0; i < FLAME_WEIGHTS; i++)
		to[i] += weight[i];
}

static int on_stack(void *arg, const char *const *frame, size_t depth, uint64_t ns, uint64_t count)
{
	struct flame *t = arg;
	const uint64_t weight[FLAME_WEIGHTS] = { ns, count };
	uint32_t at = 0;

	add(t->node[0].total, weight);
	for (size_t i = 0; i < depth; i++) {
		const char *name = frame[i];

		if (i == 0 && !strncmp(name, "rank ", 5)) /* its text is gone with this call */
			name = keep(t, name);
		at = child(t, at, name);
		if (at == UINT32_MAX)
			return -ENOMEM;
		add(t->node[at].total, weight);
	}
	add(t->node[at].self, weight);
	if (depth)
		t->node[at].class = (int)names_kernel_text(t->names, frame[depth - 1]);
	return 0;
}

int flame_add(struct flame *f, const struct trace *t, const struct names *n)
{
	f->names = n;
	return export_stacks(t, on_stack, f);
}
