/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - the functions of a module, sorted by address.
 *
 * From .symtab, or from .dynsym and the packed table of .gnu_debugdata. Names stay in the file: a
 * row is 12 bytes. A function ends where its size says: in a stripped library an address that
 * belongs to no known function has no name, and not that of the function before it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "stacks/image.h"

#define SYMBOLS_MAX (2u << 20) /* rows; a module that has more has no names */

struct symbol {
	uint32_t at, size;
	uint32_t name; /* where it is among the names; the top bit: in the packed table */
};

struct symbols {
	struct symbol *row; /* owned */
	size_t n, cap;
	struct image mini; /* the packed table; .mem NULL: none */
};

int symbols_read(struct symbols *out, const struct image *i);
void symbols_fini(struct symbols *s);
static inline size_t symbols_bytes(const struct symbols *s)
{
	return s->cap * sizeof(*s->row) + (s->mini.mem ? (size_t)s->mini.size : 0);
}

/* The function at an address; `i` is the image that `s` is of. -ENOENT: none is known there. */
int symbols_name(const struct symbols *s, const struct image *i, uint64_t vaddr, char *out,
		 size_t cap);
/* Where a symbol of any kind is, without a table; 0: nowhere. */
uint64_t symbols_find(const struct image *i, const char *name);
