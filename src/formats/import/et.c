/* SPDX-License-Identifier: Apache-2.0 */
/*
 * et.c - PyTorch's execution traces: what each operator was called with, but not when.
 *
 *	{"schema": "1.0.1", "nodes": [{"name": "aten::mm", "rf_id": 3, "inputs": [...],
 *	  "input_shapes": [[2, 3], []], "input_types": ["Tensor(float)", "Int"]}]}
 *	since 1.0.3: "inputs": {"values": [...], "shapes": [...], "types": [...]}, and rf_id is one of
 *	"attrs": [{"name": "rf_id", "value": 3}]
 *
 * rf_id is the External id of the profiler's trace of the same run. Operators of the traces that were
 * read before get their shapes, if they have none and the name is the same.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "import/kineto.h"

#define TEXT_MAX 4096u /* of the shapes and types of one operator */

struct et {
	const struct importing *im;
	struct json_in in;
	struct kineto_in *k; /* its row gets what kineto_shapes() reads */
	struct map op;       /* External id: the last such event + 1 */
	uint32_t *next;      /* owned: by event, the one before it with that id + 1 */
	size_t before;       /* events of other files */
	uint64_t nodes, joined;
	char dims[TEXT_MAX + JSON_PAD], types[TEXT_MAX + JSON_PAD];
};

