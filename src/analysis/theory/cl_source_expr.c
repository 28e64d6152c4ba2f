/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cl_source_expr.c - expressions, see cl_source.h: each yields its type (a float of so many bytes
 * and parts, an integer, a pointer) and the ids and loops that it depends on. A construct that is
 * not understood sets `bad`.
 */
#include <string.h>

#include "theory/cl_source_priv.h"

/* --- what is counted --- */

static void flops(struct cl_text *s, const struct cl_val *v, uint64_t n)
{
	uint64_t all;

	if (!v->flt || v->space)
		return;
	if (__builtin_mul_overflow(s->times, n * v->width, &all) || all > CL_SRC_TIMES_MAX ||
	    s->k.flops > CL_SRC_TIMES_MAX) {
		s->bad = true;
		return;
	}
	s->k.flops += all;
	s->k.by_bytes[v->bytes <= 8 ? v->bytes : 8] += all;
}

static void touch(struct cl_text *s, const struct cl_val *p, uint32_t width)
{
	uint64_t bytes = (uint64_t)p->bytes * width;
	uint32_t ids = p->deps & 63, i;

	if (p->space != CL_SRC_GLOBAL)
		return;
	for (uint32_t d = 0; d < s->loops; d++)
		if (p->deps & CL_SRC_LOOP(d) &&
		    (__builtin_mul_overflow(bytes, s->turns[d], &bytes) ||
		     bytes > CL_SRC_TIMES_MAX))
			s->bad = true;
	for (i = 0; i < s->k.mems && s->k.mem[i].ids != ids; i++)
		;
	if (i == CL_SOURCE_MEM || s->bad) {
		s->bad = true;
		return;
	}
	s->k.mem[i].ids = ids;
	s->k.mem[i].bytes += bytes;
	s->k.mems += i == s->k.mems;
}

/* What a pointer leads to, read or written. */
static struct cl_val deref(struct cl_text *s, struct cl_val p)
{
	if (!p.space)
		s->bad = true;
	touch(s, &p, p.width);
	p.space = CL_SRC_VALUE;
	p.konst = false;
	return p;
}

/* --- variables --- */

static struct cl_var *find(struct cl_text *s, uint32_t hash)
{
	for (uint32_t i = s->vars; i; i--)
		if (s->var[i - 1].hash == hash)
			return &s->var[i - 1];
	return NULL;
}

struct cl_var *cl_declare(struct cl_text *s, uint32_t hash, const struct cl_val *t, uint8_t space)
{
	struct cl_var *v = &s->var[s->vars];

	if (s->vars == CL_SOURCE_VARS) {
		s->bad = true;
		return &s->var[0];
	}
	s->vars++;
	*v = (struct cl_var){
		.hash = hash, .space = space, .flt = t->flt, .width = t->width, .bytes = t->bytes
	};
	return v;
}

/* --- expressions --- */

static struct cl_val unary(struct cl_text *s);

static const struct {
	const char *name;
	uint8_t flops;
} calls[] = {
	{ "fma", 2 },   { "mad", 2 },   { "sqrt", 1 },     { "rsqrt", 1 }, { "exp", 1 },
	{ "exp2", 1 },  { "exp10", 1 }, { "log", 1 },      { "log2", 1 },  { "log10", 1 },
	{ "sin", 1 },   { "cos", 1 },   { "tan", 1 },      { "tanh", 1 },  { "sinh", 1 },
	{ "cosh", 1 },  { "pow", 1 },   { "powr", 1 },     { "fabs", 0 },  { "floor", 1 },
	{ "ceil", 1 },  { "trunc", 1 }, { "round", 1 },    { "rint", 1 },  { "fmax", 1 },
	{ "fmin", 1 },  { "max", 1 },   { "min", 1 },      { "clamp", 2 }, { "mix", 3 },
	{ "erf", 1 },   { "recip", 1 }, { "copysign", 0 }, { "abs", 0 },   { "divide", 1 },
	{ "atan", 1 },  { "asin", 1 },  { "acos", 1 },     { "fmod", 1 },  { "select", 0 },
	{ "isnan", 0 }, { "isinf", 0 }, { "mul24", 0 },    { "mad24", 0 },
};

static bool starts(const char *p, uint32_t len, const char *with)
{
	size_t n = strlen(with);

	return len > n && !memcmp(p, with, n);
}

