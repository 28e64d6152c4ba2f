/* SPDX-License-Identifier: Apache-2.0 */
/* op_work.c - see op_work.h; the formulas' names are in op_work.tbl.h. */
#include "theory/op_work.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum form { MM, BMM, MV, CONV, CONV_BACK, SDPA, SDPA_BACK, EACH, MOVE, REDUCE, GATHER };

static const struct rule {
	const char *name;
	enum form form;
	uint32_t n;
} rule[] = {
#define OP(name, form, n) { #name, form, n },
#include "theory/op_work.tbl.h"
};

#define CAUSAL "causal"

/* --- the text --- */

static const char *parse_number(const char *s, uint64_t *out)
{
	uint64_t v = 0;
	const char *from = s;

	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return NULL;
	*out = v;
	return s == from ? NULL : s;
}

static const char *parse_tensor(const char *s, struct op_tensor *t)
{
	uint64_t v;

	*t = (struct op_tensor){ .is = *s != '-' };
	if (*s == '-')
		return s + 1;
	if (*s++ != '[')
		return NULL;
	while (*s != ']') {
		if (t->dims == OP_DIMS || !(s = parse_number(s, &t->size[t->dims++])))
			return NULL;
		if (*s == ',')
			s++;
		else if (*s != ']')
			return NULL;
	}
	if (s[1] != 't' || !(s = parse_number(s + 2, &v)) || v > 255)
		return NULL;
	t->type = (uint32_t)v;
	return s;
}

/* "flops=1 bytes=2 type=6 gemm=1x2x3x4": all fields, in this order; the product is optional. */
static int parse_counted(struct op_shapes *out, const char *text)
{
	struct op_shapes s = { .counted = true };
	uint64_t type = 0;
	const struct {
		const char *word;
		uint64_t *to;
	} part[] = {
		{ "flops=", &s.work.flops }, { " bytes=", &s.work.bytes }, { " type=", &type },
		{ " gemm=", &s.gemm.m },     { "x", &s.gemm.n },           { "x", &s.gemm.k },
		{ "x", &s.gemm.batch },
	};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		size_t n = strlen(part[i].word);

		if (i == 3 && !*text)
			break;
		if (strncmp(text, part[i].word, n) || !(text = parse_number(text + n, part[i].to)))
			return -EINVAL;
	}
	if (*text || type > 255)
		return -EINVAL;
	s.gemm.type = (uint32_t)type;
	*out = s;
	return 0;
}

void op_counted_text(char *out, const struct op_work *w, const struct op_gemm *g)
{
	int n = snprintf(out, OP_COUNTED_MAX, "flops=%" PRIu64 " bytes=%" PRIu64 " type=%" PRIu32,
			 w->flops, w->bytes, g->type);

	if (g->k)
		snprintf(out + n, OP_COUNTED_MAX - (size_t)n,
			 " gemm=%" PRIu64 "x%" PRIu64 "x%" PRIu64 "x%" PRIu64, g->m, g->n, g->k,
			 g->batch);
}

int op_shapes_parse(struct op_shapes *out, const char *text)
{
	struct op_shapes s = { .ins = 0 };
	bool results = false;

	if (*text == 'f')
		return parse_counted(out, text);

	while (*text) {
		struct op_tensor *t = results ? s.out : s.in;
		uint32_t *n = results ? &s.outs : &s.ins;

		if (*text == ' ') {
			text++;
		} else if (!strncmp(text, CAUSAL, strlen(CAUSAL))) {
			s.causal = true;
			text += strlen(CAUSAL);
		} else if (*text == '>' && !results) {
			results = true;
			text++;
		} else if (*n == OP_TENSORS) {
			return -E2BIG;
		} else {
			text = parse_tensor(text, &t[(*n)++]);
			if (!text || (*text && *text != ' '))
				return -EINVAL;
		}
	}
	*out = s;
	return 0;
}

/* --- products that notice when they do not fit --- */

struct product {
	uint64_t v;
	bool over;
};

static void times(struct product *p, uint64_t by)
{
	p->over |= __builtin_mul_overflow(p->v, by, &p->v);
}

static void times_sizes(struct product *p, const struct op_tensor *t, uint32_t from)
{
	for (uint32_t i = from; i < t->dims; i++)
		times(p, t->size[i]);
}

