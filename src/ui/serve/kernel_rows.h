/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_rows.h - GPU time by name: from events, rollups or columns; sorted, cut, written. */
#pragma once

#include "base/map.h"
#include "base/sketch.h"
#include "insight/insight.h"
#include "serve/api/api.h"

#define ROW_CELLS 32u /* of a histogram: cell i has calls below 2^(i+6) ns */
#define ROW_PARTS 16u /* of a trend: time in equal parts of the range */
#define NO_CLASS  CLASSES

struct krow {
	const char *name; /* borrowed from the trace, the store or the demangler */
	enum kclass class;
	int32_t rank; /* TRACE_NO_RANK: of all */
	uint64_t ns, calls, min, max, bytes;
	uint64_t p50, p99; /* 0 with a sketch: taken from it */
	uint32_t hist[ROW_CELLS];
	uint64_t trend[ROW_PARTS];
	const char *bound;    /* what limits it; NULL: not known */
	double limit;         /* its share of that; 0: not known */
	struct sketch sketch; /* owned */
};

struct krows {
	struct krow *row; /* owned */
	size_t n;
	struct lookup by_key;    /* name and rank */
	uint64_t from_ns, to_ns; /* of trends */
};

int krows_init(struct krows *rs);
void krows_fini(struct krows *rs);
/* The row of a name, made if there is none; NULL: out of memory. Good until the next call. */
struct krow *krows_of(struct krows *rs, const char *name, int32_t rank);
int krow_add(struct krow *r, uint64_t ns, uint64_t bytes); /* one call */
/* `ns` of time that was spent evenly in [from_ns, to_ns); what is outside of the range is at its
 * ends. */
void krow_trend(const struct krows *rs, struct krow *r, uint64_t from_ns, uint64_t to_ns,
		uint64_t ns);

enum krows_sort { SORT_TOTAL, SORT_CALLS, SORT_AVG, SORT_MAX, SORT_NAME };
#define ROWS_SORTS "total|calls|avg|max|name"
void krows_sort(struct krows *rs, enum krows_sort by);

/* `most` rows from `from` on into the open array. */
void krows_json(struct json *j, const struct krows *rs, size_t from, size_t most);
uint64_t krows_total(const struct krows *rs);

void krow_id(char out[9], const char *name); /* of a name in addresses */
/* The name without templates and arguments. */
char *krow_short(char *out, size_t cap, const char *name);
