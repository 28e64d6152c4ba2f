/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowbin.h - rows of the tables as ClickHouse's RowBinary: numbers little endian, strings behind their
 * length, nothing between columns and rows. The same row gives the same bytes, always.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ship/table.h"

#define ROWBIN_STR_MAX 65535u /* limit for a string; a longer one is cut */

struct rowbin {
	uint8_t *data; /* owned */
	size_t len, cap;
};

void rowbin_fini(struct rowbin *b);

/*
 * Appends a row (struct ship_...) of table `t`. `day` is computed from the table's time. 0 or
 * -ENOMEM; *b is unchanged on failure.
 */
int rowbin_put(struct rowbin *b, const struct ship_table *t, const void *row);

/*
 * Decodes the first row in `data`, which has the first `cols` columns; the others become 0. Strings
 * point into `data`. Returns its size; -ENODATA: the row is incomplete; -EBADMSG: a length is
 * invalid.
 */
int rowbin_get(const struct ship_table *t, uint32_t cols, const void *data, size_t len, void *row);

/* Whether `data` is exactly `rows` rows of `cols` columns, all of one day: 0, or as above. */
int rowbin_check(const struct ship_table *t, uint32_t cols, const void *data, size_t len,
		 uint32_t rows, uint16_t *day);
