/* SPDX-License-Identifier: Apache-2.0 */
/* cl_source.c - see cl_source.h. What is not understood sets `bad`, which ends the kernel. */
#include "theory/cl_source.h"

#include <stdio.h>
#include <string.h>

#include "theory/cl_source_priv.h"

/* --- statements --- */

static void statement(struct cl_text *s);

static void declaration(struct cl_text *s)
{
	uint8_t space;
	uint32_t stars;
	struct cl_val t;

	cl_type(s, &t, &space, &stars);
	do {
		struct cl_var *v;
		uint32_t hash = s->hash;
		bool array = false;

		cl_skip_attributes(s);
		hash = s->hash;
		if (s->bad || s->kind != CL_SRC_WORD) {
			s->bad = true;
			return;
		}
		cl_token(s);
		while (cl_eat(s, "[")) {
			array = true;
			cl_expr(s);
			cl_need(s, "]");
		}
		v = cl_declare(s, hash, &t, stars || array ? space : CL_SRC_VALUE);
		if (cl_eat(s, "=")) {
			if (cl_is(s, "{")) {
				cl_skip_pair(s, "{", "}");
			} else {
				struct cl_val x = cl_expr(s);

				v->deps = x.deps;
				if (stars)
					v->space = x.space;
			}
		}
	} while (!s->bad && cl_eat(s, ","));
	cl_need(s, ";");
}

/* for (int i = 0; i < 8; i++): how often; 0: it is not such a one. */
static uint64_t loop_turns(struct cl_text *s, uint32_t *hash)
{
	struct cl_val from, to, by = { .v = 1, .konst = true };
	bool equal, down = false;
	int64_t span;

	while (cl_at_type(s))
		cl_token(s);
	*hash = s->hash;
	if (s->kind != CL_SRC_WORD)
		return 0;
	cl_token(s);
	cl_need(s, "=");
	from = cl_expr(s);
	cl_need(s, ";");
	if (s->bad || s->hash != *hash)
		return 0;
	cl_token(s);
	equal = cl_is(s, "<=") || cl_is(s, ">=");
	down = cl_is(s, ">") || cl_is(s, ">=");
	if (!equal && !down && !cl_is(s, "<") && !cl_is(s, "!="))
		return 0;
	cl_token(s);
	to = cl_binary(s, 8);
	cl_need(s, ";");
	if (cl_is(s, "++") || cl_is(s, "--")) {
		cl_token(s);
		if (s->hash != *hash)
			return 0;
		cl_token(s);
	} else {
		if (s->hash != *hash)
			return 0;
		cl_token(s);
		if (cl_eat(s, "+=") || cl_eat(s, "-="))
			by = cl_expr(s);
		else if (!cl_eat(s, "++") && !cl_eat(s, "--"))
			return 0;
	}
	if (!from.konst || !to.konst || !by.konst || by.v <= 0 || s->bad)
		return 0;
	span = down ? (int64_t)((uint64_t)from.v - (uint64_t)to.v)
		    : (int64_t)((uint64_t)to.v - (uint64_t)from.v);
	span = span + equal;
	if (span <= 0 || span > (int64_t)CL_SRC_TIMES_MAX)
		return 0;
	return ((uint64_t)span + (uint64_t)by.v - 1) / (uint64_t)by.v;
}

static void loop(struct cl_text *s)
{
	struct cl_val t = { .width = 1, .bytes = 4 };
	uint32_t vars = s->vars, hash;
	uint64_t n, before = s->times;

	cl_need(s, "(");
	n = s->bad ? 0 : loop_turns(s, &hash);
	cl_need(s, ")");
	if (!n || s->bad || s->loops == CL_SOURCE_LOOPS ||
	    __builtin_mul_overflow(s->times, n, &s->times) || s->times > CL_SRC_TIMES_MAX) {
		s->bad = true;
		return;
	}
	cl_declare(s, hash, &t, CL_SRC_VALUE)->deps = CL_SRC_LOOP(s->loops);
	s->turns[s->loops++] = n;
	statement(s);
	s->loops--;
	s->times = before;
	s->vars = vars;
}