static int sum(uint64_t *into, const struct product *p)
{
	return p->over || __builtin_add_overflow(*into, p->v, into) ? -ERANGE : 0;
}

/* --- bytes --- */

uint32_t op_type_bytes(uint32_t type)
{
	static const uint8_t bytes[] = { 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4,
					 2, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1,  1, 2, 4, 8 };

	return type < sizeof(bytes) ? bytes[type] : 0;
}

static bool is_float(uint32_t type)
{
	return (type >= 5 && type <= 10) || type == 15 || (type >= 23 && type <= 26);
}

static int add_bytes(uint64_t *bytes, const struct op_tensor *t, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		struct product p = { t[i].is ? op_type_bytes(t[i].type) : 0, false };

		times_sizes(&p, &t[i], 0);
		err = sum(bytes, &p);
	}
	return err;
}

/* Each size as of the larger one: how shapes are broadcast. */
static void widen(struct op_tensor *to, const struct op_tensor *t)
{
	uint32_t dims = t->dims > to->dims ? t->dims : to->dims;
	struct op_tensor w = { .dims = dims, .type = to->type, .is = to->is };

	for (uint32_t i = 1; i <= dims; i++) {
		uint64_t a = i <= to->dims ? to->size[to->dims - i] : 1;
		uint64_t b = i <= t->dims ? t->size[t->dims - i] : 1;

		w.size[dims - i] = a == 1 ? b : a;
	}
	*to = w;
}

/* The result, where the text does not say it: of a product whose sizes fit. */
static bool result_of(struct op_tensor *y, const struct op_shapes *s, const struct rule *r)
{
	const struct op_tensor *a = &s->in[r->form <= MV ? r->n : 0];

	*y = *a;
	switch (r->form) {
	case MM:
	case BMM:
		y->size[y->dims - 1] = a[1].size[y->dims - 1];
		return true;
	case MV:
		y->dims = 1;
		return true;
	case SDPA:
		y->size[3] = a[2].size[3];
		return true;
	case EACH:
		for (uint32_t i = 1; i < s->ins; i++)
			widen(y, &s->in[i]);
		return true;
	case GATHER: /* a row of the table for each index, or an element of a row for each */
		if (s->ins < 2)
			return false;
		*y = s->in[1];
		y->type = a->type;
		if (a->dims > 1 && y->dims < OP_DIMS && strcmp(r->name, "gather"))
			y->size[y->dims++] = a->size[a->dims - 1];
		return true;
	default: /* reductions: little beside what they read */
		return false;
	}
}

/* How many tensors an operator reads; 0: not known. */
static uint32_t reads(const struct rule *r)
{
	static const char *const one[] = {
		"neg",      "abs",        "square", "sqrt",       "rsqrt",     "exp",
		"log",      "sin",        "cos",    "tanh",       "erf",       "sigmoid",
		"sign",     "reciprocal", "relu",   "clamp",      "clamp_min", "clamp_max",
		"hardtanh", "gelu",       "silu",   "leaky_relu",
	};
	static const char *const two[] = { "add",     "sub", "rsub", "mul", "div", "pow", "maximum",
					   "minimum", "eq",  "ne",   "lt",  "le",  "gt",  "ge" };

	if (r->form == MM || r->form == BMM)
		return r->n + 2;
	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
		if (!strcmp(one[i], r->name))
			return 1;
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		if (!strcmp(two[i], r->name))
			return 2;
	return 0;
}

/* Where results are not said, one that was given to be written to stands behind the arguments. */
static void take_result(struct op_shapes *s, const struct rule *r)
{
	uint32_t n = reads(r);
	struct op_shapes args = *s;
	struct op_tensor y;

	args.ins = n;
	if (!n || s->outs || s->ins <= n || !result_of(&y, &args, r) || y.dims != s->in[n].dims ||
	    memcmp(y.size, s->in[n].size, y.dims * sizeof(y.size[0])) != 0)
		return;
	s->out[0] = s->in[n];
	s->outs = 1;
	s->ins = n;
}

