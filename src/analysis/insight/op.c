/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.c - operators and modules of a framework by their time on the host, and the work that follows
 * from shapes.
 *
 * An operator of the backward pass lies in no module. It carries the sequence number of its forward
 * operator: the last one that began with that number, as earlier ones only read the counter. Work
 * counts for the operator whose formula is known, and not again for the operators inside.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"

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

	return (uint64_t)in->t->track[e->track].process << 32 | trace_op_sequence(e);
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

/* --- classes of kernels --- */

static enum kclass around_class(const struct insight *in, uint32_t up)
{
	return up ? (enum kclass)in->class[up - 1] : CLASSES;
}

/* Annotations are the program's words, but for the framework's own of its optimizer. The engine of
 * the backward pass also adds gradients up. */
static enum kclass range_class(const struct insight *in, const struct event *e)
{
	enum kclass c = CLASSES;

	if (!strncmp(trace_text(in->t, e->name), ENGINE, strlen(ENGINE)))
		return CLASSES;

	if (e->kind == EVENT_RANGE && (e->a == TRACE_OP || e->a == TRACE_DEVICE_OP))
		return names_operator(in->names, e->name);
	if (e->kind == EVENT_RANGE && e->a == TRACE_USER)
		c = names_operator(in->names, e->name);
	return c == CLASS_OPTIMIZER ? c : CLASSES;
}

/* What encloses begins earlier, and is on the same track. */
static void class_track(struct insight *in, uint32_t track)
{
	const struct trace *t = in->t;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
		uint32_t up = in->link[i] <= i ? in->link[i] : 0;

		if (event_is_gpu(&t->event[i])) /* a collective of hosts */
			in->class[i] = (uint8_t)event_class(in->names, t, i);
		else
			in->class[i] = (uint8_t)class_inside(around_class(in, up),
							     range_class(in, &t->event[i]));
	}
}

/* Of GPU work: the call, or the operator itself if no call was seen; a call's operator may have been
 * found by its id. */
static enum kclass operator_of(const struct insight *in, size_t event)
{
	uint32_t up = in->link[event];

	if (in->own_op && in->own_op[event])
		return around_class(in, in->own_op[event]);
	if (up && in->t->event[up - 1].kind != EVENT_RANGE)
		up = in->link[up - 1];
	return around_class(in, up);
}

/* Whether work communicates, copies or computes is by its name alone. */
int insight_classes(struct insight *in)
{
	const struct trace *t = in->t;

	free(in->class);
	in->class = malloc(t->events + 1);
	if (!in->class)
		return -ENOMEM;
	for (uint32_t l = 0; l < t->tracks; l++)
		if (t->track[l].device == TRACK_HOST)
			class_track(in, l);
	for (uint32_t l = 0; l < t->tracks; l++)
		for (size_t i = t->track_first[l];
		     t->track[l].device != TRACK_HOST && i < t->track_first[l + 1]; i++)
			in->class[i] = (uint8_t)class_launched(event_class(in->names, t, i),
							       operator_of(in, i));
	return 0;
}

/* --- rows --- */

static struct insight_host_row *row_of(struct insight *in, enum insight_host_by by, uint32_t event)
{
	struct insight_host_table *tab = &in->on_host[by];
	struct state_ops *b = &in->x->ops;
	const struct trace *t = in->t;
	const struct event *e = &t->event[event];
	uint32_t file = t->process[t->track[e->track].process].file;
	uint64_t key = (uint64_t)file << 32 | e->name;
	uint32_t at = map_get(&b->row[by], key);

	if (at)
		return &tab->row[at - 1];
	if (vec_more(&tab->row, tab->rows, sizeof(*tab->row)) < 0)
		return NULL;
	if (map_put(&b->row[by], key, (uint32_t)tab->rows + 1))
		return NULL;
	tab->row[tab->rows] = (struct insight_host_row){ .rank = t->file[file].rank,
							 .file = file,
							 .name = e->name };
	return &tab->row[tab->rows++];
}

