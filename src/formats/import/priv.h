/* SPDX-License-Identifier: Apache-2.0 */
/* priv.h - shared by the importers. */
#pragma once

#include "import/import.h"
#include "import/source.h"
#include "model/trace.h"

struct importing {
	struct trace *t;
	uint32_t file; /* index into t->file */
	const char *path;
	const struct import_opts *o; /* may be NULL */
	struct import_why *why;
};

static inline struct trace_file *importing_file(const struct importing *im)
{
	return &im->t->file[im->file];
}

int import_say(struct import_why *why, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Remembers the first damage of the file. */
void import_broke(const struct importing *im, uint64_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Names that a device's row, a call or an annotation has in every format. */
bool import_is_sync(const char *s, size_t len); /* a call that waits for the device */
bool import_step(const char *s, size_t len, uint64_t *number); /* "ProfilerStep#12" */
/* AON_COPY_* in place for event.flags, TRACE_PAGEABLE in *b, from "Memcpy HtoD (Pageable ...". */
uint8_t import_copy(const char *s, size_t len, uint64_t *b);

int kineto_import(const struct importing *im, struct source *src);
/* file: im->path can be opened, the source is only for its size. */
int sqlite_import(const struct importing *im, struct source *src, bool file);
bool nsys_is_table(const char *file);               /* a Parquet file, by its name */
bool nsys_is_folder(const char *path);              /* has it such files? */
int nsys_import_folder(const struct importing *im); /* im->path is the folder */
int rocprof_import(const struct importing *im, struct source *src);
int proton_import(const struct importing *im, struct source *src);
bool perfetto_is(const char *s, size_t len); /* are these the first bytes of one? */
int perfetto_import(const struct importing *im, struct source *src);
/* 1: what it says was added to events of files before it. */
int et_import(const struct importing *im, struct source *src);
int xplane_import(const struct importing *im, struct source *src);
