/* SPDX-License-Identifier: Apache-2.0 */
/* trigger.c - compiles a trigger's text into a few arithmetic operations; see trigger.h. */
#include "detect/trigger.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "detect/trigger_op.h"

#define BARE QUANTITIES /* a statistic whose quantity its comparison says */

const struct quantity_row quantity_table[QUANTITIES] = {
#define QUANTITY(ID, word, what) { word, what },
#include "detect/quantity.tbl.h"
};

const char *const trigger_stat_word[STATS] = { "", "p50", "p90", "p99", "mean" };

/* --- parsing --- */

enum type { A_NUMBER, A_CONDITION };

struct parser {
	const char *text, *at;
	struct trigger t;
	struct trigger_why *why;
	uint32_t depth;
	int err;
};

static void fail(struct parser *p, const char *at, const char *text)
{
	if (p->err)
		return; /* the first is the reason */
	p->err = -EINVAL;
	p->why->at = (size_t)(at - p->text);
	snprintf(p->why->text, sizeof(p->why->text), "%s", text);
}

static void put(struct parser *p, enum trigger_code op, const char *at, double number)
{
	if (p->t.n == TRIGGER_OPS) {
		fail(p, at, "too long: a trigger has at most 64 parts");
		return;
	}
	p->t.op[p->t.n++] = (struct trigger_op){ .op = (uint8_t)op,
						 .at = (uint16_t)(at - p->text),
						 .number = number };
}

static const char *skip(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
	return p->at;
}

/* A word, or a sign: taken if it is the next. */
static bool take(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	skip(p);
	if (strncmp(p->at, word, len) ||
	    (isalpha((unsigned char)*word) &&
	     (isalnum((unsigned char)p->at[len]) || p->at[len] == '_')))
		return false;
	p->at += len;
	return true;
}

static enum type parse_or(struct parser *p);

static void want(struct parser *p, const char *at, enum type is, enum type type)
{
	if (is != type)
		fail(p, at,
		     type == A_NUMBER
			     ? "expected a number here, not a condition"
			     : "expected a condition here, as step_ms > 100, not a number");
}

/* The word at `at`, as one of a table. */
static int word_of(const char *at, size_t len, const char *const *table, int n)
{
	for (int i = 0; i < n; i++)
		if (strlen(table[i]) == len && !strncmp(at, table[i], len))
			return i;
	return n;
}

static int quantity_of(const char *at, size_t len)
{
	const char *word[QUANTITIES];

	for (int i = 0; i < QUANTITIES; i++)
		word[i] = quantity_table[i].word;
	return word_of(at, len, word, QUANTITIES);
}

static void no_such(struct parser *p, const char *at)
{
	char text[sizeof(p->why->text)];
	int n = snprintf(text, sizeof(text), "expected p50, p90, p99, mean");

	for (int i = 0; i < QUANTITIES && n < (int)sizeof(text); i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s",
			      i == QUANTITIES - 1 ? " or " : ", ", quantity_table[i].word);
	fail(p, at, text);
}

static void parse_word(struct parser *p)
{
	const char *at = p->at, *inner;
	size_t len = 0;
	int q, stat;

	while (isalnum((unsigned char)at[len]) || at[len] == '_')
		len++;
	p->at += len;
	q = quantity_of(at, len);
	stat = word_of(at, len, trigger_stat_word, STATS);
	if (stat < STATS && take(p, "(")) {
		inner = skip(p);
		len = 0;
		while (isalnum((unsigned char)inner[len]) || inner[len] == '_')
			len++;
		q = quantity_of(inner, len);
		p->at += len;
		if (q == QUANTITIES)
			no_such(p, inner);
		else if (!take(p, ")"))
			fail(p, skip(p), "expected )");
	} else if (stat == STATS) {
		stat = STAT_NOW;
		if (q == QUANTITIES)
			no_such(p, at);
	}
	put(p, VALUE, at, 0);
	if (p->err)
		return;
	p->t.op[p->t.n - 1].quantity = (uint8_t)q;
	p->t.op[p->t.n - 1].stat = (uint8_t)stat;
}

static enum type parse_factor(struct parser *p)
{
	const char *at = skip(p);
	enum type type = A_NUMBER;
	const char *end;
	double v;

	if (p->err || ++p->depth > TRIGGER_DEPTH) {
		fail(p, at, "too deep: parentheses, not and - go 16 deep");
	} else if (take(p, "(")) {
		type = parse_or(p);
		if (!take(p, ")"))
			fail(p, skip(p), "expected )");
	} else if (take(p, "-")) {
		at = skip(p);
		want(p, at, parse_factor(p), A_NUMBER);
		put(p, NEGATE, at, 0);
	} else if (isdigit((unsigned char)*at) || *at == '.') {
		v = num_front_real(at, &end);
		if (end == at || !isfinite(v) || isalpha((unsigned char)*end) ||
		    memchr(at, 'x', (size_t)(end - at)))
			fail(p, at, "expected a number, as 1.2");
		p->at = end;
		put(p, NUMBER, at, v);
	} else if (isalpha((unsigned char)*at)) {
		parse_word(p);
	} else {
		fail(p, at, *at ? "expected a number, a quantity or (" : "expected more");
	}
	p->depth--;
	return type;
}

