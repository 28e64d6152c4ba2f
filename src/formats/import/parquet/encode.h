/* SPDX-License-Identifier: Apache-2.0 */
/* encode.h - the encodings of Parquet's values: each reads one value after the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs of one value, and runs of values packed into bits: levels, indices, booleans. */
struct hybrid {
	const uint8_t *p, *end;
	unsigned bits;  /* of a value, up to 32 */
	uint64_t left;  /* in this run */
	bool packed;    /* the run's kind */
	uint32_t value; /* of a run of one value */
	uint64_t bit;   /* of the next value, from `packed_at` on */
	const uint8_t *packed_at;
};

bool hybrid_next(struct hybrid *h, uint32_t *v); /* false: damaged */

/* DELTA_BINARY_PACKED: blocks of differences, of bits that each part of a block chooses. */
struct delta {
	const uint8_t *p, *end;
	uint64_t parts, a_part; /* parts of a block, values of a part */
	uint64_t left;          /* values after this one, all in all */
	uint64_t value;
	uint64_t least;         /* difference of the block */
	const uint8_t *widths;  /* of the block's parts */
	uint64_t part, of_part; /* which part, how many of its values were read */
	bool first;
};

bool delta_begin(struct delta *d, const uint8_t *p, const uint8_t *end);
bool delta_next(struct delta *d, int64_t *v); /* false: damaged, or there are no more */