/* Of a table as much is read as comes out; what is overwritten is not read. */
static int bytes_of(uint64_t *bytes, const struct op_shapes *s, const struct rule *r)
{
	const struct op_tensor *out = s->out;
	uint32_t outs = s->outs;
	struct op_tensor y;
	int err;

	*bytes = 0;
	if (r->form == MOVE)
		return add_bytes(bytes, s->in, s->ins < 2 ? s->ins : 2);
	if (!outs && s->ins && result_of(&y, s, r)) {
		out = &y;
		outs = 1;
	}
	err = add_bytes(bytes, out, outs);
	if (r->form == GATHER) {
		err = err ? err : add_bytes(bytes, out, outs);
		return err || s->ins < 2 ? err : add_bytes(bytes, s->in + 1, s->ins - 1);
	}
	return err ? err : add_bytes(bytes, s->in, s->ins);
}

/* --- operations --- */

static int matrices(uint64_t *flops, const struct op_shapes *s, uint32_t first, uint32_t dims)
{
	const struct op_tensor *a = &s->in[first], *b = a + 1;
	struct product p = { 2, false };

	if (s->ins < first + 2 || a->dims != dims || b->dims != dims ||
	    a->size[dims - 1] != b->size[dims - 2])
		return -EINVAL;
	times_sizes(&p, a, 0);
	times(&p, b->size[dims - 1]);
	return sum(flops, &p);
}

static int vector(uint64_t *flops, const struct op_shapes *s, uint32_t first)
{
	struct product p = { 2, false };

	if (s->ins < first + 2 || s->in[first].dims != 2)
		return -EINVAL;
	times_sizes(&p, &s->in[first], 0);
	return sum(flops, &p);
}

/* Nobody says so: a channel count that fits one way only does, else the size of the result. */
static bool is_transposed(const struct op_tensor *x, const struct op_tensor *w,
			  const struct op_tensor *y)
{
	struct product px = { 1, false }, py = { 1, false };

	if (w->size[0] != y->size[1] || w->size[0] != x->size[1])
		return w->size[0] == x->size[1];
	times_sizes(&px, x, 2);
	times_sizes(&py, y, 2);
	return py.v > px.v;
}

static bool conv_fits(const struct op_tensor *x, const struct op_tensor *w,
		      const struct op_tensor *y)
{
	return x->is && w->is && y->is && x->dims >= 3 && x->dims == w->dims && x->dims == y->dims;
}

static int conv(uint64_t *flops, const struct op_shapes *s)
{
	const struct op_tensor *x = &s->in[0], *w = &s->in[1], *y = &s->out[0];
	struct product p = { 2, false };

	if (s->ins < 2 || !s->outs || !conv_fits(x, w, y))
		return -EINVAL;
	times(&p, x->size[0]);
	times_sizes(&p, is_transposed(x, w, y) ? x : y, 2);
	times_sizes(&p, w, 0);
	return sum(flops, &p);
}

/* The gradient of x is a convolution the other way round, that of the weights one of x with the
 * gradient. */
static int conv_back(uint64_t *flops, const struct op_shapes *s)
{
	const struct op_tensor *y = &s->in[0], *x = &s->in[1], *w = &s->in[2];
	struct product px = { 2, false }, pw = { 2, false };
	const struct op_tensor *small;
	int err = 0;

	if (s->ins < 3 || s->outs < 2 || !conv_fits(x, w, y))
		return -EINVAL;
	small = is_transposed(x, w, y) ? x : y;
	times(&px, y->size[0]);
	times_sizes(&px, small, 2);
	times_sizes(&px, w, 0);
	times(&pw, x->size[1]);
	times(&pw, y->size[1]);
	times(&pw, x->size[0]);
	times_sizes(&pw, small, 2);
	times_sizes(&pw, w, 2);
	if (s->out[0].is)
		err = sum(flops, &px);
	return !err && s->out[1].is ? sum(flops, &pw) : err;
}

/* Batch x heads x queries x keys, so often as the head's widths say. */
static int attention(uint64_t *flops, const struct op_shapes *s, uint32_t first, uint32_t of_qk,
		     uint32_t of_v)
{
	const struct op_tensor *q = &s->in[first], *k = q + 1, *v = q + 2;
	struct product p = { 2, false };
	uint64_t widths;

	if (s->ins < first + 3 || q->dims != 4 || k->dims != 4 || v->dims != 4)
		return -EINVAL;
	times(&p, q->size[0]);
	times(&p, q->size[1]);
	times(&p, q->size[2]);
	times(&p, k->size[2]);
	if (__builtin_mul_overflow(q->size[3], of_qk, &widths) ||
	    v->size[3] > (UINT64_MAX - widths) / of_v)
		return -ERANGE;
	times(&p, widths + of_v * v->size[3]);
	if (s->causal)
		p.v /= 2;
	return sum(flops, &p);
}

