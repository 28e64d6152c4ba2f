/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - functions that JAX or torch.compile compiled: how often, and how long it took. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "insight/state.h"

/* What compilations of the probes are called. */
static const char *const compile_word[] = { "jax compile: ", "torch.compile " };

const char *insight_compiled(const struct trace *t, uint32_t name)
{
	const char *text = trace_text(t, name);

	for (size_t i = 0; i < sizeof(compile_word) / sizeof(compile_word[0]); i++)
		if (!strncmp(text, compile_word[i], strlen(compile_word[i])))
			return text + strlen(compile_word[i]);
	return NULL;
}

static struct insight_compile *row_of(struct insight *in, const struct event *e)
{
	uint32_t process = in->t->track[e->track].process;
	struct insight_compile *c;

	for (size_t i = 0; i < in->compiles; i++)
		if (in->compile[i].name == e->name && in->compile[i].process == process)
			return &in->compile[i];
	if (vec_more(&in->compile, in->compiles, sizeof(*c)) < 0)
		return NULL;
	c = &in->compile[in->compiles++];
	*c = (struct insight_compile){ .process = process,
				       .name = e->name,
				       .first_start_ns = UINT64_MAX };
	return c;
}

static int add(struct insight *in, const struct event *e)
{
	struct insight_compile *c = row_of(in, e);

	if (!c)
		return -ENOMEM;
	c->count++;
	c->ns += e->dur_ns;
	if (e->start_ns < c->first_start_ns) {
		c->first_start_ns = e->start_ns;
		c->first_ns = e->dur_ns;
	}
	if (c->count == 1 || e->start_ns > c->last.start_ns)
		c->last = *e;
	return 0;
}

int insight_compiles(struct insight *in)
{
	uint8_t *is = NULL;
	int err = 0;

	for (uint32_t i = 0; i < in->t->names && !err; i++) {
		if (!insight_compiled(in->t, i))
			continue;
		is = is ? is : calloc(in->t->names, 1);
		err = is ? 0 : -ENOMEM;
		if (is)
			is[i] = 1;
	}
	for (size_t i = 0; is && i < in->t->events && !err; i++) {
		const struct event *e = &in->t->event[i];

		if (e->kind == EVENT_RANGE && e->name < in->t->names && is[e->name] &&
		    event_counts(e))
			err = add(in, e);
	}
	free(is);
	return err;
}
