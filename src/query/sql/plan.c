/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.c - plans a query on a table of events: which conditions are tested here, which order is
 * kept, which columns are read.
 *
 * Every condition is also left to SQLite (omit is never set), so a test here may be coarse: if it
 * cannot decide, the event passes. GROUP BY gains the most: SQLite's sorter takes 0.4 to 1.4 us a
 * row, ordering by dictionary columns takes a few ns (group.c).
 */
#include "sql/table.h"

#include <string.h>

const struct col_def col_defs[COLUMNS_N] = {
#define COL(ID, name, type, domain, needs, tables) { #name, type, DOMAIN_##domain, needs, tables },
#include "sql/event.tbl.h"
};

static bool is_order(int op)
{
	return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
	       op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
	       op == SQLITE_INDEX_CONSTRAINT_LE;
}

static bool is_number(enum col_id col)
{
	return col == COL_TS || col == COL_DUR || col == COL_END_TS || col == COL_CORRELATION ||
	       col == COL_NUMBER || col == COL_BYTES || col == COL_SEQUENCE || col == COL_DEPTH ||
	       col == COL_A || col == COL_B;
}

static bool takes(enum col_id col, int op, const char *collation)
{
	bool binary = !strcmp(collation, "BINARY");

	switch (col_defs[col].domain) {
	case DOMAIN_TRACK:
		return is_order(op) || op == SQLITE_INDEX_CONSTRAINT_ISNULL ||
		       op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL;
	case DOMAIN_NAME:
		if (col == COL_NAME_ID)
			return op == SQLITE_INDEX_CONSTRAINT_EQ;
		return (op == SQLITE_INDEX_CONSTRAINT_EQ && binary) ||
		       op == SQLITE_INDEX_CONSTRAINT_LIKE || op == SQLITE_INDEX_CONSTRAINT_GLOB;
	case DOMAIN_KIND:
		return op == SQLITE_INDEX_CONSTRAINT_EQ && binary;
	default:
		return is_order(op) && is_number(col);
	}
}

/* Estimated share of rows that satisfy a condition. */
static double leaves(enum col_id col, int op)
{
	if (op != SQLITE_INDEX_CONSTRAINT_EQ)
		return col == COL_TS || col == COL_END_TS ? 0.1 : 0.5;
	return col == COL_CORRELATION || col == COL_TS ? 1e-6 : col == COL_NAME ? 0.05 : 0.25;
}

static void take_terms(const struct event_table *t, sqlite3_index_info *info, struct plan *p,
		       double *rows)
{
	for (int i = 0; i < info->nConstraint && p->terms < PLAN_TERMS; i++) {
		int column = info->aConstraint[i].iColumn, op = info->aConstraint[i].op;
		bool in;

		if (!info->aConstraint[i].usable || column < 0 || column >= t->cols ||
		    !takes(t->col[column], op, sqlite3_vtab_collation(info, i)))
			continue;
		in = (col_defs[t->col[column]].domain == DOMAIN_NAME ||
		      col_defs[t->col[column]].domain == DOMAIN_TRACK) &&
		     sqlite3_vtab_in(info, i, -1);
		if (in)
			sqlite3_vtab_in(info, i, 1);
		p->term[p->terms].col = t->col[column];
		p->term[p->terms].op = (uint8_t)op;
		p->term[p->terms].in = in;
		*rows *= leaves(t->col[column], op);
		if (t->col[column] == COL_CORRELATION && op == SQLITE_INDEX_CONSTRAINT_EQ)
			p->index = (int8_t)p->terms;
		else if (t->col[column] == COL_TS && p->index < 0)
			p->index = (int8_t)p->terms;
		info->aConstraintUsage[i].argvIndex = ++p->terms;
	}
}

/*
 * Keeps the requested order if it is by dictionary columns. SQLite 3.40 sometimes asks only for
 * equal keys to be adjacent, but needs the order for an ORDER BY, too.
 */
static void take_order(const struct event_table *t, sqlite3_index_info *info, struct plan *p)
{
	int distinct = sqlite3_vtab_distinct(info);
	uint8_t cols[PLAN_KEYS];
	uint64_t keys = 0;

	if (!info->nOrderBy || info->nOrderBy > PLAN_KEYS)
		return;
	for (int i = 0; i < info->nOrderBy; i++) {
		int column = info->aOrderBy[i].iColumn;

		if (column < 0 || column >= t->cols ||
		    col_defs[t->col[column]].domain == DOMAIN_ROW)
			return;
		cols[i] = t->col[column];
		keys |= 1ull << cols[i];
		p->key[i].col = cols[i];
		p->key[i].desc = info->aOrderBy[i].desc;
	}
	if (!group_can(&t->src->dict, cols, info->nOrderBy))
		return;
	p->keys = (uint8_t)info->nOrderBy;
	/*
	 * Only if no other column is used: of two rows with the same key, SQLite might reject the
	 * first and want the second.
	 */
	p->once = distinct >= 2 && !(p->used & ~keys);
	info->orderByConsumed = 1;
}

static char *plan_text(const struct plan *p)
{
	static const char hex[] = "0123456789abcdef";
	char *text = sqlite3_malloc(2 * sizeof(*p) + 1);

	for (size_t i = 0; text && i < sizeof(*p); i++) {
		text[2 * i] = hex[((const uint8_t *)p)[i] >> 4];
		text[2 * i + 1] = hex[((const uint8_t *)p)[i] & 15];
	}
	if (text)
		text[2 * sizeof(*p)] = 0;
	return text;
}

int plan_read(struct plan *p, const char *text)
{
	if (!text || strlen(text) != 2 * sizeof(*p))
		return -1;
	for (size_t i = 0; i < sizeof(*p); i++) {
		int hi = text[2 * i], lo = text[2 * i + 1];

		((uint8_t *)p)[i] = (uint8_t)((hi <= '9' ? hi - '0' : hi - 'a' + 10) << 4 |
					      (lo <= '9' ? lo - '0' : lo - 'a' + 10));
	}
	return 0;
}

int plan_best(sqlite3_vtab *tab, sqlite3_index_info *info)
{
	const struct event_table *t = (const struct event_table *)tab;
	double all = t->src->dict.events ? (double)t->src->dict.events : 1, rows = all;
	struct plan p;

	memset(&p, 0, sizeof(p));
	p.index = -1;
	for (int i = 0; i < t->cols; i++)
		if (info->colUsed >> (i < 63 ? i : 63) & 1)
			p.used |= 1ull << t->col[i];
	take_terms(t, info, &p, &rows);
	take_order(t, info, &p);
	info->idxStr = plan_text(&p);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	/* Repeated lookups use an index that is built once. */
	info->estimatedCost = (p.index >= 0 ? 20 : all / 4) + rows;
	return SQLITE_OK;
}
