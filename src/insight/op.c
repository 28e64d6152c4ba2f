/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.c - operators and modules of a framework by their time on the host, and the work that shapes
 * tell of.
 *
 * An operator of the backward pass lies in no module. It has the number of the operator that it is
 * the gradient of: the last one that began with that number, as those before it only looked at the
 * counter. Work is an operator's whose formula is known, and not again that of those inside it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "insight/insight.h"
#include "insight/map.h"
#include "theory/op_work.h"

#define ENGINE "autograd::engine::evaluate_function: "

/* --- what encloses what --- */

static bool is_op(const struct event *e)
{
	return e->kind == EVENT_RANGE && e->a == TRACE_OP;
}

/* The operator around an event, + 1. */
static uint32_t op_around(const struct insight *in, uint32_t event)
{
	uint32_t up = in->link[event];

	while (up && !is_op(&in->t->event[up - 1]))
		up = in->link[up - 1];
	return up;
}

static uint64_t sequence_key(const struct insight *in, size_t event)
{
	const struct event *e = &in->t->event[event];

	return (uint64_t)in->t->lane[e->lane].process << 32 | trace_op_sequence(e);
}

static int link_forward(const struct insight *in, struct map *forward)
{
	int err = 0;

	for (size_t i = 0; i < in->t->events && !err; i++) {
		const struct event *e = &in->t->event[i];
		uint32_t module;

		if (!is_op(e) || trace_op_backward(e) || !trace_op_sequence(e))
			continue;
		module = insight_module(in, (uint32_t)i);
		err = map_put(forward, sequence_key(in, i),
			      module == NO_EVENT ? NO_EVENT : module + 1);
	}
	return err;
}

static void link_backward(struct insight *in, const struct map *forward)
{
	for (size_t i = 0; i < in->t->events; i++) {
		const struct event *e = &in->t->event[i];
		uint32_t module, around;

		if (!is_op(e) || !trace_op_backward(e) || !trace_op_sequence(e))
			continue;
		module = map_get(forward, sequence_key(in, i));
		if (!module || module == NO_EVENT)
			continue;
		in->through[i] = module;
		/* What the engine does for the node, such as to add gradients up. */
		around = op_around(in, (uint32_t)i);
		if (around && !strncmp(trace_text(in->t, in->t->event[around - 1].name), ENGINE,
				       strlen(ENGINE)))
			in->through[around - 1] = module;
	}
}

static int link_modules(struct insight *in, bool backward)
{
	struct map forward = { 0 };
	int err;

	if (!backward)
		return 0;
	err = link_forward(in, &forward);
	if (!err && forward.used) {
		in->through = calloc(in->t->events + 1, sizeof(*in->through));
		if (in->through)
			link_backward(in, &forward);
		else
			err = -ENOMEM;
	}
	map_fini(&forward);
	return err;
}

/* --- rows --- */

struct build {
	struct insight *in;
	struct map row[HOST_ROLLS]; /* file and name: index + 1 */
	size_t cap[HOST_ROLLS];
	struct map known;     /* name and shapes: index + 1 of */
	struct op_work *work; /* owned; flops UINT64_MAX: no formula */
	size_t works, work_cap;
	uint8_t *has_work; /* owned, by event: it or an operator around it has */
};

static struct insight_host_row *row_of(struct build *b, enum insight_host_by by, uint32_t event)
{
	struct insight_host_table *tab = &b->in->on_host[by];
	const struct trace *t = b->in->t;
	const struct event *e = &t->event[event];
	uint32_t file = t->process[t->lane[e->lane].process].file;
	uint64_t key = (uint64_t)file << 32 | e->name;
	uint32_t at = map_get(&b->row[by], key);

	if (at)
		return &tab->row[at - 1];
	if (tab->rows == b->cap[by]) {
		size_t cap = b->cap[by] ? 2 * b->cap[by] : 64;
		void *row = realloc(tab->row, cap * sizeof(*tab->row));

		if (!row)
			return NULL;
		tab->row = row;
		b->cap[by] = cap;
	}
	if (map_put(&b->row[by], key, (uint32_t)tab->rows + 1))
		return NULL;
	tab->row[tab->rows] = (struct insight_host_row){ .rank = t->file[file].rank,
							 .file = file,
							 .name = e->name };
	return &tab->row[tab->rows++];
}