/* get_group_id(0) and the like. */
static bool id_call(struct cl_text *s, const char *name, uint32_t len, const struct cl_val *arg,
		    struct cl_val *out)
{
	uint32_t d = arg->konst && arg->v >= 0 && arg->v < 3 ? (uint32_t)arg->v : 3;

	if (!starts(name, len, "get_"))
		return false;
	*out = (struct cl_val){ .width = 1, .bytes = 4 };
	if (d == 3 && !starts(name, len, "get_work_dim"))
		s->bad = true;
	else if (len == 12 && !memcmp(name, "get_group_id", 12))
		out->deps = CL_SOURCE_GROUP(d);
	else if (len == 12 && !memcmp(name, "get_local_id", 12))
		out->deps = CL_SOURCE_LOCAL(d);
	else if (len == 13 && !memcmp(name, "get_global_id", 13))
		out->deps = CL_SOURCE_GROUP(d) | CL_SOURCE_LOCAL(d);
	return true;
}

/* convert_float4_rte(x), as_uint(x): the type is in the name. */
static bool type_call(const char *name, uint32_t len, struct cl_val *x)
{
	struct cl_text peek = { .kind = CL_SRC_WORD, .len = len };
	const struct cl_base_type *b;
	uint8_t w;

	if (starts(name, len, "convert_"))
		peek.word = name + 8;
	else if (starts(name, len, "as_"))
		peek.word = name + 3;
	else
		return false;
	peek.len = 0;
	while (peek.word + peek.len < name + len && peek.word[peek.len] != '_')
		peek.len++;
	b = cl_base(&peek, &w);
	if (!b)
		return false;
	x->flt = b->flt;
	x->bytes = b->bytes;
	x->width = w;
	x->konst = false;
	return true;
}

static bool memory_call(struct cl_text *s, const char *name, uint32_t len,
			const struct cl_val arg[3], uint32_t args, struct cl_val *out)
{
	bool load = starts(name, len, "vload");
	uint32_t w = 0, at = load ? 1 : 2;
	struct cl_val p;

	if (!load && !starts(name, len, "vstore"))
		return false;
	for (uint32_t i = load ? 5 : 6; i < len && cl_digit(name[i]) && w < 100; i++)
		w = w * 10 + (uint32_t)(name[i] - '0');
	if (args != at + 1 || !w || !arg[at].space) {
		s->bad = true;
		return true;
	}
	p = arg[at];
	p.deps |= arg[at - 1].deps;
	touch(s, &p, w);
	*out = (struct cl_val){
		.flt = p.flt, .bytes = p.bytes, .width = (uint8_t)w, .deps = p.deps
	};
	return true;
}

static void math_call(struct cl_text *s, const char *name, uint32_t len, struct cl_val *x)
{
	static const char *const prefix[] = { "native_", "half_" };

	for (size_t i = 0; i < 2; i++)
		if (starts(name, len, prefix[i])) {
			name += strlen(prefix[i]);
			len -= (uint32_t)strlen(prefix[i]);
		}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == len && !memcmp(calls[i].name, name, len)) {
			flops(s, x, calls[i].flops);
			x->konst = false;
			return;
		}
	s->bad = true; /* a function of the program, or one that is not known */
}

static struct cl_val widest(struct cl_val a, struct cl_val b)
{
	struct cl_val r = { .deps = a.deps | b.deps, .flt = a.flt | b.flt };

	r.width = a.width > b.width ? a.width : b.width;
	r.bytes = a.flt == b.flt ? a.bytes > b.bytes ? a.bytes : b.bytes
		  : a.flt        ? a.bytes
				 : b.bytes;
	if (a.space || b.space) { /* an address and how far on */
		r.space = a.space ? a.space : b.space;
		r.flt = a.space ? a.flt : b.flt;
		r.width = a.space ? a.width : b.width;
		r.bytes = a.space ? a.bytes : b.bytes;
	}
	return r;
}

static struct cl_val call(struct cl_text *s, const char *name, uint32_t len)
{
	struct cl_val arg[3] = { 0 }, all = { .width = 1, .bytes = 4 }, out = all;
	uint32_t n = 0;

	cl_need(s, "(");
	while (!s->bad && !cl_is(s, ")")) {
		struct cl_val x = cl_expr(s);

		if (n < 3)
			arg[n] = x;
		all = n ? widest(all, x) : x;
		n++;
		if (!cl_eat(s, ","))
			break;
	}
	cl_need(s, ")");
	if (starts(name, len, "barrie") || starts(name, len, "mem_fence") ||
	    starts(name, len, "work_group_barrie"))
		return out;
	if (id_call(s, name, len, &arg[0], &out) || memory_call(s, name, len, arg, n, &out))
		return out;
	if (!type_call(name, len, &all))
		math_call(s, name, len, &all);
	return all;
}

