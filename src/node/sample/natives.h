/* SPDX-License-Identifier: Apache-2.0 */
/* natives.h - what native frames are called: asked once for each place in code, bounded. */
#pragma once

#include "base/map.h"
#include "stacks/native.h"

struct natives_row {
	uint32_t name_at, file_at; /* in the texts */
	uint64_t hash;             /* of both */
	bool eval;                 /* it runs the interpreter's loop */
	bool inside;               /* how the interpreter calls: no reader of a stack needs it */
};

struct natives {
	struct native *n;        /* owned */
	struct map places;       /* module and offset -> row + 1 */
	struct natives_row *row; /* owned; room for .cap */
	size_t rows, cap;
	char *text; /* owned; room for text_cap */
	size_t text_n, text_cap;
	size_t learned;    /* names that were demangled, and are kept for good */
	uint64_t quiet_ns; /* no name is demangled before */
};

int natives_init(struct natives *x);
void natives_fini(struct natives *x);

/* Makes room, so that rows of this stack stay valid until the next call, and demangles its new names: a
 * child process does that, one for all of them. */
void natives_begin(struct natives *x, const struct native_frame *f, size_t n);
/* NULL: no memory. */
const struct natives_row *natives_at(struct natives *x, const struct native_frame *f);