static void block(struct cl_text *s)
{
	uint32_t vars = s->vars;

	while (!s->bad && !cl_is(s, "}")) {
		if (s->kind == CL_SRC_END)
			s->bad = true;
		else
			statement(s);
	}
	cl_need(s, "}");
	s->vars = vars;
}

static void statement(struct cl_text *s)
{
	if (++s->depth > CL_SRC_DEPTH)
		s->bad = true;
	cl_skip_attributes(s);
	if (s->bad) {
		/* nothing more */
	} else if (cl_eat(s, "{")) {
		block(s);
	} else if (cl_eat(s, "for")) {
		loop(s);
	} else if (cl_eat(s, "if")) {
		s->k.branches = true;
		cl_need(s, "(");
		cl_expr(s);
		cl_need(s, ")");
		statement(s);
		if (cl_eat(s, "else"))
			statement(s);
	} else if (cl_eat(s, "return")) {
		s->k.branches = true;
		cl_need(s, ";");
	} else if (cl_is(s, "while") || cl_is(s, "do") || cl_is(s, "goto") || cl_is(s, "switch") ||
		   cl_is(s, "break") || cl_is(s, "continue")) {
		s->bad = true;
	} else if (cl_at_type(s)) {
		declaration(s);
	} else if (!cl_eat(s, ";")) {
		cl_expr(s);
		while (!s->bad && cl_eat(s, ","))
			cl_expr(s);
		cl_need(s, ";");
	}
	s->depth--;
}

/* --- kernels --- */

static void parameters(struct cl_text *s)
{
	uint8_t space;
	uint32_t stars;
	struct cl_val t;

	cl_need(s, "(");
	while (!s->bad && !cl_is(s, ")")) {
		cl_type(s, &t, &space, &stars);
		if (s->bad || s->kind != CL_SRC_WORD)
			break;
		cl_declare(s, s->hash, &t, stars ? space : CL_SRC_VALUE);
		cl_token(s);
		if (!cl_eat(s, ","))
			break;
	}
	cl_need(s, ")");
}

static bool kernel(struct cl_text *s)
{
	s->k = (struct cl_kernel){ .branches = false };
	s->vars = s->loops = s->depth = 0;
	s->times = 1;
	cl_skip_attributes(s);
	cl_need(s, "void");
	cl_skip_attributes(s);
	if (s->kind != CL_SRC_WORD || s->len >= CL_SOURCE_NAME)
		return false;
	memcpy(s->k.name, s->word, s->len);
	cl_token(s);
	parameters(s);
	cl_skip_attributes(s);
	cl_need(s, "{");
	if (!s->bad)
		block(s);
	return !s->bad;
}

void cl_source_begin(struct cl_text *s, const char *text, size_t len)
{
	s->at = text;
	s->end = text + (len < CL_SOURCE_TEXT ? len : CL_SOURCE_TEXT);
	s->tokens = s->depth = 0;
	s->bad = false;
	cl_token(s);
}

bool cl_source_next(struct cl_text *s)
{
	bool macros = s->bad; /* of the whole text */

	while (!macros && s->kind != CL_SRC_END) {
		if (!cl_eat(s, "__kernel") && !cl_eat(s, "kernel")) {
			cl_token(s);
			macros = s->bad;
			continue;
		}
		if (kernel(s))
			return true;
		s->bad = false;
	}
	return false;
}

size_t cl_source_text(char *out, size_t cap, const struct cl_kernel *k)
{
	uint32_t type = k->by_bytes[8] > k->by_bytes[4] && k->by_bytes[8] > k->by_bytes[2] ? 7
			: k->by_bytes[2] > k->by_bytes[4]                                  ? 5
											   : 6;
	int n = snprintf(out, cap, "flops=%llu type=%u mem=", (unsigned long long)k->flops, type);

	for (uint32_t i = 0; i < k->mems && n > 0 && (size_t)n < cap; i++)
		n += snprintf(out + n, cap - (size_t)n, "%s%x:%llu", i ? "," : "", k->mem[i].ids,
			      (unsigned long long)k->mem[i].bytes);
	if (k->branches && n > 0 && (size_t)n < cap)
		n += snprintf(out + n, cap - (size_t)n, " at most");
	return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}