/* (float4)(a,b,c,d), (int)x, (__global float4*)(p+1); or what stands in parentheses. */
static struct cl_val parenthesis(struct cl_text *s)
{
	struct cl_val t, x;
	uint8_t space;
	uint32_t stars, deps = 0;

	if (!cl_at_type(s)) {
		x = cl_expr(s);
		while (cl_eat(s, ","))
			x = cl_expr(s);
		cl_need(s, ")");
		return x;
	}
	cl_type(s, &t, &space, &stars);
	cl_need(s, ")");
	if (t.width > 1 && !stars && cl_is(s, "(")) {
		cl_token(s);
		do
			deps |= cl_expr(s).deps;
		while (!s->bad && cl_eat(s, ","));
		cl_need(s, ")");
		t.deps = deps;
		return t;
	}
	if (s->depth > CL_SRC_DEPTH)
		s->bad = true;
	s->depth++;
	x = s->bad ? t : unary(s);
	s->depth--;
	t.deps = x.deps;
	t.space = stars ? x.space : CL_SRC_VALUE;
	t.konst = !stars && !t.flt && x.konst;
	t.v = x.v;
	if (stars && !x.space)
		s->bad = true;
	return t;
}

static struct cl_val word(struct cl_text *s)
{
	const char *name = s->word;
	uint32_t len = s->len, hash = s->hash;
	const struct cl_var *v;

	cl_token(s);
	if (cl_is(s, "("))
		return call(s, name, len);
	v = find(s, hash);
	if (v)
		return (struct cl_val){ .deps = v->deps,
					.space = v->space,
					.flt = v->flt,
					.width = v->width,
					.bytes = v->bytes };
	if (len == 4 && !memcmp(name, "true", 4))
		return (struct cl_val){ .width = 1, .bytes = 1, .konst = true, .v = 1 };
	/* Constants that OpenCL names, such as INFINITY and CLK_LOCAL_MEM_FENCE. */
	if (*name >= 'A' && *name <= 'Z')
		return (struct cl_val){ .width = 1, .bytes = 4, .flt = len == 8 || len == 3 };
	if (len != 5 || memcmp(name, "false", 5) != 0)
		s->bad = true;
	return (struct cl_val){ .width = 1, .bytes = 1, .konst = true };
}

static struct cl_val primary(struct cl_text *s)
{
	struct cl_val x = { .width = 1, .bytes = 4 };

	if (s->kind == CL_SRC_NUMBER) {
		x.flt = s->number_flt;
		x.konst = !x.flt;
		x.v = s->number;
		cl_token(s);
		return x;
	}
	if (cl_eat(s, "("))
		return parenthesis(s);
	if (s->kind == CL_SRC_WORD)
		return word(s);
	s->bad = true;
	return x;
}

/* Of v.x, v.s0, v.lo: as many parts as there are letters. */
static void part(struct cl_text *s, struct cl_val *x)
{
	uint32_t n = s->len;

	if (s->kind != CL_SRC_WORD || x->space || x->width < 2) {
		s->bad = true;
	} else {
		if (cl_is(s, "lo") || cl_is(s, "hi") || cl_is(s, "even") || cl_is(s, "odd"))
			n = x->width / 2;
		else if (*s->word == 's' && n > 1)
			n--;
		x->width = (uint8_t)(n < 16 ? n : 16);
	}
	cl_token(s);
}

static struct cl_val postfix(struct cl_text *s)
{
	struct cl_val x = primary(s), i;

	while (!s->bad) {
		if (cl_eat(s, "[")) {
			i = cl_expr(s);
			cl_need(s, "]");
			x.deps |= i.deps;
			x = deref(s, x);
		} else if (cl_eat(s, ".")) {
			part(s, &x);
		} else if (!cl_eat(s, "++") && !cl_eat(s, "--")) {
			break;
		} else {
			x.konst = false;
		}
	}
	return x;
}

static struct cl_val unary(struct cl_text *s)
{
	struct cl_val x;

