/* SPDX-License-Identifier: Apache-2.0 */
/* offset_trace.c - aligns the clocks of the stores that make up a trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "insight/insight.h"
#include "insight/offset.h"
#include "model/event.h"
#include "model/trace.h"

#define ENDS_MAX 1000000u

/* Files of one store are of one node; -1: a file does not say what its clock is. */
static int64_t number_nodes(const struct trace *t, uint32_t *node)
{
	uint32_t nodes = 0;

	for (size_t i = 0; i < t->files; i++) {
		size_t k = 0;

		if (!t->file[i].wall_offset_ns)
			return -1;
		while (k < i && strcmp(t->file[k].path, t->file[i].path))
			k++;
		node[i] = k < i ? node[k] : nodes++;
	}
	return nodes;
}

static size_t gather(const struct trace *t, const uint32_t *node, struct offset_end *e, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < t->events && n < max; i++) {
		const struct event *ev = &t->event[i];
		uint32_t comm = t->event_comm ? t->event_comm[i] : 0;
		const struct trace_comm *c = comm ? &t->comm[comm - 1] : NULL;
		uint32_t file;

		if (!c || !c->sequence || !ev->dur_ns || !waits_for_all(trace_text(t, c->name)))
			continue;
		file = t->process[t->track[ev->track].process].file;
		e[n++] = (struct offset_end){
			hash_mix(hash_mix(hash_mix(c->sequence, c->group), c->name), c->size),
			node[file],
			(int64_t)(ev->start_ns + ev->dur_ns) + t->file[file].wall_offset_ns
		};
	}
	return n;
}

int offset_trace(struct trace *t, struct offset_most *most)
{
	uint32_t *node = calloc(t->files + 1, sizeof(*node));
	int64_t nodes = node ? number_nodes(t, node) : -1;
	struct offset *o = NULL;
	struct offset_end *e = NULL;
	int err = node ? 0 : -ENOMEM;

	*most = (struct offset_most){ 0 };
	if (nodes > 1) {
		size_t max = t->events < ENDS_MAX ? t->events : ENDS_MAX;

		o = calloc((size_t)nodes, sizeof(*o));
		e = malloc((max + 1) * sizeof(*e));
		err = o && e ? offset_find(o, (uint32_t)nodes, e, gather(t, node, e, max))
			     : -ENOMEM;
	}
	for (size_t i = 0; o && !err && i < t->files; i++) {
		const struct offset *x = &o[node[i]];

		/* What is within the error is no difference that is known. */
		if (!x->known || llabs(x->off_ns) <= x->err_ns)
			continue;
		t->file[i].wall_offset_ns -= x->off_ns;
		most->err_ns = x->err_ns > most->err_ns ? x->err_ns : most->err_ns;
		most->off_ns = llabs(x->off_ns) > most->off_ns ? llabs(x->off_ns) : most->off_ns;
	}
	free(node);
	free(o);
	free(e);
	return err;
}
