/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - traces of other tools into a struct trace.
 *
 * Formats are recognized by content, not by name (docs/import.md lists them). The intact part of a damaged file is imported; trace_file says
 * where the damage begins.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace;

struct import_why {
	char text[320];
};

/* `done` of `size` bytes of the file; size is 0 for a pipe. Below 0 ends the import with it. */
typedef int import_progress_fn(void *arg, const char *path, uint64_t done, uint64_t size);

struct import_opts {
	import_progress_fn *progress; /* NULL: none */
	void *arg;
	bool sums;     /* recordings without times are wanted, too: model/trace_sum.h */
	size_t window; /* bytes of text held at a time; 0: as many as is good. For tests */
};

/*
 * Adds a file, the files of a folder that are traces (the ranks of one job), or standard input
 * ("-") to the trace; o may be NULL. 0 also when a file was damaged: see import_damaged().
 *	-EMEDIUMTYPE  not a trace, or none in the folder     -ENODATA  empty
 * `why` then says in one line what and what to do. Does not seal the trace.
 */
int import_path(struct trace *t, const char *path, const struct import_opts *o,
		struct import_why *why);

bool import_damaged(const struct trace *t);

/* Like import_path() for bytes in memory; tests and fuzzers use it. */
int import_bytes(struct trace *t, const char *path, const void *bytes, size_t len,
		 const struct import_opts *o, struct import_why *why);