	if (++s->depth > CL_SRC_DEPTH) {
		s->bad = true;
		s->depth--;
		return (struct cl_val){ .width = 1 };
	}
	if (cl_eat(s, "*")) {
		x = unary(s);
		x = deref(s, x);
	} else if (cl_eat(s, "-")) {
		x = unary(s);
		x.v = -(uint64_t)x.v;
	} else if (cl_eat(s, "+") || cl_eat(s, "++") || cl_eat(s, "--")) {
		x = unary(s);
		x.konst = false;
	} else if (cl_eat(s, "!") || cl_eat(s, "~")) {
		x = unary(s);
		x.konst = false;
		x.flt = 0;
	} else if (cl_is(s, "&")) {
		s->bad = true;
		x = (struct cl_val){ .width = 1 };
	} else {
		x = postfix(s);
	}
	s->depth--;
	return x;
}

static const struct {
	const char *sign;
	uint8_t level;
	char what; /* c: compares, a: arithmetic, i: of integers */
} binaries[] = {
	{ "||", 1, 'l' }, { "&&", 2, 'l' }, { "|", 3, 'i' },  { "^", 4, 'i' }, { "&", 5, 'i' },
	{ "==", 6, 'c' }, { "!=", 6, 'c' }, { "<", 7, 'c' },  { ">", 7, 'c' }, { "<=", 7, 'c' },
	{ ">=", 7, 'c' }, { "<<", 8, '<' }, { ">>", 8, '>' }, { "+", 9, '+' }, { "-", 9, '-' },
	{ "*", 10, '*' }, { "/", 10, '/' }, { "%", 10, '%' },
};

static int binary_at(const struct cl_text *s)
{
	for (size_t i = 0; s->kind == CL_SRC_SIGN && i < sizeof(binaries) / sizeof(binaries[0]);
	     i++)
		if (cl_is(s, binaries[i].sign))
			return (int)i;
	return -1;
}

static struct cl_val fold(struct cl_text *s, struct cl_val a, struct cl_val b, char what)
{
	struct cl_val r = widest(a, b);
	bool both = a.konst && b.konst && !r.flt;

	if (what == 'c' || what == 'l') {
		if (what == 'c')
			flops(s, &r, 1);
		r.flt = false;
		r.bytes = 4;
		return r;
	}
	if (what == '+' || what == '-' || what == '*' || what == '/')
		flops(s, &r, 1);
	r.konst = both && (what == '+' || what == '-' || what == '*' ||
			   (what == '<' && b.v >= 0 && b.v < 63) || (what == '/' && b.v > 0));
	if (r.konst)
		r.v = what == '+'   ? (int64_t)((uint64_t)a.v + (uint64_t)b.v)
		      : what == '-' ? (int64_t)((uint64_t)a.v - (uint64_t)b.v)
		      : what == '*' ? (int64_t)((uint64_t)a.v * (uint64_t)b.v)
		      : what == '<' ? (int64_t)((uint64_t)a.v << b.v)
				    : a.v / b.v;
	return r;
}

struct cl_val cl_binary(struct cl_text *s, uint32_t level)
{
	struct cl_val a = unary(s);
	int i;

	while (!s->bad && (i = binary_at(s)) >= 0 && binaries[i].level >= level) {
		struct cl_val b;

		cl_token(s);
		s->depth++;
		if (s->depth > CL_SRC_DEPTH)
			s->bad = true;
		b = s->bad ? a : cl_binary(s, binaries[i].level + 1u);
		s->depth--;
		a = fold(s, a, b, binaries[i].what);
	}
	return a;
}

struct cl_val cl_expr(struct cl_text *s)
{
	static const char *const to[] = { "=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%=" };
	uint32_t hash = s->kind == CL_SRC_WORD ? s->hash : 0;
	struct cl_var *v;
	struct cl_val a, b;

	if (++s->depth > CL_SRC_DEPTH || s->bad) {
		s->bad = true;
		s->depth--;
		return (struct cl_val){ .width = 1 };
	}
	a = cl_binary(s, 1);
	if (cl_eat(s, "?")) {
		struct cl_val yes = cl_expr(s);

		cl_need(s, ":");
		b = cl_expr(s);
		b = widest(yes, b);
		flops(s, &b, 1);
		b.deps |= a.deps;
		a = b;
	}
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]) && !s->bad; i++) {
		if (!cl_eat(s, to[i]))
			continue;
		b = cl_expr(s);
		if (i && i < 5)
			flops(s, &a, 1);
		v = hash ? find(s, hash) : NULL;
		if (v && !v->space)
			v->deps |= b.deps;
		a.konst = false;
		break;
	}
	s->depth--;
	return a;
}
