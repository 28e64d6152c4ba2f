/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_program.c - runs the programs of .eh_frame; see cfi.h. */
#include <errno.h>
#include <string.h>

#include "stacks/cfi_priv.h"

#define STATES 16u /* remembered ones */

struct machine {
	const struct cfi_common *cie;
	uint64_t at, until; /* the address whose row is wanted */
	struct cfi_rule now, first, kept[STATES];
	size_t depth;
};

static int slot(uint64_t reg)
{
	for (int k = 0; k < (int)CFI_KEPT; k++)
		if (cfi_kept[k] == reg)
			return k;
	return -1;
}

static void set(struct machine *m, uint64_t reg, enum cfi_how how, int64_t off)
{
	int k = slot(reg);

	if (k < 0)
		return;
	if (off != (int32_t)off)
		how = CFI_UNKNOWN;
	m->now.how[k] = (uint8_t)how;
	m->now.off[k] = (int32_t)off;
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	bool fits = reg <= cfi_kept[CFI_RETURN] && off == (int32_t)off;

	m->now.cfa = fits ? CFA_REG : CFA_NONE;
	m->now.cfa_reg = fits ? (uint8_t)reg : 0;
	m->now.cfa_off = fits ? (int32_t)off : 0;
}

/* The form of an expression, or CFA_NONE. */
static enum cfi_cfa expression(struct cfi_bytes *c, uint8_t *reg, int32_t *off)
{
	static const unsigned char plt[] = {
		0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22
	};
	uint64_t len = cur_uleb(c);
	struct cfi_bytes e;
	unsigned int op;
	int64_t by;

	if (len > c->n - c->at) {
		c->bad = true;
		return CFA_NONE;
	}
	e = (struct cfi_bytes){ .b = c->b + c->at, .n = (size_t)len };
	c->at += (size_t)len;
	if (len == sizeof(plt) && !memcmp(e.b, plt, 6) && !memcmp(e.b + 7, plt + 7, 4) &&
	    e.b[6] >= 0x30 && e.b[6] < 0x40) {
		*off = e.b[6] - 0x30;
		return CFA_PLT;
	}
	op = (unsigned int)cur_fixed(&e, 1);
	by = cur_sleb(&e);
	if (e.bad || op < 0x70 || op > 0x70 + 16 || by != (int32_t)by)
		return CFA_NONE;
	*reg = (uint8_t)(op - 0x70);
	*off = (int32_t)by;
	if (e.at == e.n)
		return CFA_REG;
	return cur_fixed(&e, 1) == 0x06 && e.at == e.n ? CFA_DEREF : CFA_NONE;
}

static void saved_by_expression(struct machine *m, struct cfi_bytes *c)
{
	uint64_t of = cur_uleb(c);
	uint8_t reg = 0;
	int32_t off = 0;
	bool plain = expression(c, &reg, &off) == CFA_REG;
	int k = slot(of);

	set(m, of, plain ? CFI_AT_REG : CFI_UNKNOWN, off);
	if (k >= 0)
		m->now.reg[k] = reg;
}

static void restore(struct machine *m, uint64_t reg)
{
	int k = slot(reg);

	if (k < 0)
		return;
	m->now.how[k] = m->first.how[k];
	m->now.off[k] = m->first.off[k];
	m->now.reg[k] = m->first.reg[k];
}

static void states(struct machine *m, struct cfi_bytes *c, bool remember)
{
	if (remember ? m->depth == STATES : !m->depth)
		c->bad = true;
	else if (remember)
		m->kept[m->depth++] = m->now;
	else
		m->now = m->kept[--m->depth];
}

/* Factored offsets; a product that is too large becomes an unknown rule. */
static int64_t times(const struct machine *m, int64_t v)
{
	int64_t out;

	return __builtin_mul_overflow(v, m->cie->data, &out) ? INT64_MAX : out;
}

