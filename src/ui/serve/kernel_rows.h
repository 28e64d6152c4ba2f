/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_rows.h - table of GPU time by name: filled from events, rollups or columns; sorted, paged
 * and written as JSON.
 */
#pragma once

#include "base/map.h"
#include "base/sketch.h"
#include "insight/insight.h"
#include "serve/api/api.h"

#define ROW_CELLS 32u /* cells of a histogram: cell i counts calls shorter than 2^(i+6) ns */
#define ROW_PARTS 16u /* points of a trend: the range in equal parts */
#define NO_CLASS  CLASSES

struct krow {
	const char *name; /* borrowed from the trace, the store or the demangler */
	enum kclass class;
	int32_t rank; /* TRACE_NO_RANK: sum over ranks */
	uint64_t ns, calls, min, max, bytes;
	uint64_t p50, p99; /* 0 if there is a sketch: computed from it */
	uint32_t hist[ROW_CELLS];
	uint64_t trend[ROW_PARTS];
	const char *bound;    /* the resource that limits it; NULL: not known */
	double limit;         /* fraction of that limit that it reaches; 0: not known */
	struct sketch sketch; /* owned */
};

struct krows {
	struct krow *row; /* owned */
	size_t n;
	struct lookup by_key;    /* finds a row by name and rank */
	uint64_t from_ns, to_ns; /* range of the trends */
};

int krows_init(struct krows *rs);
void krows_fini(struct krows *rs);
/* The row of a name, added if there is none; NULL: out of memory. Valid until the next call. */
struct krow *krows_of(struct krows *rs, const char *name, int32_t rank);
int krow_add(struct krow *r, uint64_t ns, uint64_t bytes); /* adds one call */
/* Spreads `ns` evenly over [from_ns, to_ns). What lies outside the range counts at its ends. */
void krow_trend(const struct krows *rs, struct krow *r, uint64_t from_ns, uint64_t to_ns,
		uint64_t ns);

enum krows_sort { SORT_TOTAL, SORT_CALLS, SORT_AVG, SORT_MAX, SORT_NAME };
#define ROWS_SORTS "total|calls|avg|max|name"
void krows_sort(struct krows *rs, enum krows_sort by);

/* Writes up to `most` rows, starting at row `from`, into the open array. */
void krows_json(struct json *j, const struct krows *rs, size_t from, size_t most);
uint64_t krows_total(const struct krows *rs);

void krow_id(char out[9], const char *name); /* a short id of a name, for URLs */
/* The name without template parameters and arguments. */
char *krow_short(char *out, size_t cap, const char *name);
