/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.c - finds a function's entry in .eh_frame and runs its program; see cfi.h.
 *
 *	.eh_frame_hdr  version, three encodings, then a sorted table of (function, entry)
 *	entry (FDE)    length, distance back to its CIE, function's begin and size, program
 *	CIE            length, 0, version, augmentation, factors, the program that comes first
 */
#include "stacks/cfi.h"

#include <errno.h>
#include <string.h>

#define ENTRY  16384u /* bytes of a CIE or FDE that are looked at */
#define STATES 16u    /* remembered ones */
#define PAGE   4096u

#define PE_OMIT  0xffu
#define PE_TABLE 0x3bu /* pairs of 4 bytes, relative to the table's header: what linkers write */

const unsigned char cfi_kept[CFI_KEPT] = { 3, 6, 12, 13, 14, 15, 16 };

/* --- bytes --- */

struct cursor {
	const unsigned char *b;
	size_t at, n;
	uint64_t vaddr; /* of b[0] */
	bool bad;       /* it was read past the end: what came since is 0 */
};

static uint64_t fixed(struct cursor *c, size_t size)
{
	uint64_t v = 0;

	if (size > c->n - c->at) {
		c->at = c->n;
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->b + c->at, size);
	c->at += size;
	return v;
}

static int64_t fixed_signed(struct cursor *c, size_t size)
{
	uint64_t v = fixed(c, size);
	unsigned int up = 64 - 8 * (unsigned int)size;

	return (int64_t)(v << up) >> up;
}

static uint64_t leb(struct cursor *c, bool with_sign)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	unsigned char b;

	do {
		b = (unsigned char)fixed(c, 1);
		if (shift < 64)
			v |= (uint64_t)(b & 127) << shift;
		shift += 7;
	} while (b & 128 && !c->bad);
	if (with_sign && b & 64 && shift < 64)
		v |= ~0ull << shift;
	return v;
}

static uint64_t uleb(struct cursor *c)
{
	return leb(c, false);
}

static int64_t sleb(struct cursor *c)
{
	return (int64_t)leb(c, true);
}

