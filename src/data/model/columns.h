/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - a batch of events as columns, for readers that need only some of them. Data only.
 *
 * A column costs its own decoding and that of the columns it is a difference from, so ask only for
 * what you use: KIND is free with any other, NAME is cheap, DUR needs NAME and A, START needs all of
 * these and TRACK. Columns that were not asked for are NULL.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/event.h"

#define EVENT_BATCH 10000u /* events at once, at most */

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

/* Room for all columns of a batch. */
struct event_strips {
#define X(bit, NAME, field, type) type field[EVENT_BATCH];
	EVENT_COLUMNS(X)
#undef X
};

static inline struct event_columns event_strips(struct event_strips *s, const struct event *ev,
						size_t n)
{
	struct event_columns c = { .n = n };

#define X(bit, NAME, field, type)          \
	for (size_t i = 0; i < n; i++)     \
		s->field[i] = ev[i].field; \
	c.field = s->field;
	EVENT_COLUMNS(X)
#undef X
	return c;
}

/* Event i; columns that were not asked for are 0. */
static inline struct event event_at(const struct event_columns *c, size_t i)
{
	struct event e;

#define X(bit, NAME, field, type) e.field = c->field ? c->field[i] : 0;
	EVENT_COLUMNS(X)
#undef X
	return e;
}
