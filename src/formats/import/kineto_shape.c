/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_shape.c - Kineto's description of an operator's arguments, as the text that
 * theory/op_work.h parses: "[768]t15 [788,768]t15 [768,768]t15".
 *
 * Sizes are in "Input Dims", types in "Input type", both lists with an entry for each argument.
 * Scalars, lists and missing arguments have no sizes; a list of tensors has no type. Results are
 * not listed: most formulas derive them, but that of a convolution needs its stride, which is in
 * "Concrete Inputs".
 */
#include "import/kineto.h"
#include "model/dtype.h"

#define TENSORS   4u /* as the probe for PyTorch records */
#define DIMS      6u
#define ARGS      32u
#define TEXT      256u
#define CONV_ARGS 9u /* x, weight, bias, stride, padding, dilation, transposed, more, groups */

struct tensor {
	uint64_t size[DIMS];
	uint32_t dims;
	int type;
};

/* The next entry of a list, at *p behind its bracket or the last entry. */
static bool entry(const char **p, const char *end, struct json_tok *out)
{
	const char *s = *p;

	while (s < end && (*s == ' ' || *s == ',' || *s == '\n'))
		s++;
	if (s >= end || *s == ']')
		return false;
	*p = json_skip(s, end);
	if (!*p || *p > end)
		return false;
	*out = (struct json_tok){ s, (size_t)(*p - s) };
	return true;
}

/* The numbers of "[16, 559]", which may be quoted. How many, or more than `cap`. */
static uint32_t numbers(struct json_tok t, uint64_t *out, uint32_t cap)
{
	const char *s = t.s, *end = t.s + t.len;
	uint32_t n = 0;

	while (s < end) {
		uint64_t v = 0;

		if (*s < '0' || *s > '9') {
			if (*s++ == '-')
				return cap + 1;
			continue;
		}
		for (; s < end && *s >= '0' && *s <= '9'; s++)
			v = v < UINT64_MAX / 16 ? v * 10 + (uint64_t)(*s - '0') : v;
		if (n == cap)
			return cap + 1;
		out[n++] = v;
	}
	return n;
}

static uint32_t tensors_of(const struct kineto_event *r, struct tensor *out)
{
	struct json_tok dims = r->val[F_DIMS], types = r->val[F_TYPES], d, y;
	const char *pd = dims.s + 1, *py = types.s + 1;
	uint32_t n = 0;

	for (uint32_t i = 0; i < ARGS && n < TENSORS; i++) {
		struct tensor *t = &out[n];

		if (!entry(&pd, dims.s + dims.len, &d) || !entry(&py, types.s + types.len, &y))
			break;
		y = json_tok_text(y);
		t->type = dtype_number(y.s, y.len);
		if (t->type < 0)
			continue;
		t->dims = numbers(d, t->size, DIMS);
		if (t->dims > DIMS)
			return 0;
		n++;
	}
	return n;
}

static char *put_number(char *at, uint64_t v)
{
	char digits[24];
	size_t d = sizeof(digits);

	do
		digits[--d] = (char)('0' + v % 10);
	while (v /= 10);
	memcpy(at, digits + d, sizeof(digits) - d);
	return at + sizeof(digits) - d;
}

static size_t put_tensor(char *text, const struct tensor *t)
{
	char *at = text;

	*at++ = '[';
	for (uint32_t i = 0; i < t->dims; i++) {
		if (i)
			*at++ = ',';
		at = put_number(at, t->size[i]);
	}
	*at++ = ']';
	*at++ = 't';
	return (size_t)(put_number(at, (uint64_t)t->type) - text);
}

/* Stride, padding and the like: one number for each direction, or one for all. */
struct conv {
	uint64_t v[CONV_ARGS][DIMS];
	uint32_t n[CONV_ARGS];
	bool transposed;
};

static bool conv_args(const struct kineto_event *r, struct conv *c)
{
	struct json_tok all = r->val[F_CONCRETE], one;
	const char *p = all.s + 1;

	for (uint32_t i = 0; i < CONV_ARGS; i++) {
		if (!entry(&p, all.s + all.len, &one))
			return false;
		c->n[i] = numbers(one, c->v[i], DIMS);
		if (i == 6)
			c->transposed = json_tok_is(json_tok_text(one), "True");
	}
	return true;
}