/* A pointer; what it is relative to is added if `whole`. */
static uint64_t pointer(struct cursor *c, unsigned int enc, bool whole)
{
	uint64_t here = c->vaddr + c->at, v;

	switch (enc & 15) {
	case 0:
	case 4:
	case 12:
		v = fixed(c, 8);
		break;
	case 1:
		v = uleb(c);
		break;
	case 2:
		v = fixed(c, 2);
		break;
	case 3:
		v = fixed(c, 4);
		break;
	case 9:
		v = (uint64_t)sleb(c);
		break;
	case 10:
		v = (uint64_t)fixed_signed(c, 2);
		break;
	case 11:
		v = (uint64_t)fixed_signed(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	switch (whole ? enc & 0xf0 : 0) {
	case 0:
		return v;
	case 0x10:
		return v + here;
	default:
		c->bad = true;
		return 0;
	}
}

/* --- the table --- */

struct pair {
	int32_t function, entry; /* relative to the header */
};

/* Binary search by pages of the file: the last steps are within one. -ENOENT: before the first. */
static int search(const struct image *i, uint64_t table, uint64_t count, uint64_t vaddr,
		  struct pair *out)
{
	struct pair page[PAGE / sizeof(struct pair)];
	uint64_t low = 0, high = count; /* the answer is in [low, high) or before it */
	struct pair best;
	bool found = false;

	while (low < high) {
		bool few = high - low <= sizeof(page) / sizeof(page[0]);
		uint64_t at = few ? low : low + (high - low) / 2;
		size_t n = few ? (size_t)(high - low) : 1;

		if (image_at(i, table + at * sizeof(page[0]), page, n * sizeof(page[0])) !=
		    (ptrdiff_t)(n * sizeof(page[0])))
			return -ENOEXEC;
		for (size_t k = 0; few && k < n; k++) {
			if (i->frames + (uint64_t)(int64_t)page[k].function > vaddr)
				break;
			best = page[k];
			found = true;
		}
		if (few)
			break;
		if (i->frames + (uint64_t)(int64_t)page[0].function > vaddr) {
			high = at;
		} else {
			best = page[0];
			found = true;
			low = at + 1;
		}
	}
	if (!found)
		return -ENOENT;
	*out = best;
	return 0;
}

static int find_pair(const struct image *i, uint64_t vaddr, struct pair *out)
{
	unsigned char head[64];
	struct cursor c = { .b = head, .vaddr = i->frames };
	ptrdiff_t n = i->frames ? image_at(i, i->frames, head, sizeof(head)) : -ENOENT;
	unsigned int frame_enc, count_enc, table_enc;
	uint64_t count;

	if (n < 0)
		return (int)n;
	c.n = (size_t)n;
	if (fixed(&c, 1) != 1)
		return -ENOENT;
	frame_enc = (unsigned int)fixed(&c, 1);
	count_enc = (unsigned int)fixed(&c, 1);
	table_enc = (unsigned int)fixed(&c, 1);
	if (table_enc != PE_TABLE || count_enc == PE_OMIT)
		return -ENOENT;
	if (frame_enc != PE_OMIT)
		pointer(&c, frame_enc, false);
	count = pointer(&c, count_enc, true);
	if (c.bad || count > i->frames_size / sizeof(*out))
		return -ENOEXEC;
	return search(i, i->frames + c.at, count, vaddr, out);
}

bool cfi_begins(const struct image *i, uint64_t vaddr)
{
	struct pair p;

	return !find_pair(i, vaddr, &p) && i->frames + (uint64_t)(int64_t)p.function == vaddr;
}

/* --- entries --- */

/* A CIE or FDE, from behind its length on. */
static int entry(const struct image *i, uint64_t vaddr, unsigned char raw[ENTRY], struct cursor *c)
{
	ptrdiff_t n = image_at(i, vaddr, raw, 512); /* mostly enough */
	uint32_t len;

	if (n < 4)
		return -ENOEXEC;
	memcpy(&len, raw, sizeof(len));
	if (len > ENTRY - 4)
		return -ENOEXEC; /* and those whose length has 64 bits */
	if (len + 4u > (size_t)n)
		n = image_at(i, vaddr, raw, len + 4u);
	if (n < 0 || len + 4u > (size_t)n)
		return -ENOEXEC;
	*c = (struct cursor){ .b = raw, .at = 4, .n = len + 4u, .vaddr = vaddr };
	return 0;
}

struct common {
	uint64_t code;
	int64_t data;
	unsigned int enc;
	bool sized, signal;
};

static int augmentation(struct cursor *c, const char *text, struct common *out)
{
	size_t end;
	uint64_t len;

	if (*text != 'z')
		return *text ? -ENOEXEC : 0;
	out->sized = true;
	len = uleb(c);
	if (len > c->n - c->at)
		return -ENOEXEC;
	end = c->at + (size_t)len;
	for (text++; *text; text++) {
		if (*text == 'R')
			out->enc = (unsigned int)fixed(c, 1);
		else if (*text == 'L')
			fixed(c, 1);
		else if (*text == 'P')
			pointer(c, (unsigned int)fixed(c, 1), false);
		else if (*text == 'S')
			out->signal = true;
		else
			break; /* what it means is not known, and neither is what follows */
	}
	c->at = end;
	return c->bad ? -ENOEXEC : 0;
}

/* Leaves the cursor at the CIE's program. */
static int common(struct cursor *c, struct common *out)
{
	unsigned int version;
	const char *text;
	uint64_t ret;

	*out = (struct common){ 0 };
	if (fixed(c, 4) != 0)
		return -ENOEXEC;
	version = (unsigned int)fixed(c, 1);
	text = (const char *)c->b + c->at;
	while (c->at < c->n && c->b[c->at])
		c->at++;
	fixed(c, 1);
	out->code = uleb(c);
	out->data = sleb(c);
	ret = version == 1 ? fixed(c, 1) : uleb(c);
	if (c->bad || (version != 1 && version != 3) || ret != cfi_kept[CFI_RETURN])
		return -ENOEXEC;
	return augmentation(c, text, out);
}

/* --- programs --- */

struct machine {
	const struct common *cie;
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
static enum cfi_cfa expression(struct cursor *c, uint8_t *reg, int32_t *off)
{
	static const unsigned char plt[] = {
		0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22
	};
	uint64_t len = uleb(c);
	struct cursor e;
	unsigned int op;
	int64_t by;

	if (len > c->n - c->at) {
		c->bad = true;
		return CFA_NONE;
	}
	e = (struct cursor){ .b = c->b + c->at, .n = (size_t)len };
	c->at += (size_t)len;
	if (len == sizeof(plt) && !memcmp(e.b, plt, 6) && !memcmp(e.b + 7, plt + 7, 4) &&
	    e.b[6] >= 0x30 && e.b[6] < 0x40) {
		*off = e.b[6] - 0x30;
		return CFA_PLT;
	}
	op = (unsigned int)fixed(&e, 1);
	by = sleb(&e);
	if (e.bad || op < 0x70 || op > 0x70 + 16 || by != (int32_t)by)
		return CFA_NONE;
	*reg = (uint8_t)(op - 0x70);
	*off = (int32_t)by;
	if (e.at == e.n)
		return CFA_REG;
	return fixed(&e, 1) == 0x06 && e.at == e.n ? CFA_DEREF : CFA_NONE;
}

static void saved_by_expression(struct machine *m, struct cursor *c)
{
	uint64_t of = uleb(c);
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

static void states(struct machine *m, struct cursor *c, bool remember)
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

static void step_cfa(struct machine *m, struct cursor *c, unsigned int op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c:
		reg = uleb(c);
		set_cfa(m, reg, (int64_t)uleb(c));
		break;
	case 0x0d:
		set_cfa(m, uleb(c), m->now.cfa_off);
		break;
	case 0x0e:
		set_cfa(m, m->now.cfa_reg, (int64_t)uleb(c));
		break;
	case 0x0f:
		m->now.cfa = (uint8_t)expression(c, &m->now.cfa_reg, &m->now.cfa_off);
		break;
	case 0x12:
		reg = uleb(c);
		set_cfa(m, reg, times(m, sleb(c)));
		break;
	default: /* 0x13 */
		set_cfa(m, m->now.cfa_reg, times(m, sleb(c)));
		break;
	}
}

static void step_more(struct machine *m, struct cursor *c, unsigned int op)
{
	uint64_t reg;

	switch (op) {
	case 0x09: /* in another register */
		set(m, uleb(c), CFI_UNKNOWN, 0);
		uleb(c);
		break;
	case 0x10:
		saved_by_expression(m, c);
		break;
	case 0x11:
		reg = uleb(c);
		set(m, reg, CFI_AT_CFA, times(m, sleb(c)));
		break;
	case 0x14: /* the value itself, not where it is */
	case 0x15:
		set(m, uleb(c), CFI_UNKNOWN, 0);
		uleb(c);
		break;
	case 0x16:
		set(m, uleb(c), CFI_UNKNOWN, 0);
		reg = uleb(c);
		c->at = reg > c->n - c->at ? c->n : c->at + (size_t)reg;
		break;
	case 0x2e: /* bytes of arguments */
		uleb(c);
		break;
	default:
		c->bad = true;
	}
}

static void step(struct machine *m, struct cursor *c, unsigned int op)
{
	uint64_t reg;

	switch (op) {
	case 0x00:
		break;
	case 0x01:
		m->at = pointer(c, m->cie->enc, true);
		break;
	case 0x02:
	case 0x03:
	case 0x04:
		m->at += fixed(c, (size_t)1 << (op - 2)) * m->cie->code;
		break;
	case 0x05:
		reg = uleb(c);
		set(m, reg, CFI_AT_CFA, times(m, (int64_t)uleb(c)));
		break;
	case 0x06:
		restore(m, uleb(c));
		break;
	case 0x07:
		set(m, uleb(c), CFI_UNDEFINED, 0);
		break;
	case 0x08:
		set(m, uleb(c), CFI_SAME, 0);
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
static int run(struct machine *m, struct cursor *c)
{
	while (c->at < c->n && !c->bad) {
		unsigned int op = (unsigned int)fixed(c, 1);

		if (op >> 6 == 1)
			m->at += (op & 63) * m->cie->code;
		else if (op >> 6 == 2)
			set(m, op & 63, CFI_AT_CFA, times(m, (int64_t)uleb(c)));
		else if (op >> 6 == 3)
			restore(m, op & 63);
		else
			step(m, c, op);
		if (m->at > m->until)
			return 0;
	}
	return c->bad ? -ENOEXEC : 0;
}

int cfi_find(const struct image *i, uint64_t vaddr, struct cfi_rule *out)
{
	unsigned char fde[ENTRY], cie[ENTRY];
	struct cursor f, c;
	struct common com;
	struct machine m = { .cie = &com, .until = vaddr };
	struct pair p;
	uint64_t begin, at;
	int err = find_pair(i, vaddr, &p);

	if (err)
		return err;
	at = i->frames + (uint64_t)(int64_t)p.entry;
	err = entry(i, at, fde, &f);
	if (err)
		return err;
	err = entry(i, at + 4 - fixed(&f, 4), cie, &c);
	err = err ? err : common(&c, &com);
	if (err)
		return err;
	begin = pointer(&f, com.enc, true);
	if (f.bad || begin > vaddr || vaddr - begin >= pointer(&f, com.enc, false) ||
	    begin > UINT32_MAX)
		return -ENOENT;
	at = com.sized ? uleb(&f) : 0;
	if (f.bad || at > f.n - f.at)
		return -ENOEXEC;
	f.at += (size_t)at;
	err = run(&m, &c);
	m.first = m.now;
	m.at = begin;
	err = err ? err : run(&m, &f);
	if (err)
		return err;
	m.now.begin = (uint32_t)begin;
	m.now.signal = com.signal;
	*out = m.now;
	return 0;
}
