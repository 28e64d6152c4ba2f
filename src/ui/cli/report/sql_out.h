/* SPDX-License-Identifier: Apache-2.0 */
/* sql_out.h - the rows of a query as a table, CSV, TSV or JSON, written as they come. */
#pragma once

#include "base/json.h"
#include "cli/core/out.h"
#include "sql/sql.h"

enum sql_form { FORM_TABLE, FORM_CSV, FORM_TSV, FORM_JSON };

struct sql_out {
	struct out out;
	enum sql_form form;
	struct json j;
	const char *schema;    /* of the JSON; aon.sql/1 by default */
	const char *of, *what; /* whose rows, and which: said there if they are not NULL */
	uint64_t rows;
	int cols;
	bool no_empty; /* a table without rows has no head either */
	char **head;   /* owned */
	char **cell;   /* owned: the first rows of a table, until the widths are known */
	bool *number;  /* owned, by column: right */
	size_t *width; /* owned, by column; NULL: not known yet */
	size_t held;   /* rows in cell */
	int shown;     /* columns that fit */
};

void sql_out_init(struct sql_out *s, const struct opts *o, enum sql_form form);
void sql_out_sink(struct sql_out *s, struct sql_sink *sink);
/* Ends what was begun; `error` (may be NULL) goes into the JSON. */
void sql_out_fini(struct sql_out *s, const char *error);

/* fleet_list.c: aon sql of a cluster; `query` NULL: its tables. */
int fleet_sql_cmd(const struct opts *o, const char *query, enum sql_form form, double timeout_s);
