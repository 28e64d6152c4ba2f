/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hlo_cost.c - the cost of an operation, see hlo.h. A call of exp() and the like counts as one
 * operation; HloCostAnalysis has a separate sum for these. A sum that overflows is unknown.
 */

#include "import/hlo.h"

#define OPERANDS 256u /* of an operation: of more, its cost is not known */

struct sum {
	uint64_t v;
	bool over;
};

static void plus(struct sum *s, uint64_t v)
{
	s->over |= v == UINT64_MAX || __builtin_add_overflow(s->v, v, &s->v);
}

static uint64_t product(uint64_t a, uint64_t b)
{
	return __builtin_mul_overflow(a, b, &a) ? UINT64_MAX : a;
}

static const struct hlo_inst *operand(const struct hlo_module *m, const struct hlo_inst *i,
				      uint32_t n)
{
	uint64_t id;

	return hlo_number(i->all, 36, n, &id) ? hlo_inst(m, id) : NULL;
}

/* --- products --- */

/* The sizes of a shape in the dimensions that a message lists; 0: one is not there. */
static uint64_t sizes(const struct hlo_shape *s, struct pb dims, uint32_t field)
{
	uint64_t d, p = 1;

	for (uint32_t n = 0; n < HLO_DIMS && hlo_number(dims, field, n, &d); n++) {
		if (d >= s->dims)
			return 0;
		p = product(p, s->size[d]);
	}
	return p;
}

static bool gemm_of(struct op_gemm *g, const struct hlo_shape *a, const struct hlo_shape *b,
		    uint64_t k, uint64_t batch)
{
	uint64_t share = product(k, batch);

	if (!share || share == UINT64_MAX || a->elements % share || b->elements % share ||
	    a->type == UINT32_MAX)
		return false;
	*g = (struct op_gemm){ a->elements / share, b->elements / share, k, batch, a->type };
	return g->m && g->n;
}

static bool dot(const struct hlo_module *m, const struct hlo_inst *i, struct op_gemm *g)
{
	const struct hlo_inst *a = operand(m, i, 0), *b = operand(m, i, 1);
	struct pb dims = hlo_part(i->all, 30);

	return a && b &&
	       gemm_of(g, &a->shape, &b->shape, sizes(&a->shape, dims, 1),
		       sizes(&a->shape, dims, 3));
}

/* Numbers of a list of a library call's settings, JSON: "lhs_contracting_dimensions":["1"]. */
static uint64_t sizes_said(const struct hlo_shape *s, struct pb json, const char *key)
{
	const uint8_t *p = memmem(json.p, (size_t)(json.end - json.p), key, strlen(key));
	uint64_t product_of = 1, d = 0;
	bool any = false;

	for (p = p ? p + strlen(key) : json.end; p < json.end; p++) {
		if (*p >= '0' && *p <= '9') {
			d = d < HLO_DIMS ? d * 10 + (uint64_t)(*p - '0') : d;
			any = true;
		} else if (any) {
			if (d >= s->dims)
				return 0;
			product_of = product(product_of, s->size[d]);
			any = false;
			d = 0;
		}
		if (*p == ']')
			break;
	}
	return product_of;
}

static bool library_gemm(const struct hlo_module *m, const struct hlo_inst *i, struct op_gemm *g)
{
	const struct hlo_inst *a = operand(m, i, 0), *b = operand(m, i, 1);
	struct pb json = hlo_part(i->all, 43);

	if (!a || !b || !memmem(json.p, (size_t)(json.end - json.p), "lhs_contracting", 15))
		return false;
	return gemm_of(g, &a->shape, &b->shape,
		       sizes_said(&a->shape, json, "\"lhs_contracting_dimensions\""),
		       sizes_said(&a->shape, json, "\"lhs_batch_dimensions\""));
}

static uint64_t gemm_flops(const struct op_gemm *g)
{
	return product(product(product(product(2, g->m), g->n), g->k), g->batch);
}

