/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.h - how to get from a function to its caller, as .eh_frame says it.
 *
 * Of DWARF's rules those are kept that compilers and libc use on x86-64; CFA is the stack pointer
 * before the call. An expression is known in three forms: a register and an offset, what is stored
 * there, and the one of procedure linkage tables. What else there is counts as "no rule".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stacks/image.h"

enum cfi_cfa {
	CFA_NONE,  /* an unknown expression */
	CFA_REG,   /* register + offset */
	CFA_DEREF, /* what is stored there */
	CFA_PLT,   /* SP + 8, and 8 more from byte `cfa_off` of an entry on */
};

enum cfi_how {
	CFI_SAME,      /* the function does not change it */
	CFI_UNDEFINED, /* of the return address: there is no caller */
	CFI_AT_CFA,    /* saved at CFA + offset */
	CFI_AT_REG,    /* saved at register + offset */
	CFI_UNKNOWN,
};

/* Registers that a function keeps for its caller, and the return address. */
#define CFI_KEPT   7u
#define CFI_RBP    1u /* among them */
#define CFI_RETURN 6u
extern const unsigned char cfi_kept[CFI_KEPT]; /* their numbers in DWARF */

struct cfi_rule {
	uint32_t begin; /* of the function, as a virtual address */
	int32_t cfa_off;
	int32_t off[CFI_KEPT];
	uint8_t how[CFI_KEPT], reg[CFI_KEPT];
	uint8_t cfa, cfa_reg;
	bool signal; /* the frame that a kernel made for a signal: its caller did not call */
};

/* -ENOENT: the function has none. */
int cfi_find(const struct image *i, uint64_t vaddr, struct cfi_rule *out);
/* Does a function begin just there? */
bool cfi_begins(const struct image *i, uint64_t vaddr);