/* Of signs that bind alike, from left to right. */
static enum type parse_sums(struct parser *p, bool terms)
{
	const char *left = skip(p), *at;
	enum type type = terms ? parse_factor(p) : parse_sums(p, true);
	enum trigger_code op;

	while (!p->err) {
		at = skip(p);
		if (take(p, terms ? "*" : "+"))
			op = terms ? MUL : ADD;
		else if (take(p, terms ? "/" : "-"))
			op = terms ? DIV : SUB;
		else
			break;
		want(p, left, type, A_NUMBER);
		left = skip(p);
		type = terms ? parse_factor(p) : parse_sums(p, true);
		want(p, left, type, A_NUMBER);
		put(p, op, at, 0);
	}
	return type;
}

/* Statistics of a comparison that say no quantity are of the one that it is about. */
static void settle(struct parser *p, uint32_t from)
{
	const struct trigger_op *bare = NULL;
	char text[sizeof(p->why->text)];
	int of = BARE;
	bool many = false;

	for (uint32_t i = from; i < p->t.n; i++) {
		const struct trigger_op *o = &p->t.op[i];

		if (o->op != VALUE)
			continue;
		if (o->quantity == BARE) {
			bare = bare ? bare : o;
			continue;
		}
		many |= of != BARE && of != o->quantity;
		of = o->quantity;
	}
	if (!bare)
		return;
	if (of == BARE || many) {
		snprintf(text, sizeof(text), "%s of what? Write it as %s(step_ms)",
			 trigger_stat_word[bare->stat], trigger_stat_word[bare->stat]);
		fail(p, p->text + bare->at, text);
	}
	for (uint32_t i = from; i < p->t.n; i++)
		if (p->t.op[i].op == VALUE && p->t.op[i].quantity == BARE)
			p->t.op[i].quantity = (uint8_t)of;
}

static enum type parse_compare(struct parser *p)
{
	static const struct {
		const char *sign;
		enum trigger_code op;
	} signs[] = { { "<=", LE }, { ">=", GE }, { "==", EQ },
		      { "!=", NE }, { "<", LT },  { ">", GT } };
	uint32_t from = p->t.n;
	const char *left = skip(p), *at;
	enum type type = parse_sums(p, false);

	for (size_t i = 0; !p->err && i < sizeof(signs) / sizeof(signs[0]); i++) {
		at = skip(p);
		if (!take(p, signs[i].sign))
			continue;
		want(p, left, type, A_NUMBER);
		left = skip(p);
		want(p, left, parse_sums(p, false), A_NUMBER);
		put(p, signs[i].op, at, 0);
		settle(p, from);
		return A_CONDITION;
	}
	return type;
}

static enum type parse_not(struct parser *p)
{
	const char *at = skip(p);
	enum type type;

	if (p->err || !take(p, "not"))
		return parse_compare(p);
	if (++p->depth > TRIGGER_DEPTH) {
		fail(p, at, "too deep: parentheses, not and - go 16 deep");
		return A_CONDITION;
	}
	at = skip(p);
	type = parse_not(p);
	want(p, at, type, A_CONDITION);
	put(p, NOT, at, 0);
	p->depth--;
	return A_CONDITION;
}

/* Conditions between which `word` stands; of these, `and` binds more closely. */
static enum type parse_joined(struct parser *p, const char *word, enum trigger_code op)
{
	const char *left = skip(p), *at;
	enum type type = op == OR ? parse_joined(p, "and", AND) : parse_not(p);

	while (!p->err && (at = skip(p), take(p, word))) {
		want(p, left, type, A_CONDITION);
		left = skip(p);
		type = op == OR ? parse_joined(p, "and", AND) : parse_not(p);
		want(p, left, type, A_CONDITION);
		put(p, op, at, 0);
	}
	return type;
}

static enum type parse_or(struct parser *p)
{
	return parse_joined(p, "or", OR);
}

int trigger_parse(struct trigger *out, const char *text, struct trigger_why *why)
{
	struct parser p = { .text = text, .at = text, .why = why };
	enum type type;

	if (strlen(text) >= TRIGGER_TEXT) {
		fail(&p, text + TRIGGER_TEXT - 1, "too long: a trigger has at most 239 characters");
		return p.err;
	}
	type = parse_or(&p);
	if (!p.err && *skip(&p))
		fail(&p, p.at, "expected an operator, as > + and");
	want(&p, text, type, A_CONDITION);
	for (uint32_t i = 0; i < p.t.n && !p.err; i++)
		if (p.t.op[i].op == VALUE)
			p.t.uses |= 1u << p.t.op[i].quantity;
	if (!p.err && !p.t.uses)
		fail(&p, text, "it is about nothing: name a quantity, as step_ms");
	if (!p.err)
		*out = p.t;
	return p.err;
}
