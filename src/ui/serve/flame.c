/* SPDX-License-Identifier: Apache-2.0 */
/* flame.c - stacks added up into a tree; see flame.h. */
#include "serve/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "export/export.h"
#include "insight/insight.h"
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

/* The child with that name; added if there is none. */
static uint32_t child(struct flame *t, uint32_t parent, const char *name)
{
	uint64_t hash = fnv_text(hash_mix(FNV_BASIS, parent), name);
	uint32_t i;

	for (size_t at = 0; lookup_next(&t->by_key, hash, &at, &i);) {
		const struct flame_node *n = &t->node[i];

		if (n->parent == parent && (n->name == name || !strcmp(n->name, name)))
			return i;
	}
	if (t->n == NODES_MAX || vec_more(&t->node, t->n, sizeof(*t->node)) < 0 ||
	    lookup_put(&t->by_key, hash, (uint32_t)t->n) < 0)
		return UINT32_MAX;
	t->node[t->n] = (struct flame_node){ .name = name, .parent = parent, .class = -1 };
	return (uint32_t)t->n++;
}

int flame_init(struct flame *t)
{
	*t = (struct flame){ 0 };
	if (vec_more(&t->node, 0, sizeof(*t->node)) < 0)
		return -ENOMEM;
	t->node[t->n++] = (struct flame_node){ 0 };
	return 0;
}

void flame_fini(struct flame *t)
{
	free(t->node);
	lookup_fini(&t->by_key);
	for (size_t i = 0; i < t->texts; i++)
		free(t->text[i]);
	for (size_t i = 0; i < t->labels_n; i++)
		free(t->labels[i]);
	free(t->labels);
	map_fini(&t->label);
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

		/* copied: the caller's text is valid for this call only */
		if (i == 0 && !strncmp(name, "rank ", 5))
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

/* --- samples --- */

/* "__getitem__ (dataset.py)": one label for all lines of a function. */
static const char *label_of(struct flame *f, const struct trace *t, const struct stack_frame *frame)
{
	struct stack_frame whole = *frame;
	uint64_t *at = map_at(&f->label, (uint64_t)frame->name << 32 | frame->file);
	char text[FRAME_LABEL];

	if (at && *at)
		return f->labels[*at - 1];
	whole.line = 0;
	if (!at || vec_more(&f->labels, f->labels_n, sizeof(*f->labels)) < 0)
		return NULL;
	f->labels[f->labels_n] = strdup(frame_called(t, &whole, text));
	if (!f->labels[f->labels_n])
		return NULL;
	*at = ++f->labels_n;
	return f->labels[*at - 1];
}

static int add_row(struct flame *f, const struct trace *t, const struct sample_row *r)
{
	const uint64_t weight[FLAME_WEIGHTS] = { (uint64_t)r->ns, r->count };
	struct stack_row s = trace_stack(t, r->stack);
	uint32_t at = 0;

	add(f->node[0].total, weight);
	for (uint32_t i = s.n; i-- > 0;) {
		const char *name = label_of(f, t, &s.frame[i]);

		at = name ? child(f, at, name) : UINT32_MAX;
		if (at == UINT32_MAX)
			return -ENOMEM;
		add(f->node[at].total, weight);
	}
	at = child(f, at, sample_state_word((enum sample_state)r->state));
	if (at == UINT32_MAX)
		return -ENOMEM;
	add(f->node[at].total, weight);
	add(f->node[at].self, weight);
	f->node[at].class = r->state;
	return 0;
}

int flame_samples(struct flame *f, const struct insight *in, const struct samples_want *w)
{
	struct sample_row row;
	int err = 0;

	for (size_t i = 0; i < in->samples.rows && !err; i++)
		if (samples_wanted(&in->samples.row[i], w))
			err = add_row(f, in->t, &in->samples.row[i]);
	for (size_t i = 0; i < in->t->rolleds && !err; i++)
		if (samples_rolled(in->t, &in->t->rolled[i], &row) && samples_wanted(&row, w))
			err = add_row(f, in->t, &row);
	return err;
}