/* --- convolutions --- */

#define REACH_MAX 100000u /* of an output and a kernel: they are walked through */

/* In how many places of the output a point of the kernel meets the image, along one dimension. */
static uint64_t meetings(struct hlo_module *m, struct pb window, uint64_t in, uint64_t kernel,
			 uint64_t out)
{
	uint64_t v, stride, low, spread, apart, n = 0, turns = product(kernel, out);

	stride = hlo_number(window, 2, 0, &v) && v ? v : 1;
	low = hlo_number(window, 3, 0, &v) ? v : 0;
	spread = hlo_number(window, 5, 0, &v) && v ? v : 1;
	apart = hlo_number(window, 6, 0, &v) && v ? v : 1;
	if (turns > REACH_MAX || turns > m->budget || stride > REACH_MAX || spread > REACH_MAX ||
	    apart > REACH_MAX || (int64_t)low > (int64_t)REACH_MAX ||
	    (int64_t)low < -(int64_t)REACH_MAX)
		return turns; /* the edges do not matter */
	m->budget -= turns;
	for (int64_t k = 0; k < (int64_t)kernel; k++)
		for (int64_t o = 0; o < (int64_t)out; o++) {
			int64_t at = o * (int64_t)stride - (int64_t)low + k * (int64_t)spread;

			n += at >= 0 && at % (int64_t)apart == 0 &&
			     (uint64_t)(at / (int64_t)apart) < in;
		}
	return n;
}

static bool dim(const struct hlo_shape *s, struct pb numbers, uint32_t field, uint32_t i,
		uint64_t *out)
{
	uint64_t d = 0;

	/* A missing dimension is 0. */
	if (!hlo_number(numbers, field, i, &d) && i)
		return false;
	if (d >= s->dims)
		return false;
	*out = s->size[d];
	return true;
}

static uint64_t groups(const struct hlo_inst *i, uint32_t field)
{
	uint64_t v;

	return hlo_number(i->all, field, 0, &v) && v ? v : 1;
}

/* x by w gives y, whichever of them is the result. */
static uint64_t conv_flops(struct hlo_module *m, const struct hlo_inst *i,
			   const struct hlo_shape *x, const struct hlo_shape *w,
			   const struct hlo_shape *y)
{
	struct pb window = hlo_part(i->all, 15), numbers = hlo_part(i->all, 16);
	uint64_t batch, from, to, in, kernel, out, n;
	struct pb_field f;
	uint32_t d = 0;

	if (!dim(x, numbers, 7, 0, &batch) || !dim(x, numbers, 8, 0, &from) ||
	    !dim(y, numbers, 10, 0, &to))
		return UINT64_MAX;
	n = product(product(2, from / groups(i, 50)), product(to, batch / groups(i, 58)));
	while (pb_next(&window, &f)) {
		if (f.num != 1 || f.wire != 2)
			continue;
		if (!dim(x, numbers, 11, d, &in) || !dim(w, numbers, 6, d, &kernel) ||
		    !dim(y, numbers, 12, d, &out))
			return UINT64_MAX;
		n = product(n, meetings(m, f.data, in, kernel, out));
		d++;
	}
	return n;
}

static bool has_word(const struct pb *text, const char *word)
{
	return memmem(text->p, (size_t)(text->end - text->p), word, strlen(word));
}

/* Operations of a call of a library, if it is a product or a convolution. */
static uint64_t library(struct hlo_module *m, const struct hlo_inst *i, struct op_gemm *g)
{
	const struct hlo_inst *a = operand(m, i, 0), *b = operand(m, i, 1);
	struct pb target = hlo_part(i->all, 28);

	if (!a || !b)
		return UINT64_MAX;
	if (has_word(&target, "gemm") || has_word(&target, "matmul"))
		return library_gemm(m, i, g) ? gemm_flops(g) : UINT64_MAX;
	if (has_word(&target, "$convBackwardInput"))
		return conv_flops(m, i, &i->shape, &b->shape, &a->shape);
	if (has_word(&target, "$convBackwardFilter"))
		return conv_flops(m, i, &a->shape, &i->shape, &b->shape);
	if (has_word(&target, "$conv"))
		return conv_flops(m, i, &a->shape, &b->shape, &i->shape);
	return UINT64_MAX;
}

