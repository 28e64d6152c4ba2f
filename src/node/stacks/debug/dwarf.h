/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf.h - what DWARF says of an address, by libdw. Only for a child process that may die (lines.h):
 * libdw believes a file, and one that lies makes it read past its buffers, or busy for long.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "stacks/native.h"

struct dwarf;

/* fd: an ELF file, borrowed. NULL: it cannot be read, or there is no libdw. */
struct dwarf *dwarf_open(int fd);

/*
 * Fills out[] innermost first: functions that are inlined at the address, each into the next one, and
 * last the function itself. Returns how many, at most NATIVE_INLINES; 0: nothing is known.
 */
size_t dwarf_look(struct dwarf *d, uint64_t vaddr, struct native_name out[NATIVE_INLINES]);
