/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - a batch of events as columns, for readers that need only some of them. Data only.
 *
 * A column costs its own decoding and that of the columns it is a difference from, so ask only for
 * what you use: KIND is free with any other, NAME is cheap, DUR needs NAME and A, START needs all of
 * these and TRACK. Columns that were not asked for are NULL.
 */
#ifndef AON_MODEL_COLUMNS_H
#define AON_MODEL_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define EVENT_COLUMNS(X)            \
	X(0, START, start_ns, uint64_t) \
	X(1, DUR,   dur_ns,   uint64_t) \
	X(2, A,     a,        uint64_t) \
	X(3, B,     b,        uint64_t) \
	X(4, NAME,  name,     uint32_t) \
	X(5, CORR,  corr,     uint32_t) \
	X(6, TRACK,  track,     uint32_t) \
	X(7, KIND,  kind,     uint8_t)  \
	X(8, FLAGS, flags,    uint8_t)  \
	X(9, DEPTH, depth,    uint16_t)
/* clang-format on */

enum event_column {
#define X(bit, NAME, field, type) EVENT_COL_##NAME = 1 << (bit),
	EVENT_COLUMNS(X)
#undef X
		EVENT_COLS_ALL = (1 << 10) - 1,
};

struct event_columns {
	size_t n;
#define X(bit, NAME, field, type) const type *field;
	EVENT_COLUMNS(X)
#undef X
};

#endif /* AON_MODEL_COLUMNS_H */
