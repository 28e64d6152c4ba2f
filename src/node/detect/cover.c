/* SPDX-License-Identifier: Apache-2.0 */
/* cover.c - sorts activities into bins; see cover.h. */
#include "detect/cover.h"

#include <string.h>

#define SECOND 1000000000ull
#define BIN_NS (SECOND / COVER_BINS) /* some ns of a second are in no bin */
#define UNIT   4u                    /* ns, so that a bin's fit */
#define FULL   (uint16_t)(BIN_NS / UNIT)

/* NULL: it is of a second that has made room for a later one. */
static uint16_t *bins_of(struct cover *c, enum cover_kind kind, uint64_t second)
{
	uint32_t slot = (uint32_t)(second % COVER_SECONDS);

	if (c->second[slot] > second + 1)
		return NULL;
	if (c->second[slot] < second + 1) {
		c->second[slot] = second + 1;
		memset(c->bin[slot], 0, sizeof(c->bin[slot]));
	}
	return c->bin[slot][kind];
}

static void fill(uint16_t *bin, uint64_t from, uint64_t to)
{
	for (uint64_t i = from / BIN_NS; i < COVER_BINS && i * BIN_NS < to; i++) {
		uint64_t lo = i * BIN_NS > from ? i * BIN_NS : from;
		uint64_t hi = (i + 1) * BIN_NS < to ? (i + 1) * BIN_NS : to;
		uint64_t sum = bin[i] + (hi - lo) / UNIT;

		bin[i] = sum < FULL ? (uint16_t)sum : FULL;
	}
}

void cover_add(struct cover *c, enum cover_kind kind, uint64_t start_ns, uint64_t dur_ns)
{
	uint64_t end = start_ns + (dur_ns < COVER_SECONDS * SECOND ? dur_ns : 0);

	for (uint64_t at = start_ns; at < end;) {
		uint64_t second = at / SECOND, next = (second + 1) * SECOND;
		uint16_t *bin = bins_of(c, kind, second);

		if (bin)
			fill(bin, at - second * SECOND,
			     (end < next ? end : next) - second * SECOND);
		at = next;
	}
}

struct cover_share cover_of(const struct cover *c, uint64_t second)
{
	uint32_t slot = (uint32_t)(second % COVER_SECONDS);
	const uint16_t(*bin)[COVER_BINS] = c->bin[slot];
	uint64_t gpu = 0, comm = 0, exposed = 0;
	const double whole = (double)COVER_BINS * FULL / 100;

	if (c->second[slot] != second + 1)
		return (struct cover_share){ 0 };
	for (uint32_t i = 0; i < COVER_BINS; i++) {
		gpu += bin[COVER_GPU][i];
		comm += bin[COVER_COMM][i];
		if (bin[COVER_COMM][i] > bin[COVER_WORK][i])
			exposed += bin[COVER_COMM][i] - bin[COVER_WORK][i];
	}
	return (struct cover_share){ (double)gpu / whole, (double)comm / whole,
				     (double)exposed / whole };
}
