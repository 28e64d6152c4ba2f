/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - the cluster's tables in C: a struct for a row of each, and their columns. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHIP_SCHEMA 1u /* version of table.tbl.h; a column that is added raises it */

/* A string of a row: any bytes, borrowed. */
struct ship_str {
	const char *s;
	size_t len;
};

#define SHIP_C_U8   uint8_t
#define SHIP_C_U16  uint16_t
#define SHIP_C_U32  uint32_t
#define SHIP_C_U64  uint64_t
#define SHIP_C_I32  int32_t
#define SHIP_C_F32  float
#define SHIP_C_F64  double
#define SHIP_C_DAY  uint16_t
#define SHIP_C_STR  struct ship_str
#define SHIP_C_WORD struct ship_str

/* struct ship_process, ship_name, ship_window, ... */
#define TABLE(ID, name, newest, time, order, partition, days, what) struct ship_##name {
#define COL(TYPE, name, CODEC, since, what)                         SHIP_C_##TYPE name;
#define END(ID, name) \
	}             \
	;
#include "ship/table.tbl.h"

enum ship_table_id {
#define TABLE(ID, name, newest, time, order, partition, days, what) SHIP_##ID,
#define COL(TYPE, name, CODEC, since, what)
#define END(ID, name)
#include "ship/table.tbl.h"
	SHIP_TABLES
};

enum ship_type {
	SHIP_T_U8,
	SHIP_T_U16,
	SHIP_T_U32,
	SHIP_T_U64,
	SHIP_T_I32,
	SHIP_T_F32,
	SHIP_T_F64,
	SHIP_T_DAY,
	SHIP_T_STR,
	SHIP_T_WORD,
	SHIP_TYPES
};

enum ship_codec { SHIP_CODEC_ANY, SHIP_CODEC_DELTA, SHIP_CODEC_TIME, SHIP_CODEC_REAL, SHIP_CODECS };

struct ship_col {
	const char *name, *what;
	uint16_t off; /* offset in the row's struct */
	uint8_t type, codec, since;
};

#define SHIP_COLS_MAX 40u

struct ship_table {
	const char *name, *newest, *order, *partition, *what;
	uint32_t cols, days;
	size_t row;      /* size of the row's struct */
	size_t time_off; /* offset of the time that `day` is computed from */
	struct ship_col col[SHIP_COLS_MAX];
};

const struct ship_table *ship_table(enum ship_table_id id);
/* Index of a table; -1: there is none with that name. */
int ship_table_find(const char *name);
/* Number of columns that version `schema` of the table had; columns are only appended. */
uint32_t ship_cols(const struct ship_table *t, uint32_t schema);

static inline uint16_t ship_day(uint64_t t_ns)
{
	uint64_t day = t_ns / (86400ull * 1000000000ull);

	return day > UINT16_MAX ? UINT16_MAX : (uint16_t)day;
}

struct ship_str ship_text(const char *s); /* from a C string; NULL: empty */