static void step_cfa(struct machine *m, struct cfi_bytes *c, unsigned int op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c:
		reg = cur_uleb(c);
		set_cfa(m, reg, (int64_t)cur_uleb(c));
		break;
	case 0x0d:
		set_cfa(m, cur_uleb(c), m->now.cfa_off);
		break;
	case 0x0e:
		set_cfa(m, m->now.cfa_reg, (int64_t)cur_uleb(c));
		break;
	case 0x0f:
		m->now.cfa = (uint8_t)expression(c, &m->now.cfa_reg, &m->now.cfa_off);
		break;
	case 0x12:
		reg = cur_uleb(c);
		set_cfa(m, reg, times(m, cur_sleb(c)));
		break;
	default: /* 0x13 */
		set_cfa(m, m->now.cfa_reg, times(m, cur_sleb(c)));
		break;
	}
}

static void step_more(struct machine *m, struct cfi_bytes *c, unsigned int op)
{
	uint64_t reg;

	switch (op) {
	case 0x09: /* in another register */
		set(m, cur_uleb(c), CFI_UNKNOWN, 0);
		cur_uleb(c);
		break;
	case 0x10:
		saved_by_expression(m, c);
		break;
	case 0x11:
		reg = cur_uleb(c);
		set(m, reg, CFI_AT_CFA, times(m, cur_sleb(c)));
		break;
	case 0x14: /* the value itself, not where it is */
	case 0x15:
		set(m, cur_uleb(c), CFI_UNKNOWN, 0);
		cur_uleb(c);
		break;
	case 0x16:
		set(m, cur_uleb(c), CFI_UNKNOWN, 0);
		reg = cur_uleb(c);
		c->at = reg > c->n - c->at ? c->n : c->at + (size_t)reg;
		break;
	case 0x2e: /* bytes of arguments */
		cur_uleb(c);
		break;
	default:
		c->bad = true;
	}
}

static void step(struct machine *m, struct cfi_bytes *c, unsigned int op)
{
	uint64_t reg;

	switch (op) {
	case 0x00:
		break;
	case 0x01:
		m->at = cur_pointer(c, m->cie->enc, true);
		break;
	case 0x02:
	case 0x03:
	case 0x04:
		m->at += cur_fixed(c, (size_t)1 << (op - 2)) * m->cie->code;
		break;
	case 0x05:
		reg = cur_uleb(c);
		set(m, reg, CFI_AT_CFA, times(m, (int64_t)cur_uleb(c)));
		break;
	case 0x06:
		restore(m, cur_uleb(c));
		break;
	case 0x07:
		set(m, cur_uleb(c), CFI_UNDEFINED, 0);
		break;
	case 0x08:
		set(m, cur_uleb(c), CFI_SAME, 0);
		break;
	case 0x0a:
	case 0x0b:
		states(m, c, op == 0x0a);
		break;
	case 0x0c:
	case 0x0d:
	case 0x0e:
	case 0x0f:
	case 0x12:
	case 0x13:
		step_cfa(m, c, op);
		break;
	default:
		step_more(m, c, op);
	}
}

/* Up to the row of `until`. Every step takes a byte at least. */
static int run(struct machine *m, struct cfi_bytes *c)
{
	while (c->at < c->n && !c->bad) {
		unsigned int op = (unsigned int)cur_fixed(c, 1);

		if (op >> 6 == 1)
			m->at += (op & 63) * m->cie->code;
		else if (op >> 6 == 2)
			set(m, op & 63, CFI_AT_CFA, times(m, (int64_t)cur_uleb(c)));
		else if (op >> 6 == 3)
			restore(m, op & 63);
		else
			step(m, c, op);
		if (m->at > m->until)
			return 0;
	}
	return c->bad ? -ENOEXEC : 0;
}

int cfi_run(const struct cfi_common *cie, struct cfi_bytes *first, struct cfi_bytes *then,
	    uint64_t begin, uint64_t vaddr, struct cfi_rule *out)
{
	struct machine m = { .cie = cie, .until = vaddr };
	int err = run(&m, first);

	m.first = m.now;
	m.at = begin;
	err = err ? err : run(&m, then);
	if (!err)
		*out = m.now;
	return err;
}
