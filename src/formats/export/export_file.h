/* SPDX-License-Identifier: Apache-2.0 */
/* export_file.h - exports a trace into one file, or into a folder with one file per rank. */
#pragma once

#include <limits.h>

#include "export/export.h"

/* `done` of `all` events of the file `path`, now and then. Below 0 ends the export with it. */
typedef int export_file_progress_fn(void *arg, const char *path, uint64_t done, uint64_t all);

struct export_to {
	enum export_format format;
	bool gz;
	const char *to;                    /* NULL: standard output */
	bool folder;                       /* `to` is one: a file for each rank */
	export_file_progress_fn *progress; /* NULL: none */
	void *arg;                         /* of progress */
};

/* A file that was written. */
struct export_wrote {
	char path[PATH_MAX];
	int32_t rank; /* -1: several, or not known */
	uint64_t bytes;
	struct export_count n;
};

typedef void export_wrote_fn(void *arg, const struct export_wrote *w);

/*
 * Writes a sealed trace, and calls `fn` (NULL allowed) for each file. 0, or -errno: `failed` is the
 * path. An incomplete file does not get the requested name. -EMLINK: the format holds one rank per
 * file, and there are more.
 */
int export_files(const struct trace *t, const struct export_to *o, export_wrote_fn *fn, void *arg,
		 char failed[PATH_MAX]);
