/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - descriptions of the tables, for code that iterates over columns. */
#include "ship/table.h"

#include <string.h>

/* clang-format off */
enum columns {
#define TABLE(ID, name, newest, time, order, partition, days, what) COLS_##ID = 0
#define COL(TYPE, name, CODEC, since, what) + 1
#define END(ID, name) ,
#include "ship/table.tbl.h"
};

/* One function for each table: inside it, ROW is the struct of its row. */
#define TABLE(ID, name, newest, time, order, partition, days, what)                \
	static const struct ship_table *table_##ID(void)                           \
	{                                                                          \
		typedef struct ship_##name ROW;                                    \
		static const struct ship_table t = {                               \
			#name, newest, order, partition, what, COLS_##ID, days,    \
			sizeof(ROW), offsetof(ROW, time), {
#define COL(TYPE, name, CODEC, since, what) \
	{ #name, what, offsetof(ROW, name), SHIP_T_##TYPE, SHIP_CODEC_##CODEC, since },
#define END(ID, name)                                                              \
		} };                                                               \
		return &t;                                                         \
	}
#include "ship/table.tbl.h"
/* clang-format on */

const struct ship_table *ship_table(enum ship_table_id id)
{
	switch (id) {
#define TABLE(ID, name, newest, time, order, partition, days, what) \
	case SHIP_##ID:                                             \
		return table_##ID();
#define COL(TYPE, name, CODEC, since, what)
#define END(ID, name)
#include "ship/table.tbl.h"
	case SHIP_TABLES:
		break;
	}
	return NULL;
}

int ship_table_find(const char *name)
{
	for (int i = 0; i < SHIP_TABLES; i++)
		if (!strcmp(ship_table((enum ship_table_id)i)->name, name))
			return i;
	return -1;
}

uint32_t ship_cols(const struct ship_table *t, uint32_t schema)
{
	uint32_t n = 0;

	while (n < t->cols && t->col[n].since <= schema)
		n++;
	return n;
}

struct ship_str ship_text(const char *s)
{
	return (struct ship_str){ s ? s : "", s ? strlen(s) : 0 };
}
