/* SPDX-License-Identifier: Apache-2.0 */
/*
 * natives.h - what native frames are called: asked once for each place in code, bounded.
 *
 * Functions are known at once, from symbols. Lines and inlined functions come later, from a child that
 * reads debug information: nobody waits for it, but stacks with such a frame are sent when it has
 * answered, or after NATIVES_WAIT_NS. It may use a second of CPU, and then NATIVES_CPU of one.
 */
#pragma once

#include "base/map.h"
#include "stacks/native.h"

#define NATIVES_WAIT_NS  2000000000ull
#define NATIVES_CPU      0.005
#define NATIVES_BURST_NS 1000000000ull

enum natives_lines { LINES_NONE, LINES_ASKED, LINES_KNOWN };

/* A function at a place, or one that is inlined there. */
struct natives_text {
	uint32_t name_at, file_at; /* in the texts */
	uint32_t line;             /* 0: not known */
	uint8_t flags;             /* FRAME_USER, FRAME_INLINE */
};

struct natives_row {
	struct natives_text self;
	uint32_t inlined,
		inlines; /* where in .inlined those are that are inlined, innermost first */
	uint64_t hash;   /* of name and file; with lines, of the place */
	uint8_t lines;   /* enum natives_lines */
	bool named;      /* by a symbol */
	bool sent;       /* in a stack, before its lines were known */
	bool eval;       /* it runs the interpreter's loop */
	bool inside;     /* how the interpreter calls: no reader of a stack needs it */
};

/* A place whose lines are waited for. */
struct natives_ask {
	struct native_frame f;
	uint64_t since_ns;
	bool sent; /* to the child */
};

struct natives {
	struct native *n;        /* owned */
	struct map places;       /* module and offset -> row + 1 */
	struct natives_row *row; /* owned; room for .cap */
	size_t rows, cap;
	struct natives_text *inlined; /* owned; room for inlined_cap */
	size_t inlines, inlined_cap;
	struct natives_ask *ask; /* owned; room for ask_cap */
	size_t asks, ask_cap;
	uint64_t cpu_ns, cpu_at_ns; /* that children may use yet, as of then */
	uint64_t spent_ns;          /* of what they have used, taken off that, */
	uint64_t owed_ns;           /* and not made up for by time */
	char *text;                 /* owned; room for text_cap */
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
struct natives_row *natives_at(struct natives *x, const struct native_frame *f);
/* Takes answers, asks what could not be asked yet, and gives up what takes too long. */
void natives_poll(struct natives *x, uint64_t now_ns);
/* What children have used beyond NATIVES_CPU of the time so far. */
uint64_t natives_owes(const struct natives *x);