static uint64_t conv_arg(const struct conv *c, uint32_t arg, uint32_t dim, uint64_t or_else)
{
	uint32_t n = c->n[arg];

	if (!n || n > DIMS)
		return or_else;
	return c->v[arg][dim < n ? dim : n - 1];
}

/* The result of a convolution of t[0] with the weights t[1]. */
static bool conv_result(const struct kineto_event *r, const struct tensor *t, struct tensor *y)
{
	struct conv c = { .transposed = false };

	if (!kineto_has(r, F_CONCRETE) || t[0].dims < 3 || t[0].dims != t[1].dims ||
	    !conv_args(r, &c))
		return false;
	*y = t[0];
	y->size[1] = c.transposed ? t[1].size[1] * conv_arg(&c, 8, 0, 1) : t[1].size[0];
	for (uint32_t i = 2; i < t[0].dims; i++) {
		uint64_t stride = conv_arg(&c, 3, i - 2, 1), pad = conv_arg(&c, 4, i - 2, 0);
		uint64_t reach = conv_arg(&c, 5, i - 2, 1) * (t[1].size[i] - 1);

		if (!stride || !t[0].size[i] || !t[1].size[i])
			return false;
		if (c.transposed)
			y->size[i] = (t[0].size[i] - 1) * stride + reach + 1 +
				     conv_arg(&c, 7, i - 2, 0) - 2 * pad;
		else if (t[0].size[i] + 2 * pad <= reach)
			return false;
		else
			y->size[i] = (t[0].size[i] + 2 * pad - reach - 1) / stride + 1;
	}
	return true;
}

/* Whether an attention looks at no key behind its query, by the place of that argument. */
static bool is_causal(const struct kineto_event *r, struct json_tok op)
{
	static const struct {
		const char *op;
		uint32_t arg;
	} where[] = {
		{ "aten::_scaled_dot_product_flash_attention", 4 },
		{ "aten::_scaled_dot_product_flash_attention_for_cpu", 4 },
		{ "aten::_scaled_dot_product_efficient_attention", 6 },
		{ "aten::_scaled_dot_product_cudnn_attention", 6 },
		{ "aten::_scaled_dot_product_flash_attention_backward", 11 },
		{ "aten::_scaled_dot_product_efficient_attention_backward", 11 },
		{ "aten::_scaled_dot_product_cudnn_attention_backward", 14 },
	};
	struct json_tok all = r->val[F_CONCRETE], one = { "", 0 };
	const char *p = all.s + 1;

	for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
		if (!json_tok_is(op, where[i].op))
			continue;
		for (uint32_t arg = 0; arg <= where[i].arg; arg++)
			if (!entry(&p, all.s + all.len, &one))
				return false;
		return json_tok_is(json_tok_text(one), "True");
	}
	return false;
}

static bool is_conv(struct json_tok op)
{
	return json_tok_is(op, "aten::convolution") || json_tok_is(op, "aten::_convolution");
}

int kineto_shapes(struct kineto_in *k, uint32_t *name)
{
	struct json_tok op = { "", 0 };
	struct tensor t[TENSORS], y;
	char text[TENSORS * (DIMS * 21 + 8) + 2 * TEXT];
	uint32_t n = kineto_has(&k->row, F_TYPES) ? tensors_of(&k->row, t) : 0;
	size_t len = 0;

	*name = 0;
	if (kineto_has(&k->row, F_NAME))
		op = json_tok_text(k->row.val[F_NAME]);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			text[len++] = ' ';
		len += put_tensor(text + len, &t[i]);
	}
	if (n >= 2 && is_conv(op) && conv_result(&k->row, t, &y)) {
		memcpy(text + len, " > ", 3);
		len += 3;
		len += put_tensor(text + len, &y);
	}
	if (n && kineto_has(&k->row, F_CONCRETE) && is_causal(&k->row, op)) {
		memcpy(text + len, " causal", 7);
		len += 7;
	}
	return len ? trace_name(k->t, text, len, name) : 0;
}
