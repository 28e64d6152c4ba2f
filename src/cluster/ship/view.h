/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - the sums of view.tbl.h, for code that iterates over columns. */
#pragma once

#include <stdint.h>

#include "ship/table.h"

enum ship_view_id {
#define VIEW(name, FROM, order, partition, days, what) SHIP_VIEW_##name,
#define KEY(type, name, how)
#define SUM(type, name, what)
#define LAST(type, name, what)
#define NEWEST(type, name, what)
#define DONE
#include "ship/view.tbl.h"
	SHIP_VIEWS
};

enum ship_part { SHIP_PART_KEY, SHIP_PART_SUM, SHIP_PART_LAST, SHIP_PART_NEWEST };

#define SHIP_VIEW_COLS 20u

struct ship_view {
	const char *name;
	enum ship_table_id from;
	const char *order, *partition;
	uint32_t days;
	struct ship_view_col {
		/* how: an expression on columns of the source table */
		const char *type, *name, *how;
		enum ship_part part;
	} col[SHIP_VIEW_COLS]; /* keys first; ends with a NULL name */
};

extern const struct ship_view ship_views[SHIP_VIEWS];

/* The column that tells which row is newer; NULL: rows are added up. */
const struct ship_view_col *ship_view_newest(const struct ship_view *v);
