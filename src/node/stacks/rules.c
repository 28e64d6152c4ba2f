/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - what is known of places in code, kept by module and address; see native.h. */
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "stacks/native_priv.h"

static uint64_t key_of(const struct module *m, uint64_t vaddr)
{
	return (uint64_t)m->id << 32 | (uint32_t)vaddr;
}

/* A full table starts anew: what is in use comes back soon. */
const struct cfi_rule *rule_at(struct native *n, struct module *m, uint64_t vaddr)
{
	uint64_t key = key_of(m, vaddr), at = map_get(&n->rules, key);
	struct cfi_rule r = { .cfa = CFA_NONE };

	if (at)
		return n->rule[at - 1].cfa ? &n->rule[at - 1] : NULL;
	if (n->nrules == NATIVE_RULES) {
		map_fini(&n->rules);
		n->nrules = 0;
	}
	if (cfi_find(&m->img, vaddr, &r) < 0)
		r = (struct cfi_rule){ .cfa = CFA_NONE };
	if (vec_room(&n->rule, &n->rules_cap, n->nrules + 1, sizeof(r)) ||
	    map_put(&n->rules, key, n->nrules + 1))
		return NULL;
	n->rule[n->nrules++] = r;
	return r.cfa ? &n->rule[n->nrules - 1] : NULL;
}

/* --- calls --- */

/* How long an instruction "call through" with this ModRM byte is, without prefixes. */
static size_t call_length(unsigned int modrm, unsigned int sib)
{
	unsigned int mod = modrm >> 6, rm = modrm & 7;

	if (mod == 3)
		return 2;
	if (mod == 0)
		return rm == 5 ? 6 : rm != 4 ? 2 : (sib & 7) == 5 ? 7 : 3;
	return (mod == 1 ? 3 : 6) + (rm == 4);
}

#define LONGEST 7u

/* b: the bytes before an address. */
static uint64_t decode(const unsigned char b[LONGEST], uint64_t vaddr)
{
	uint64_t to;
	int32_t by;

	if (b[LONGEST - 5] == 0xe8) {
		memcpy(&by, b + LONGEST - 4, sizeof(by));
		to = vaddr + (uint64_t)(int64_t)by;
		if (to <= UINT32_MAX)
			return CALL_TO + to;
	}
	for (size_t len = 2; len <= LONGEST; len++) {
		const unsigned char *c = b + LONGEST - len;

		if (c[0] == 0xff && (c[1] >> 3 & 7) == 2 &&
		    call_length(c[1], len > 2 ? c[2] : 0) == len)
			return CALL_ANY;
	}
	return CALL_NO;
}

uint64_t call_before(struct native *n, struct module *m, uint64_t vaddr)
{
	uint64_t key = key_of(m, vaddr), v = map_get(&n->calls, key);
	unsigned char b[LONGEST];

	if (v)
		return v;
	v = vaddr >= LONGEST && image_at(&m->img, vaddr - LONGEST, b, LONGEST) == LONGEST
		    ? decode(b, vaddr)
		    : CALL_NO;
	if (n->calls.used == NATIVE_CALLS)
		map_fini(&n->calls);
	map_put(&n->calls, key, v); /* without memory it is decoded again */
	return v;
}
