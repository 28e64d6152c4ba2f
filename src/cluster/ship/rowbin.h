/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowbin.h - rows of the tables as ClickHouse's RowBinary: numbers little endian, strings behind their
 * length, nothing between columns and rows. The same row gives the same bytes, always.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ship/table.h"

#define ROWBIN_STR_MAX 65535u /* bytes of a string; a longer one is cut */

struct rowbin {
	uint8_t *data; /* owned */
	size_t len, cap;
};

void rowbin_fini(struct rowbin *b);

/*
 * Appends a row of table `t`, its struct ship_... . `day` is that of the table's time, whatever the row
 * says. 0 or -ENOMEM, *b as before then.
 */
int rowbin_put(struct rowbin *b, const struct ship_table *t, const void *row);

/*
 * The row at the head of `data`, of the first `cols` columns; the others get 0. Its strings lie in `data`.
 * Returns its bytes; -ENODATA: the data ends within the row; -EBADMSG: a length that is never written.
 */
int rowbin_get(const struct ship_table *t, uint32_t cols, const void *data, size_t len, void *row);

/* Whether `data` is `rows` rows of `cols` columns and nothing else, all of one day: 0, or as above. */
int rowbin_check(const struct ship_table *t, uint32_t cols, const void *data, size_t len,
		 uint32_t rows, uint16_t *day);
