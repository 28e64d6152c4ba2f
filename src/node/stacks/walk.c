/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - from frame to frame; see native.h.
 *
 * By the rule of the function, if there is one and the register that it counts from is known. If
 * not, by a scan: the first word above SP that points behind a call is the return address, unless
 * it is known to be an old one:
 *  - it is behind a direct call of another function (kept for the case that nothing better comes:
 *    a function that ends with a jump is not the one that was called);
 *  - the rule of the caller that it would mean leads to something that is no return address.
 */
#include <string.h>

#include "stacks/native_priv.h"

#define SCAN_WORDS 8192u /* of a stack, for all of its frames */
#define SURER      256u  /* words behind a likely one, in which a sure one is looked for */
#define MORE_BYTES 8192u /* read at once from outside the copy */
#define MORE_READS 32u
#define NEAR       (1u << 20) /* bytes of the longest function without a rule */

struct walk {
	struct native_target *t;
	const struct native_copy *copy;
	uint64_t reg[NATIVE_REGS];
	uint32_t known;
	size_t scans, reads; /* left */
	bool ended;          /* a word was wanted that is not in the copy */
	uint64_t more_at;
	size_t more_len;
	unsigned char more[MORE_BYTES];
};

/* Where a frame is. */
struct place {
	struct module *m; /* NULL: in no file */
	uint64_t vaddr;
	const struct cfi_rule *rule; /* NULL: none; valid until the next rule_at() */
};

/* --- words of the stack --- */

static bool within(uint64_t addr, uint64_t base, size_t len)
{
	return addr >= base && len >= 8 && addr - base <= len - 8;
}

static bool word(struct walk *w, uint64_t addr, uint64_t *out)
{
	const struct native_copy *c = w->copy;

	if (within(addr, c->base, c->len)) {
		memcpy(out, (const char *)c->mem + (addr - c->base), 8);
		return true;
	}
	if (!within(addr, w->more_at, w->more_len)) {
		w->ended |= !c->stays || !w->reads;
		if (!c->stays || !w->reads)
			return false;
		w->reads--;
		w->more_at = addr;
		w->more_len = target_read_some(w->t, addr, w->more, sizeof(w->more));
		if (!within(addr, w->more_at, w->more_len))
			return false;
	}
	memcpy(out, w->more + (addr - w->more_at), 8);
	return true;
}

static bool known(const struct walk *w, unsigned int reg)
{
	return w->known >> reg & 1;
}

/* --- by a rule --- */

static bool cfa_of(struct walk *w, const struct cfi_rule *r, uint64_t *cfa)
{
	uint64_t at = w->reg[r->cfa_reg] + (uint64_t)(int64_t)r->cfa_off;

	switch (r->cfa) {
	case CFA_REG:
		*cfa = at;
		return known(w, r->cfa_reg);
	case CFA_DEREF:
		return known(w, r->cfa_reg) && word(w, at, cfa);
	case CFA_PLT:
		*cfa = w->reg[NATIVE_SP] + 8 +
		       (((w->reg[NATIVE_PC] & 15) >= (uint64_t)r->cfa_off) ? 8 : 0);
		return true;
	default:
		return false;
	}
}

/* The caller's registers, as far as they can be known. false: there is no return address. */
static bool caller(struct walk *w, const struct cfi_rule *r, uint64_t cfa)
{
	uint64_t reg[NATIVE_REGS] = { [NATIVE_SP] = cfa };
	uint32_t got = 1u << NATIVE_SP;

	for (size_t k = 0; k < CFI_KEPT; k++) {
		unsigned int of = cfi_kept[k];
		uint64_t off = (uint64_t)(int64_t)r->off[k];
		bool ok = false;

		if (r->how[k] == CFI_SAME && k != CFI_RETURN) {
			reg[of] = w->reg[of];
			ok = known(w, of);
		} else if (r->how[k] == CFI_AT_CFA) {
			ok = word(w, cfa + off, &reg[of]);
		} else if (r->how[k] == CFI_AT_REG) {
			ok = known(w, r->reg[k]) && word(w, w->reg[r->reg[k]] + off, &reg[of]);
		}
		got |= (uint32_t)ok << of;
	}
	if (!(got >> NATIVE_PC & 1))
		return false;
	memcpy(w->reg, reg, sizeof(reg));
	w->known = got;
	return true;
}

/* --- by a scan --- */

/*
 * The caller's own frame, if it can be known: from its SP, or from its RBP where the current function
 * has saved that. sp: the caller's.
 */
static bool frame_of(struct walk *w, const struct cfi_rule *now, const struct cfi_rule *r,
		     uint64_t sp, uint64_t *cfa)
{
	uint64_t from = sp;

	if (r->cfa != CFA_REG || r->how[CFI_RETURN] != CFI_AT_CFA)
		return false;
	if (r->cfa_reg == cfi_kept[CFI_RBP]) {
		if (!now || now->how[CFI_RBP] != CFI_AT_CFA ||
		    !word(w, sp + (uint64_t)(int64_t)now->off[CFI_RBP], &from))
			return false;
	} else if (r->cfa_reg != NATIVE_SP) {
		return false;
	}
	*cfa = from + (uint64_t)(int64_t)r->cfa_off;
	return true;
}

