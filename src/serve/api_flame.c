/* SPDX-License-Identifier: Apache-2.0 */
/* api_flame.c - GPU time by the code that asked for it: stacks added up into a tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "read/json.h"
#include "serve/analysis.h"

#define NODES_MAX 1000000u
#define NODES_OUT 5000u

struct node {
	const char *name; /* of the trace, or a text of ours */
	uint32_t parent;  /* 0: of all */
	uint32_t id;      /* in the answer, + 1 */
	int class;        /* of a kernel; -1: is none */
	uint64_t self, total;
};

struct tree {
	struct node *node; /* owned; node[0] stands for all */
	size_t n, cap;
	uint32_t *slot; /* owned: hash of parent and name -> node; 0: none */
	size_t slots;
	const struct names *names;
	bool launches;
	char *text[64]; /* owned: of names that are not the trace's */
	size_t texts;
};

static const char *keep(struct tree *t, const char *s)
{
	for (size_t i = 0; i < t->texts; i++)
		if (!strcmp(t->text[i], s))
			return t->text[i];
	if (t->texts == sizeof(t->text) / sizeof(t->text[0]))
		return "(more)";
	t->text[t->texts] = strdup(s);
	return t->text[t->texts] ? t->text[t->texts++] : "(more)";
}

static size_t slot_of(const struct tree *t, uint32_t parent, const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull + parent * 0x9e3779b97f4a7c15ull;
	size_t i;

	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3ull;
	for (i = (h ^ h >> 32) & (t->slots - 1); t->slot[i]; i = (i + 1) & (t->slots - 1)) {
		const struct node *n = &t->node[t->slot[i]];

		if (n->parent == parent && (n->name == name || !strcmp(n->name, name)))
			break;
	}
	return i;
}

static int grow(struct tree *t)
{
	size_t cap = 2 * t->cap;
	struct node *node = reallocarray(t->node, cap, sizeof(*node));
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
static uint32_t child(struct tree *t, uint32_t parent, const char *name)
{
	size_t at = slot_of(t, parent, name);

	if (t->slot[at])
		return t->slot[at];
	if (t->n == NODES_MAX || (t->n == t->cap && grow(t) < 0))
		return UINT32_MAX;
	t->node[t->n] = (struct node){ .name = name, .parent = parent, .class = -1 };
	t->slot[slot_of(t, parent, name)] = (uint32_t)t->n;
	return (uint32_t)t->n++;
}

static int tree_init(struct tree *t)
{
	t->cap = 256;
	t->slots = 4 * t->cap;
	t->n = 1;
	t->node = calloc(t->cap, sizeof(*t->node));
	t->slot = calloc(t->slots, sizeof(*t->slot));
	return t->node && t->slot ? 0 : -ENOMEM;
}

static void tree_fini(struct tree *t)
{
	free(t->node);
	free(t->slot);
	for (size_t i = 0; i < t->texts; i++)
		free(t->text[i]);
}

static int on_stack(void *arg, const char *const *frame, size_t depth, uint64_t ns, uint64_t count)
{
	struct tree *t = arg;
	uint64_t weight = t->launches ? count : ns;
	uint32_t at = 0;

	t->node[0].total += weight;
	for (size_t i = 0; i < depth; i++) {
		const char *name = frame[i];

		if (i == 0 && !strncmp(name, "rank ", 5)) /* its text is gone with this call */
			name = keep(t, name);
		at = child(t, at, name);
		if (at == UINT32_MAX)
			return -ENOMEM;
		t->node[at].total += weight;
	}
	t->node[at].self += weight;
	if (depth)
		t->node[at].class = (int)names_kernel_text(t->names, frame[depth - 1]);
	return 0;
}

/* --- what of it is told --- */

struct telling {
	struct tree *t;
	struct json *j;
	uint64_t least, folded_total;
	uint32_t *order; /* owned: nodes that are told, parents first */
	uint32_t n, folded;
};

/* Parents have lower indices than their children, so one pass in order does. */
static void choose(struct telling *x)
{
	for (uint32_t i = 1; i < x->t->n; i++) {
		struct node *n = &x->t->node[i];
		bool parent = !n->parent || x->t->node[n->parent].id;

		if (parent && n->total >= x->least && n->total && x->n < NODES_OUT) {
			x->order[x->n++] = i;
			n->id = x->n;
		} else {
			x->folded++;
			x->folded_total += n->self;
		}
	}
}

static void nodes_json(struct telling *x)
{
	struct json *j = x->j;

	json_open(j, "names", '[');
	for (uint32_t i = 0; i < x->n; i++)
		json_str(j, NULL, x->t->node[x->order[i]].name);
	json_close(j);
	json_open(j, "nodes", '[');
	for (uint32_t i = 0; i < x->n; i++) {
		const struct node *n = &x->t->node[x->order[i]];

		json_open(j, NULL, '[');
		json_u64(j, NULL, i);
		json_i64(j, NULL, n->parent ? (int64_t)x->t->node[n->parent].id - 1 : -1);
		json_u64(j, NULL, n->self);
		json_u64(j, NULL, n->total);
		json_i64(j, NULL, n->class);
		json_close(j);
	}
	json_close(j);
}

static int tell(struct tree *t, struct json *j, double share)
{
	struct telling x = { .t = t, .j = j };

	x.least = (uint64_t)(share * (double)t->node[0].total);
	x.order = calloc(t->n + 1, sizeof(*x.order));
	if (!x.order)
		return -ENOMEM;
	choose(&x);
	json_str(j, "weight", t->launches ? "launches" : "gpu");
	json_u64(j, "total", t->node[0].total);
	nodes_json(&x);
	json_open(j, "classes", '[');
	for (enum kclass c = 0; c < CLASSES; c++)
		json_str(j, NULL, class_word[c]);
	json_close(j);
	json_open(j, "folded", '{');
	json_u64(j, "n", x.folded);
	json_u64(j, "total", x.folded_total);
	json_close(j);
	free(x.order);
	return 0;
}

int api_flame(struct ask *q, struct json *j, struct answer *a)
{
	int weight = ask_choice(q, "weight", "gpu|launches"), err;
	struct tree t = { .launches = weight == 1 };
	double least = 0.001;
	struct analysis *an;

	(void)a;
	if (weight < 0 || ask_real(q, "min", 0, 1, &least) < 0)
		return -EINVAL;
	err = analysis_get(q, &an);
	if (err < 0)
		return err;
	t.names = an->in->names;
	err = tree_init(&t);
	err = err ? err : export_stacks(an->t, on_stack, &t);
	if (!err) {
		analysis_json(j, an, &q->run);
		err = tell(&t, j, least);
	}
	tree_fini(&t);
	return err;
}