/* --- operations --- */

static uint64_t flops_of(struct hlo_module *m, const struct hlo_inst *i, struct op_gemm *g);

/* Of all operations of a computation; UINT64_MAX: not known. */
static uint64_t comp_flops(struct hlo_module *m, struct hlo_comp *c)
{
	struct sum s = { 0, false };

	if (!c || c->state == COUNTING || (c->state == COUNTED_NOT && m->depth == HLO_DEPTH))
		return UINT64_MAX;
	if (c->state == COUNTED)
		return c->known ? c->flops : UINT64_MAX;
	c->state = COUNTING;
	m->depth++;
	for (size_t n = 0; n < c->n && !s.over; n++) {
		struct op_gemm g = { 0 };

		plus(&s, flops_of(m, &m->inst[c->first + n], &g));
		if (g.k) {
			c->gemm = g;
			c->products++;
		}
	}
	m->depth--;
	c->state = COUNTED;
	c->known = !s.over;
	c->flops = s.v;
	return c->known ? s.v : UINT64_MAX;
}

static struct hlo_comp *called(struct hlo_module *m, const struct hlo_inst *i)
{
	uint64_t id;

	return hlo_number(i->all, 38, 0, &id) ? hlo_comp(m, id) : NULL;
}

static uint64_t window_size(const struct hlo_inst *i)
{
	struct pb window = hlo_part(i->all, 15);
	struct pb_field f;
	uint64_t v, n = 1;

	while (pb_next(&window, &f))
		if (f.num == 1 && f.wire == 2 && hlo_number(f.data, 1, 0, &v))
			n = product(n, v);
	return n;
}

static uint64_t log2_up(uint64_t v)
{
	return v > 1 ? 64u - (uint64_t)__builtin_clzll(v - 1) : 0;
}

static uint64_t flops_of(struct hlo_module *m, const struct hlo_inst *i, struct op_gemm *g)
{
	const struct hlo_inst *a = operand(m, i, 0), *b = operand(m, i, 1);
	uint64_t in = a ? a->shape.elements : 0, out = i->shape.elements, n;
	struct hlo_comp *c = NULL;

	switch ((enum hlo_form)i->form) {
	case HLO_FREE:
	case HLO_MOVE:
	case HLO_SLICE:
	case HLO_UPDATE:
		return 0;
	case HLO_EACH:
		return out;
	case HLO_SORT:
		return product(in, log2_up(in));
	case HLO_DOT:
		return dot(m, i, g) ? gemm_flops(g) : UINT64_MAX;
	case HLO_CONV:
		return a && b ? conv_flops(m, i, &a->shape, &b->shape, &i->shape) : UINT64_MAX;
	case HLO_CUSTOM:
		return library(m, i, g);
	case HLO_REDUCE:
		n = in > out ? in - out : 0;
		break;
	case HLO_WINDOW:
		n = product(out, window_size(i) - 1);
		break;
	case HLO_MAP:
		n = out;
		break;
	case HLO_SCATTER:
		b = operand(m, i, 2);
		n = b ? b->shape.elements : UINT64_MAX;
		break;
	case HLO_FUSION:
		n = 1;
		break;
	default:
		return UINT64_MAX;
	}
	c = called(m, i);
	n = product(n, comp_flops(m, c));
	if (n != UINT64_MAX && i->form == HLO_FUSION && c->products == 1)
		*g = c->gemm;
	return n;
}

/* --- bytes --- */