/* NULL: no formula, or no memory. */
static const struct op_work *work_of(struct build *b, const struct event *e)
{
	uint64_t key = (uint64_t)e->name << 32 | trace_op_shapes(e);
	uint32_t at = map_get(&b->known, key);
	struct op_shapes shapes;

	if (!trace_op_shapes(e))
		return NULL;
	if (!at) {
		struct op_work w = { UINT64_MAX, 0 };

		if (b->works == b->work_cap) {
			size_t cap = b->work_cap ? 2 * b->work_cap : 64;
			void *work = realloc(b->work, cap * sizeof(*b->work));

			if (!work)
				return NULL;
			b->work = work;
			b->work_cap = cap;
		}
		if (!op_shapes_parse(&shapes, trace_text(b->in->t, trace_op_shapes(e))))
			op_work(&w, trace_text(b->in->t, e->name), &shapes);
		at = (uint32_t)b->works + 1;
		if (map_put(&b->known, key, at))
			return NULL;
		b->work[b->works++] = w;
	}
	return b->work[at - 1].flops == UINT64_MAX ? NULL : &b->work[at - 1];
}

static void add_work(struct insight_host_row *r, const struct op_work *w, uint64_t ns)
{
	r->flops += w->flops;
	r->bytes += w->bytes;
	r->work_ns += ns;
}

static void less(uint64_t *from, uint64_t by)
{
	*from -= by < *from ? by : *from;
}

static int add_op(struct build *b, uint32_t i)
{
	const struct event *e = &b->in->t->event[i];
	uint32_t around = op_around(b->in, i), module = insight_module(b->in, i);
	bool inside = around && b->has_work[around - 1];
	const struct op_work *w = inside ? NULL : work_of(b, e);
	struct insight_host_row *r = row_of(b, HOST_OP, i);

	b->has_work[i] = inside || w;
	if (!r)
		return -ENOMEM;
	r->count++;
	r->total_ns += e->dur_ns;
	r->self_ns += e->dur_ns;
	if (w)
		add_work(r, w, e->dur_ns);
	r = around ? row_of(b, HOST_OP, around - 1) : NULL;
	if (r) /* a child ends in its caller, but for the clock's last digit */
		less(&r->self_ns, e->dur_ns);
	if (module == NO_EVENT)
		return 0;
	r = row_of(b, HOST_MODULE, module);
	if (!r)
		return -ENOMEM;
	if (w)
		add_work(r, w, e->dur_ns);
	if (b->in->through && b->in->through[i] && !(around && b->in->through[around - 1]))
		r->backward_ns += e->dur_ns;
	return 0;
}

static int add_module(struct build *b, uint32_t i)
{
	const struct event *e = &b->in->t->event[i];
	struct insight_host_row *r = row_of(b, HOST_MODULE, i);
	uint32_t up = b->in->link[i];

	if (!r)
		return -ENOMEM;
	r->count++;
	r->total_ns += e->dur_ns;
	r->self_ns += e->dur_ns;
	while (up && !insight_is_module(b->in, up - 1))
		up = b->in->link[up - 1];
	r = up ? row_of(b, HOST_MODULE, up - 1) : NULL;
	if (r)
		less(&r->self_ns, e->dur_ns);
	return 0;
}

static int by_file_and_time(const void *a, const void *b)
{
	const struct insight_host_row *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->self_ns + x->backward_ns != y->self_ns + y->backward_ns)
		return x->self_ns + x->backward_ns < y->self_ns + y->backward_ns ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int fill_rows(struct insight *in)
{
	struct build b = { .in = in, .has_work = calloc(in->t->events + 1, 1) };
	int err = b.has_work ? 0 : -ENOMEM;

	for (size_t i = 0; i < in->t->events && !err; i++) {
		if (is_op(&in->t->event[i]))
			err = add_op(&b, (uint32_t)i);
		else if (insight_is_module(in, (uint32_t)i))
			err = add_module(&b, (uint32_t)i);
	}
	for (size_t by = 0; by < HOST_ROLLS; by++) {
		struct insight_host_table *tab = &in->on_host[by];

		if (tab->rows)
			qsort(tab->row, tab->rows, sizeof(*tab->row), by_file_and_time);
		map_fini(&b.row[by]);
	}
	map_fini(&b.known);
	free(b.work);
	free(b.has_work);
	return err;
}

int insight_ops(struct insight *in)
{
	bool any = false, backward = false;
	int err;

	if (!in->kinds[EVENT_RANGE])
		return 0;
	for (size_t i = 0; i < in->t->events; i++) {
		const struct event *e = &in->t->event[i];

		any |= is_op(e) || insight_is_module(in, (uint32_t)i);
		backward |= is_op(e) && trace_op_backward(e);
	}
	if (!any)
		return 0;
	err = link_modules(in, backward);
	return err ? err : fill_rows(in);
}
