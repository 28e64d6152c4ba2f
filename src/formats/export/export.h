/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - writes a recording in the formats of other tools: model in, bytes out.
 *
 * No file, clock or socket. The trace must be sealed; beyond it, memory is bounded by the number
 * of its launches and distinct stacks, not by the output, which leaves in pieces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace;

enum export_format {
#define FORMAT(ID, name, ending, flags, what) EXPORT_##ID,
#include "export/format.tbl.h"
	EXPORT_COUNT,
};

#define EXPORT_BINARY 0x1u /* not for a terminal */
#define EXPORT_GZ     0x2u /* compressed by its nature */
#define EXPORT_ONE    0x4u /* one file holds one rank */

struct export_kind {
	const char *name, *ending, *what;
	uint32_t flags;
};

extern const struct export_kind export_kinds[EXPORT_COUNT];

/* Takes bytes; below 0 ends the export with it. */
typedef int export_write_fn(void *arg, const void *bytes, size_t n);
/* `done` of `all` events, now and then. Below 0 ends the export with it. */
typedef int export_progress_fn(void *arg, uint64_t done, uint64_t all);

struct export_opts {
	enum export_format format;
	bool gz;      /* compress; EXPORT_GZ formats always are */
	int32_t file; /* only what came from this file of the trace; -1: all */
	export_write_fn *write;
	export_progress_fn *progress; /* NULL: none */
	void *arg;
};

/* What was written, for people and tests. */
struct export_count {
	uint64_t events; /* of the trace, in the output */
	uint64_t gpu;    /* of these: kernels, copies, memsets, graphs */
	uint64_t left;   /* that the format has no place for */
	uint64_t stacks; /* pprof, collapsed: distinct ones */
};

int export_trace(const struct trace *t, const struct export_opts *o, struct export_count *count);

/* GPU time by the stack that launched it, as in pprof: frames from the bottom up, the last is the
 * kernel. What the function returns below 0 ends it. */
typedef int export_stack_fn(void *arg, const char *const *frame, size_t depth, uint64_t ns,
			    uint64_t count);
int export_stacks(const struct trace *t, export_stack_fn *fn, void *arg);

/* The format that a file's name asks for, -1 if none; *gz: it ends in .gz. */
int export_format_of(const char *path, bool *gz);