/* Whether the word that a caller's rule takes for its return address is one; true without a rule. */
static bool leads_on(struct walk *w, const struct cfi_rule *now, struct module *m, uint64_t vaddr,
		     uint64_t sp)
{
	const struct cfi_rule *r = rule_at(w->t->n, m, vaddr - 1);
	struct mapping *map;
	struct module *next;
	uint64_t pc, cfa;

	if (!r || !frame_of(w, now, r, sp, &cfa))
		return true;
	if (cfa <= sp || cfa % 8 || !word(w, cfa + (uint64_t)(int64_t)r->off[CFI_RETURN], &pc))
		return false;
	map = mapping_at(w->t, pc, false);
	next = map ? module_at(w->t, map, pc, &vaddr) : NULL;
	return map && (!next || call_before(w->t->n, next, vaddr) != CALL_NO);
}

enum likely { NEVER, PERHAPS, LIKELY, SURE };

static enum likely judge(struct walk *w, const struct place *p, uint64_t pc, uint64_t sp)
{
	struct mapping *map = mapping_at(w->t, pc, false);
	uint64_t vaddr, call, to, begin = p->rule ? p->rule->begin : 0;
	struct module *m = map ? module_at(w->t, map, pc, &vaddr) : NULL;

	call = m ? call_before(w->t->n, m, vaddr) : CALL_NO;
	if (call == CALL_NO)
		return NEVER;
	if (!leads_on(w, p->rule, m, vaddr, sp))
		return NEVER;
	if (call == CALL_ANY)
		return LIKELY;
	to = call - CALL_TO;
	if (m == p->m && to == begin && begin)
		return SURE;
	if (cfi_begins(&m->img, to))
		return PERHAPS;
	/* To a stub for a function elsewhere, or to one without a rule, as the current one. */
	return m == p->m && !begin && (to > p->vaddr || p->vaddr - to > NEAR) ? PERHAPS : LIKELY;
}

static bool scan(struct walk *w, const struct place *p)
{
	uint64_t low = w->t->maps ? w->t->map[0].start : UINT64_MAX;
	uint64_t at = (w->reg[NATIVE_SP] + 7) & ~7ull, best_at = 0, best_pc = 0, pc;
	enum likely best = NEVER;
	size_t left = SIZE_MAX; /* words, once one is likely */
	struct cfi_rule r;
	struct place here = *p;

	if (here.rule) { /* looking at others may drop it */
		r = *here.rule;
		here.rule = &r;
	}
	for (; w->scans && left && best != SURE; at += 8, w->scans--, left--) {
		enum likely is;

		if (!word(w, at, &pc))
			break;
		is = pc < low ? NEVER : judge(w, &here, pc, at + 8);
		if (is <= best)
			continue;
		best = is;
		best_at = at;
		best_pc = pc;
		if (is == LIKELY)
			left = here.rule ? SURER : 1;
	}
	if (!best)
		return false;
	w->ended = false;
	/* With the CFA known, the rule says where the rest is. */
	if (!here.rule || here.rule->how[CFI_RETURN] != CFI_AT_CFA ||
	    !caller(w, here.rule, best_at + 8)) {
		w->known = NATIVE_BLOCKED;
		w->reg[NATIVE_SP] = best_at + 8;
	}
	w->reg[NATIVE_PC] = best_pc;
	return true;
}

/* --- frames --- */

static bool go_on(struct walk *w, const struct place *p, uint8_t *flags)
{
	const struct cfi_rule *r = p->rule;
	struct walk was;
	uint64_t cfa;

	*flags = 0;
	if (r && cfa_of(w, r, &cfa) && cfa % 8 == 0 && (cfa > w->reg[NATIVE_SP] || r->signal)) {
		memcpy(was.reg, w->reg, sizeof(was.reg));
		was.known = w->known;
		if (caller(w, r, cfa) &&
		    (!w->reg[NATIVE_PC] || mapping_at(w->t, w->reg[NATIVE_PC], true)))
			return true;
		memcpy(w->reg, was.reg, sizeof(was.reg));
		w->known = was.known;
	}
	if (w->ended)
		return false;
	*flags = FRAME_SCANNED;
	return scan(w, p);
}

size_t native_unwind(struct native_target *t, const struct native_regs *r,
		     const struct native_copy *copy, struct native_frame *out, size_t cap,
		     enum native_end *end)
{
	struct walk w; /* large: `more` is not filled */
	enum native_end why = NATIVE_CUT;
	bool exact = true; /* the first, and who was interrupted: no call ends at the PC */
	uint8_t flags = 0;
	size_t n = 0;

	w.t = t;
	w.copy = copy;
	w.known = r->known;
	w.scans = SCAN_WORDS;
	w.reads = MORE_READS;
	w.ended = false;
	w.more_at = w.more_len = 0;
	memcpy(w.reg, r->value, sizeof(w.reg));
	while (n < cap) {
		uint64_t pc = w.reg[NATIVE_PC] - !exact;
		struct mapping *map = mapping_at(t, pc, true);
		struct place p = { 0 };

		if (map)
			p.m = module_at(t, map, pc, &p.vaddr);
		p.rule = p.m ? rule_at(t->n, p.m, p.vaddr) : NULL;
		out[n++] = (struct native_frame){ .pc = pc,
						  .offset = p.m ? p.vaddr : pc,
						  .module = p.m ? p.m->id : 0,
						  .flags = flags };
		exact = p.rule && p.rule->signal;
		if (p.rule && p.rule->how[CFI_RETURN] == CFI_UNDEFINED) {
			why = NATIVE_WHOLE;
			break;
		}
		if (!go_on(&w, &p, &flags)) {
			why = w.ended ? NATIVE_CUT : NATIVE_LOST;
			break;
		}
		if (!w.reg[NATIVE_PC]) {
			why = NATIVE_WHOLE;
			break;
		}
	}
	if (end)
		*end = why;
	return n;
}
