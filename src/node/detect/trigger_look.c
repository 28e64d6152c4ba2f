/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_look.c - evaluates a trigger: quantities, arithmetic on a stack; see trigger.h. */
#include "detect/trigger.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "detect/trigger_op.h"

/* --- values --- */

static struct gauge *gauge_of(const struct trigger_meter *m, uint32_t q)
{
	uint32_t before = m->uses & ((1u << q) - 1);

	return m->uses & 1u << q ? (struct gauge *)&m->gauge[__builtin_popcount(before)] : NULL;
}

size_t trigger_meter_bytes(const struct trigger *t)
{
	return sizeof(struct trigger_meter) +
	       (size_t)__builtin_popcount(t->uses) * sizeof(struct gauge);
}

void trigger_meter_init(struct trigger_meter *m, const struct trigger *t)
{
	m->uses = t->uses;
	for (int i = 0; i < __builtin_popcount(t->uses); i++) {
		struct gauge *g = &m->gauge[i];

		*g = (struct gauge){ .now = NAN };
		for (int k = 0; k < STATS; k++)
			g->stat[k] = NAN;
	}
}

static void make_stats(struct gauge *g)
{
	static const double share[STATS] = {
		[STAT_P50] = 0.5, [STAT_P90] = 0.9, [STAT_P99] = 0.99
	};
	float sorted[TRIGGER_HISTORY];
	double sum = 0;

	memcpy(sorted, g->ring, g->n * sizeof(*sorted));
	qsort(sorted, g->n, sizeof(*sorted), cmp_float);
	for (uint32_t i = 0; i < g->n; i++)
		sum += (double)sorted[i];
	for (int i = STAT_P50; i <= STAT_P99; i++)
		g->stat[i] = (double)sorted[(uint32_t)(share[i] * (g->n - 1) + 0.5)];
	g->stat[STAT_MEAN] = sum / g->n;
	g->fresh = 0;
}

void trigger_put(struct trigger_meter *m, enum quantity q, double value)
{
	struct gauge *g = gauge_of(m, q);

	if (!g || !isfinite(value))
		return;
	if (isfinite(g->now)) { /* it is history now */
		g->ring[g->at] = (float)g->now;
		g->at = (g->at + 1) % TRIGGER_HISTORY;
		g->n += g->n < TRIGGER_HISTORY;
		g->fresh++;
	}
	g->now = value;
	if (g->n == TRIGGER_KNOWN || (g->n > TRIGGER_KNOWN && g->fresh >= TRIGGER_AGAIN))
		make_stats(g);
}

void trigger_pause(struct trigger_meter *m)
{
	for (int i = 0; i < __builtin_popcount(m->uses); i++)
		m->gauge[i].now = NAN;
}

static double value_of(const struct trigger_op *o, const struct trigger_meter *m)
{
	const struct gauge *g = gauge_of(m, o->quantity);

	if (!g)
		return NAN;
	return o->stat == STAT_NOW ? g->now : g->stat[o->stat];
}

/* NAN is what is not known, of conditions, too. */
static double two(enum trigger_code op, double a, double b)
{
	if (op == AND)
		return a == 0 || b == 0 ? 0 : a + b == 2 ? 1 : NAN;
	if (op == OR)
		return a == 1 || b == 1 ? 1 : a + b == 0 ? 0 : NAN;
	if (isnan(a) || isnan(b))
		return NAN;
	switch (op) {
	case ADD:
		return a + b;
	case SUB:
		return a - b;
	case MUL:
		return a * b;
	case DIV:
		return b != 0 ? a / b : NAN;
	case LT:
		return a < b;
	case LE:
		return a <= b;
	case GT:
		return a > b;
	case GE:
		return a >= b;
	case EQ:
		return a == b;
	case NE:
		return a != b;
	default:
		return NAN;
	}
}

bool trigger_look(const struct trigger *t, const struct trigger_meter *m)
{
	double stack[TRIGGER_OPS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct trigger_op *o = &t->op[i];

		if (o->op == NUMBER) {
			stack[n++] = o->number;
		} else if (o->op == VALUE) {
			stack[n++] = value_of(o, m);
		} else if (o->op == NEGATE) {
			stack[n - 1] = -stack[n - 1];
		} else if (o->op == NOT) {
			stack[n - 1] = 1 - stack[n - 1];
		} else {
			n--;
			stack[n - 1] = two((enum trigger_code)o->op, stack[n - 1], stack[n]);
		}
	}
	return n == 1 && stack[0] == 1;
}

static int say_number(char *buf, size_t cap, double v)
{
	return isnan(v) ? snprintf(buf, cap, "?") : snprintf(buf, cap, "%.4g", v);
}

void trigger_say(const struct trigger *t, const struct trigger_meter *m, char *buf, size_t cap)
{
	uint32_t said[QUANTITIES] = { 0 };
	size_t at = 0;

	*buf = '\0';
	for (uint32_t i = 0; i < t->n; i++)
		if (t->op[i].op == VALUE)
			said[t->op[i].quantity] |= 1u << t->op[i].stat;
	for (int q = 0; q < QUANTITIES && at < cap; q++) {
		const struct gauge *g = said[q] ? gauge_of(m, (uint32_t)q) : NULL;

		if (!g)
			continue;
		at += (size_t)snprintf(buf + at, cap - at, "%s%s ", at ? ", " : "",
				       quantity_table[q].word);
		if (at < cap)
			at += (size_t)say_number(buf + at, cap - at, g->now);
		for (int s = STAT_P50; s < STATS && at < cap; s++) {
			if (!(said[q] & 1u << s))
				continue;
			at += (size_t)snprintf(buf + at, cap - at, " (%s ", trigger_stat_word[s]);
			if (at < cap)
				at += (size_t)say_number(buf + at, cap - at, g->stat[s]);
			if (at < cap)
				at += (size_t)snprintf(buf + at, cap - at, ")");
		}
	}
}