/* How much of a fusion's argument is read: the slices, if it is only sliced. */
static uint64_t read_of(struct hlo_module *m, const struct hlo_comp *c,
			const struct hlo_inst *param)
{
	struct sum s = { 0, false };

	if (c->n > m->budget)
		return param->shape.all_bytes;
	m->budget -= c->n;
	for (size_t n = 0; n < c->n; n++) {
		const struct hlo_inst *i = &m->inst[c->first + n];
		uint64_t id;

		for (uint32_t k = 0; k < OPERANDS && hlo_number(i->all, 36, k, &id); k++) {
			if (id != param->id)
				continue;
			if (i->form == HLO_SLICE && !k)
				plus(&s, i->shape.bytes);
			else if (i->form != HLO_UPDATE || k) /* it is written into */
				return param->shape.all_bytes;
		}
	}
	return s.over || s.v > param->shape.all_bytes ? param->shape.all_bytes : s.v;
}

static uint64_t written_of(const struct hlo_module *m, const struct hlo_comp *c,
			   const struct hlo_inst *fusion)
{
	const struct hlo_inst *root = hlo_inst(m, c->root), *part;

	part = root && root->form == HLO_UPDATE ? operand(m, root, 1) : NULL;
	return part ? part->shape.bytes : fusion->shape.all_bytes;
}

static void fusion_bytes(struct hlo_module *m, const struct hlo_inst *i, struct sum *s)
{
	struct hlo_comp *c = called(m, i);

	if (c && !c->has_read) {
		struct sum read = { 0, false };

		for (size_t n = 0; n < c->n; n++) {
			const struct hlo_inst *p = &m->inst[c->first + n];
			struct pb op = hlo_part(p->all, 2);

			if (pb_is(&op, "parameter"))
				plus(&read, read_of(m, c, p));
		}
		c->read = read.over ? UINT64_MAX : read.v;
		c->has_read = true;
	}
	plus(s, c ? c->read : UINT64_MAX);
	plus(s, c ? written_of(m, c, i) : UINT64_MAX);
}

static void bytes_of(struct hlo_module *m, const struct hlo_inst *i, struct sum *s)
{
	const struct hlo_inst *x;

	switch ((enum hlo_form)i->form) {
	case HLO_FUSION:
		fusion_bytes(m, i, s);
		return;
	case HLO_SLICE:
		plus(s, product(2, i->shape.bytes));
		x = operand(m, i, 1);
		plus(s, x ? x->shape.bytes : 0);
		return;
	case HLO_UPDATE:
		x = operand(m, i, 1);
		plus(s, x ? product(2, x->shape.bytes) : UINT64_MAX);
		return;
	case HLO_SCATTER:
		x = operand(m, i, 2);
		plus(s, x ? product(3, x->shape.bytes) : UINT64_MAX);
		x = operand(m, i, 1);
		plus(s, x ? x->shape.bytes : 0);
		return;
	default:
		/* What a library's call has besides its result is room to work in. */
		plus(s, i->form == HLO_CUSTOM ? i->shape.bytes : i->shape.all_bytes);
		for (uint32_t n = 0; !s->over && (x = operand(m, i, n)); n++)
			plus(s, n < OPERANDS ? x->shape.all_bytes : UINT64_MAX);
	}
}

bool hlo_cost(struct hlo_module *m, const struct hlo_inst *i, struct hlo_work *out)
{
	struct op_gemm g = { 0 };
	struct sum bytes = { 0, false };
	uint64_t flops;

	if (i->form == HLO_OTHER || i->form == HLO_FREE || i->form == HLO_HOLDS)
		return false;
	flops = flops_of(m, i, &g);
	if (flops == UINT64_MAX)
		return false;
	bytes_of(m, i, &bytes);
	if (bytes.over)
		return false;
	out->work = (struct op_work){ flops, bytes.v };
	out->gemm = g;
	if (!g.k)
		out->gemm.type = i->shape.type;
	return true;
}
