/* SPDX-License-Identifier: Apache-2.0 */
/* cell.h - a value of a table's row, whichever file holds the table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum import_cell_type { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT };

struct import_cell {
	enum import_cell_type type;
	double d;      /* of CELL_REAL */
	int64_t i;     /* the number as an integer; of a text the one that it begins with */
	const char *s; /* borrowed until the next row; not NUL-terminated; NULL: no text */
	size_t len;
};
