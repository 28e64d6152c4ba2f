/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - source lines and inlined functions, where a module has debug information.
 *
 * A child process reads them with libdw, into its memory: only modules with little debug information
 * are read. Without libdw there are none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "stacks/image.h"
#include "stacks/native.h"

struct lines;

/* Starts a child. -ENOENT: it has no debug information. */
int lines_new(struct lines **out, const struct image *i);
void lines_free(struct lines *l);

/* Innermost first; the last one is the function itself, the others are FRAME_INLINE. */
size_t lines_at(struct lines *l, uint64_t vaddr, struct native_name *out, size_t cap);