const struct op_work *insight_op_work(struct insight *in, const struct event *e)
{
	struct state_ops *b = &in->x->ops;
	uint64_t key = (uint64_t)e->name << 32 | trace_op_shapes(e);
	uint32_t at = map_get(&b->known, key);
	struct op_shapes shapes;

	if (!trace_op_shapes(e))
		return NULL;
	if (!at) {
		struct op_work w = { UINT64_MAX, 0 };

		if (vec_more(&b->work, b->works, sizeof(*b->work)) < 0)
			return NULL;
		if (!op_shapes_parse(&shapes, trace_text(in->t, trace_op_shapes(e))))
			op_work(&w, trace_text(in->t, e->name), &shapes);
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

/* A child may be counted before its caller, which is when it ends: self_ns may be below 0 until all
 * have been. */
static int add_op(struct insight *in, uint32_t i)
{
	struct state_ops *b = &in->x->ops;
	const struct event *e = &in->t->event[i];
	uint32_t around = op_around(in, i), module;
	bool inside = around && b->has_work[around - 1];
	const struct op_work *w = inside ? NULL : insight_op_work(in, e);
	struct insight_host_row *r;

	b->has_work[i] = inside || w;
	if (!event_ended(in, e))
		return 0;
	r = row_of(in, HOST_OP, i);
	if (!r)
		return -ENOMEM;
	r->count++;
	r->total_ns += e->dur_ns;
	r->self_ns += e->dur_ns;
	if (w)
		add_work(r, w, e->dur_ns);
	r = around ? row_of(in, HOST_OP, around - 1) : NULL;
	if (r) /* a child ends in its caller, but for the clock's last digit */
		r->self_ns -= e->dur_ns;
	module = insight_module(in, i);
	if (module == NO_EVENT)
		return 0;
	r = row_of(in, HOST_MODULE, module);
	if (!r)
		return -ENOMEM;
	if (w)
		add_work(r, w, e->dur_ns);
	if (in->through && in->through[i] && !(around && in->through[around - 1]))
		r->backward_ns += e->dur_ns;
	return 0;
}

static int add_module(struct insight *in, uint32_t i)
{
	const struct event *e = &in->t->event[i];
	uint32_t up = in->link[i];
	struct insight_host_row *r;

	if (!event_ended(in, e))
		return 0;
	r = row_of(in, HOST_MODULE, i);
	if (!r)
		return -ENOMEM;
	r->count++;
	r->total_ns += e->dur_ns;
	r->self_ns += e->dur_ns;
	while (up && !insight_is_module(in, up - 1))
		up = in->link[up - 1];
	r = up ? row_of(in, HOST_MODULE, up - 1) : NULL;
	if (r)
		r->self_ns -= e->dur_ns;
	return 0;
}

static int by_file_and_time(const void *a, const void *b)
{
	const struct insight_host_row *x = a, *y = b;

	return cmp_num(x->file, y->file) ?:
	       cmp_num(y->self_ns + y->backward_ns, x->self_ns + x->backward_ns) ?:
	       cmp_num(x->name, y->name);
}

static int fill_rows(struct insight *in)
{
	uint8_t *has_work = calloc(in->t->events + 1, 1);
	int err = has_work ? 0 : -ENOMEM;

	in->x->ops.has_work = has_work;
	for (size_t i = 0; i < in->t->events && !err; i++) {
		if (is_op(&in->t->event[i]))
			err = add_op(in, (uint32_t)i);
		else if (insight_is_module(in, (uint32_t)i))
			err = add_module(in, (uint32_t)i);
	}
	in->x->ops.has_work = NULL;
	free(has_work);
	return err;
}

int insight_ops(struct insight *in)
{
	bool any = false, backward = false;
	int err;

	free(in->through);
	in->through = NULL;
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

int insight_ops_end(struct insight *in)
{
	for (size_t by = 0; by < HOST_ROLLS; by++) {
		struct insight_host_table *tab = &in->on_host[by];

		for (size_t i = 0; i < tab->rows; i++)
			if (tab->row[i].self_ns > INT64_MAX)
				tab->row[i].self_ns = 0;
		if (tab->rows)
			qsort(tab->row, tab->rows, sizeof(*tab->row), by_file_and_time);
	}
	return 0;
}