/* Operators by their External id. */
static int index_ops(struct et *x)
{
	struct trace *t = x->im->t;

	x->before = t->events;
	if (x->before && vec_resize(&x->next, x->before, sizeof(*x->next)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < x->before; i++) {
		const struct event *e = &t->event[i];
		uint64_t *at;

		x->next[i] = 0;
		if (e->kind != EVENT_RANGE || e->a != TRACE_OP || !e->corr || trace_op_shapes(e))
			continue;
		at = map_at(&x->op, e->corr);
		if (!at)
			return -ENOMEM;
		x->next[i] = (uint32_t)*at;
		*at = i + 1;
	}
	return 0;
}

static bool rf_id(struct json_tok node, int64_t *id)
{
	struct json_tok attrs, a, v;
	const char *p;

	if (json_in_member(node, "rf_id", &v))
		return json_tok_i64(v, id);
	if (!json_in_member(node, "attrs", &attrs) || *attrs.s != '[')
		return false;
	for (p = attrs.s + 1; json_item(&p, attrs.s + attrs.len, &a);)
		if (json_in_member(a, "name", &v) && json_tok_is(json_tok_text(v), "rf_id"))
			return json_in_member(a, "value", &v) && json_tok_i64(v, id);
	return false;
}

/* "Tensor(c10::BFloat16)" is "c10::BFloat16" to Kineto; what is no tensor has no type there. */
static struct json_tok type_of(struct json_tok t)
{
	t = json_tok_text(t);
	if (t.len < 8 || memcmp(t.s, "Tensor(", 7) || t.s[t.len - 1] != ')')
		return (struct json_tok){ "", 0 };
	return (struct json_tok){ t.s + 7, t.len - 8 };
}

static bool put(char *to, size_t *len, const char *s, size_t n)
{
	if (*len + n > TEXT_MAX)
		return false;
	memcpy(to + *len, s, n);
	*len += n;
	return true;
}

/* Both lists as Kineto writes them. */
static bool convert(struct et *x, struct json_tok shapes, struct json_tok types)
{
	const char *p = shapes.s + 1, *q = types.s + 1;
	struct json_tok shape, type;
	size_t dims = 0, kinds = 0;
	bool fits = put(x->dims, &dims, "[", 1) && put(x->types, &kinds, "[", 1), tensor = false;

	while (fits && json_item(&p, shapes.s + shapes.len, &shape) &&
	       json_item(&q, types.s + types.len, &type)) {
		type = type_of(type);
		tensor |= type.len != 0;
		if (!type.len)
			shape = (struct json_tok){ "[]", 2 };
		fits = put(x->dims, &dims, shape.s, shape.len) && put(x->dims, &dims, ",", 1) &&
		       put(x->types, &kinds, "\"", 1) && put(x->types, &kinds, type.s, type.len) &&
		       put(x->types, &kinds, "\",", 2);
	}
	if (!fits || !tensor)
		return false;
	x->dims[dims - 1] = x->types[kinds - 1] = ']';
	memset(x->dims + dims, '"', JSON_PAD);
	memset(x->types + kinds, '"', JSON_PAD);
	x->k->row.have |= 1ull << F_DIMS | 1ull << F_TYPES;
	x->k->row.val[F_DIMS] = (struct json_tok){ x->dims, dims };
	x->k->row.val[F_TYPES] = (struct json_tok){ x->types, kinds };
	return true;
}

static int node(struct et *x, struct json_tok v)
{
	struct trace *t = x->im->t;
	struct json_tok name, in, shapes, types, values = { "", 0 };
	uint32_t shape = 0, id;
	int64_t rf;
	int err;

	if (!json_in_member(v, "name", &name) || !rf_id(v, &rf) || rf <= 0 || rf > UINT32_MAX ||
	    !map_get(&x->op, (uint64_t)rf) || !json_in_member(v, "inputs", &in))
		return 0;
	if (*in.s == '{'
		    ? !json_in_member(in, "shapes", &shapes) || !json_in_member(in, "types", &types)
		    : !json_in_member(v, "input_shapes", &shapes) ||
			      !json_in_member(v, "input_types", &types))
		return 0;
	if (*in.s == '[')
		values = in;
	else
		(void)json_in_member(in, "values", &values);
	x->k->row.have = 1ull << F_NAME | (values.len ? 1ull << F_CONCRETE : 0);
	x->k->row.val[F_NAME] = name;
	x->k->row.val[F_CONCRETE] = values;
	if (*shapes.s != '[' || *types.s != '[' || !convert(x, shapes, types))
		return 0;
	err = kineto_name(x->k, name, &id);
	err = err ? err : kineto_shapes(x->k, &shape);
	for (uint64_t at = map_get(&x->op, (uint64_t)rf); !err && shape && at;
	     at = x->next[at - 1]) {
		struct event *e = &t->event[at - 1];

		if (e->name != id || trace_op_shapes(e))
			continue;
		e->b |= (uint64_t)shape << 33;
		x->joined++;
	}
	return err;
}

static int read_nodes(struct et *x)
{
	struct json_tok v;
	int r = json_in_enter(&x->in, '['), err;

	while (r > 0 && (r = json_in_item(&x->in)) > 0) {
		r = json_in_value(&x->in, &v);
		if (r > 0) {
			x->nodes++;
			err = *v.s == '{' ? node(x, v) : 0;
			r = err ? err : 1;
		}
	}
	return r;
}

static int read_document(struct et *x)
{
	char key[64];
	int r = json_in_enter(&x->in, '{');

	while (r > 0 && (r = json_in_key(&x->in, key, sizeof(key))) > 0) {
		r = strcmp(key, "nodes") ? json_in_skip(&x->in) : read_nodes(x);
		r = r < 0 ? r : 1;
	}
	return r;
}

static int verdict(struct et *x, int err)
{
	const struct importing *im = x->im;

	if (err == -ENOMEM || (err < 0 && err != -ENODATA && err != -EBADMSG && err != -EMSGSIZE))
		return import_say(im->why, err, "%s: %s", im->path, strerror(-err));
	if (err < 0)
		return import_say(im->why, -EMEDIUMTYPE,
				  "%s: a PyTorch execution trace that is damaged at byte %llu",
				  im->path, (unsigned long long)json_in_at(&x->in));
	if (x->joined)
		return 1;
	if (!x->before)
		return import_say(im->why, -EMEDIUMTYPE,
				  "%s: not a trace: a PyTorch execution trace, which has no times; "
				  "give aon what torch.profiler wrote of the same run "
				  "(*.pt.trace.json) before it",
				  im->path);
	return import_say(im->why, -EMEDIUMTYPE,
			  "%s: a PyTorch execution trace of another run: no operator of the files "
			  "before it lacks shapes and has its rf_id and name",
			  im->path);
}

int et_import(const struct importing *im, struct source *src)
{
	struct et *x = calloc(1, sizeof(*x));
	int err = x ? 0 : -ENOMEM;

	if (x)
		x->k = calloc(1, sizeof(*x->k));
	if (!x || !x->k) {
		free(x);
		return import_say(im->why, -ENOMEM, "%s: out of memory", im->path);
	}
	x->im = x->k->im = im;
	x->k->t = im->t;
	err = json_in_init(&x->in, src, im->o ? im->o->window : 0);
	err = err ? err : index_ops(x);
	err = err ? err : read_document(x);
	err = verdict(x, err);
	json_in_fini(&x->in);
	map_fini(&x->op);
	free(x->next);
	free(x->k);
	free(x);
	return err;
}
