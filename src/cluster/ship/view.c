/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - see view.h. */
#include "ship/view.h"

const struct ship_view ship_views[SHIP_VIEWS] = {
/* clang-format off */
#define VIEW(name, FROM, order, partition, days, what) { #name, SHIP_##FROM, order, partition, days, {
#define KEY(type, name, how) { type, #name, how, SHIP_PART_KEY },
#define SUM(type, name, what) { type, #name, what, SHIP_PART_SUM },
#define LAST(type, name, what) { type, #name, what, SHIP_PART_LAST },
#define NEWEST(type, name, what) { type, #name, what, SHIP_PART_NEWEST },
#define DONE } },
#include "ship/view.tbl.h"
	/* clang-format on */
};

const struct ship_view_col *ship_view_newest(const struct ship_view *v)
{
	for (const struct ship_view_col *c = v->col; c->name; c++)
		if (c->part == SHIP_PART_NEWEST)
			return c;
	return NULL;
}