static int elements(uint64_t *flops, const struct op_tensor *t, uint32_t n, uint32_t each)
{
	struct product p = { each, false };

	if (!n || !t->is)
		return -EINVAL;
	times_sizes(&p, t, 0);
	return is_float(t->type) ? sum(flops, &p) : 0;
}

static int flops_of(uint64_t *flops, const struct op_shapes *s, const struct rule *r)
{
	struct op_tensor y;

	switch (r->form) {
	case MM:
		return matrices(flops, s, r->n, 2);
	case BMM:
		return matrices(flops, s, r->n, 3);
	case MV:
		return vector(flops, s, r->n);
	case CONV:
		return conv(flops, s);
	case CONV_BACK:
		return conv_back(flops, s);
	case SDPA:
		return attention(flops, s, 0, 1, 1);
	case SDPA_BACK:
		return attention(flops, s, 1, 3, 2);
	case EACH:
		if (s->outs || !s->ins)
			return elements(flops, s->out, s->outs, r->n);
		result_of(&y, s, r);
		return elements(flops, &y, 1, r->n);
	case REDUCE:
		return elements(flops, s->in, s->ins, r->n);
	case MOVE:
		return s->ins ? 0 : -EINVAL;
	case GATHER:
		return s->outs || s->ins > 1 ? 0 : -EINVAL;
	}
	return -ENOENT;
}

static const struct rule *find(const char *name)
{
	size_t len;

	if (strncmp(name, "aten::", 6))
		return NULL;
	name += 6;
	len = strlen(name);
	for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
		size_t n = strlen(rule[i].name);

		if (!strncmp(name, rule[i].name, n) &&
		    (len == n || (len == n + 1 && name[n] == '_')))
			return &rule[i];
	}
	return NULL;
}

int op_work(struct op_work *out, const char *name, const struct op_shapes *said)
{
	const struct rule *r = find(name);
	struct op_shapes s = *said;
	struct op_work w = { 0 };
	uint64_t fits = 0;
	int err;

	if (said->counted) {
		*out = said->work;
		return 0;
	}
	if (!r)
		return -ENOENT;
	if (s.ins && !flops_of(&fits, &s, r))
		take_result(&s, r);
	err = flops_of(&w.flops, &s, r);
	err = err ? err : bytes_of(&w.bytes, &s, r);
	if (!err)
		*out = w;
	return err;
}

int op_gemm(struct op_gemm *out, const char *name, const struct op_shapes *s)
{
	const struct rule *r = find(name);
	const struct op_tensor *a, *b;
	uint64_t flops = 0;
	int err;

	if (s->counted && s->gemm.k) {
		*out = s->gemm;
		return 0;
	}
	if (!r || (r->form != MM && r->form != BMM))
		return -ENOENT;
	err = flops_of(&flops, s, r);
	if (err)
		return err;
	a = &s->in[r->n];
	b = a + 1;
	*out = (struct op_gemm){ .m = a->size[a->dims - 2],
				 .n = b->size[b->dims - 1],
				 .k = a->size[a->dims - 1],
				 .batch = r->form == BMM ? a->size[0] : 1,
				 .type = a->type };
	return 0;
}

int op_known(struct op_known *out, const char *name, const char *shapes)
{
	struct op_known is = { .scalar = OP_TYPE_FLOAT };
	struct op_shapes s;
	int err = op_shapes_parse(&s, shapes);

	err = err ? err : op_work(&is.work, name, &s);
	if (err)
		return err;
	is.counted = s.counted;
	is.product = !op_gemm(&is.gemm, name, &s);
	if (is.product || s.counted)
		is.scalar = is.product ? is.gemm.type : s.gemm.type;
	else if (s.ins)
		is.scalar = s.in[0].type;
	*out = is;
	return 0;
}
