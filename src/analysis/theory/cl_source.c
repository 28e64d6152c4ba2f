/* SPDX-License-Identifier: Apache-2.0 */
/* cl_source.c - see cl_source.h. The first thing that is not understood sets `bad`, which ends the kernel. */
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
	struct src_val t;

	src_type(s, &t, &space, &stars);
	do {
		struct source_var *v;
		uint32_t hash = s->hash;
		bool array = false;

		src_skip_attributes(s);
		hash = s->hash;
		if (s->bad || s->kind != SRC_WORD) {
			s->bad = true;
			return;
		}
		src_token(s);
		while (src_eat(s, "[")) {
			array = true;
			src_expr(s);
			src_need(s, "]");
		}
		v = src_declare(s, hash, &t, stars || array ? space : SRC_VALUE);
		if (src_eat(s, "=")) {
			if (src_is(s, "{")) {
				src_skip_pair(s, "{", "}");
			} else {
				struct src_val x = src_expr(s);

				v->deps = x.deps;
				if (stars)
					v->space = x.space;
			}
		}
	} while (!s->bad && src_eat(s, ","));
	src_need(s, ";");
}

/* for (int i = 0; i < 8; i++): how often; 0: it is not such a one. */
static uint64_t loop_turns(struct cl_text *s, uint32_t *hash)
{
	struct src_val from, to, by = { .v = 1, .konst = true };
	bool equal, down = false;
	int64_t span;

	while (src_at_type(s))
		src_token(s);
	*hash = s->hash;
	if (s->kind != SRC_WORD)
		return 0;
	src_token(s);
	src_need(s, "=");
	from = src_expr(s);
	src_need(s, ";");
	if (s->bad || s->hash != *hash)
		return 0;
	src_token(s);
	equal = src_is(s, "<=") || src_is(s, ">=");
	down = src_is(s, ">") || src_is(s, ">=");
	if (!equal && !down && !src_is(s, "<") && !src_is(s, "!="))
		return 0;
	src_token(s);
	to = src_binary(s, 8);
	src_need(s, ";");
	if (src_is(s, "++") || src_is(s, "--")) {
		src_token(s);
		if (s->hash != *hash)
			return 0;
		src_token(s);
	} else {
		if (s->hash != *hash)
			return 0;
		src_token(s);
		if (src_eat(s, "+=") || src_eat(s, "-="))
			by = src_expr(s);
		else if (!src_eat(s, "++") && !src_eat(s, "--"))
			return 0;
	}
	if (!from.konst || !to.konst || !by.konst || by.v <= 0 || s->bad)
		return 0;
	span = down ? (int64_t)((uint64_t)from.v - (uint64_t)to.v)
		    : (int64_t)((uint64_t)to.v - (uint64_t)from.v);
	span = span + equal;
	if (span <= 0 || span > (int64_t)SRC_TIMES_MAX)
		return 0;
	return ((uint64_t)span + (uint64_t)by.v - 1) / (uint64_t)by.v;
}

static void loop(struct cl_text *s)
{
	struct src_val t = { .width = 1, .bytes = 4 };
	uint32_t vars = s->vars, hash;
	uint64_t n, before = s->times;

	src_need(s, "(");
	n = s->bad ? 0 : loop_turns(s, &hash);
	src_need(s, ")");
	if (!n || s->bad || s->loops == SOURCE_LOOPS ||
	    __builtin_mul_overflow(s->times, n, &s->times) || s->times > SRC_TIMES_MAX) {
		s->bad = true;
		return;
	}
	src_declare(s, hash, &t, SRC_VALUE)->deps = SRC_LOOP(s->loops);
	s->turns[s->loops++] = n;
	statement(s);
	s->loops--;
	s->times = before;
	s->vars = vars;
}

static void block(struct cl_text *s)
{
	uint32_t vars = s->vars;

	while (!s->bad && !src_is(s, "}")) {
		if (s->kind == SRC_END)
			s->bad = true;
		else
			statement(s);
	}
	src_need(s, "}");
	s->vars = vars;
}

static void statement(struct cl_text *s)
{
	if (++s->depth > SRC_DEPTH)
		s->bad = true;
	src_skip_attributes(s);
	if (s->bad) {
		/* nothing more */
	} else if (src_eat(s, "{")) {
		block(s);
	} else if (src_eat(s, "for")) {
		loop(s);
	} else if (src_eat(s, "if")) {
		s->k.branches = true;
		src_need(s, "(");
		src_expr(s);
		src_need(s, ")");
		statement(s);
		if (src_eat(s, "else"))
			statement(s);
	} else if (src_eat(s, "return")) {
		s->k.branches = true;
		src_need(s, ";");
	} else if (src_is(s, "while") || src_is(s, "do") || src_is(s, "goto") ||
		   src_is(s, "switch") || src_is(s, "break") || src_is(s, "continue")) {
		s->bad = true;
	} else if (src_at_type(s)) {
		declaration(s);
	} else if (!src_eat(s, ";")) {
		src_expr(s);
		while (!s->bad && src_eat(s, ","))
			src_expr(s);
		src_need(s, ";");
	}
	s->depth--;
}

/* --- kernels --- */

static void parameters(struct cl_text *s)
{
	uint8_t space;
	uint32_t stars;
	struct src_val t;

	src_need(s, "(");
	while (!s->bad && !src_is(s, ")")) {
		src_type(s, &t, &space, &stars);
		if (s->bad || s->kind != SRC_WORD)
			break;
		src_declare(s, s->hash, &t, stars ? space : SRC_VALUE);
		src_token(s);
		if (!src_eat(s, ","))
			break;
	}
	src_need(s, ")");
}

static bool kernel(struct cl_text *s)
{
	s->k = (struct source_kernel){ .branches = false };
	s->vars = s->loops = s->depth = 0;
	s->times = 1;
	src_skip_attributes(s);
	src_need(s, "void");
	src_skip_attributes(s);
	if (s->kind != SRC_WORD || s->len >= SOURCE_NAME)
		return false;
	memcpy(s->k.name, s->word, s->len);
	src_token(s);
	parameters(s);
	src_skip_attributes(s);
	src_need(s, "{");
	if (!s->bad)
		block(s);
	return !s->bad;
}

void source_begin(struct cl_text *s, const char *text, size_t len)
{
	s->at = text;
	s->end = text + (len < SOURCE_TEXT ? len : SOURCE_TEXT);
	s->tokens = s->depth = 0;
	s->bad = false;
	src_token(s);
}

bool source_next(struct cl_text *s)
{
	bool macros = s->bad; /* of the whole text */

	while (!macros && s->kind != SRC_END) {
		if (!src_eat(s, "__kernel") && !src_eat(s, "kernel")) {
			src_token(s);
			macros = s->bad;
			continue;
		}
		if (kernel(s))
			return true;
		s->bad = false;
	}
	return false;
}

size_t source_text(char *out, size_t cap, const struct source_kernel *k)
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
