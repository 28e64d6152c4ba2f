/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - the tables of events: a cursor over the rows that filter, group or index deliver.
 *
 * A cursor shows rows [i, n) of the columns `c`, through `sel` if only some of them are selected.
 * Its mode says where the next ones come from.
 */
#include "sql/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum mode { MODE_NONE, MODE_STREAM, MODE_GROUP, MODE_INDEX };

struct cursor {
	sqlite3_vtab_cursor base;
	struct plan plan;
	struct filter f;
	enum mode mode;
	struct event_columns c;
	const uint64_t *id;  /* of each row; NULL: by blob */
	const uint16_t *sel; /* NULL: all rows */
	size_t i, n;
	uint64_t keys;              /* bits of enum col_id: the same in all rows, see key */
	struct group_part key;      /* MODE_GROUP */
	struct group *group;        /* owned */
	struct index *index;        /* owned: made when the same is looked up again */
	const struct rowset *found; /* MODE_INDEX: rows [first, end) are left */
	size_t first, end;
	int calls;
	bool no_index;
	struct batch b;
};

/* --- connecting --- */

static const struct {
	const char *name;
	uint32_t kinds;
} tables[TABLES] = {
#define TABLE(ID, name, kinds) { #name, kinds },
#include "sql/event.tbl.h"
};

static int declare(sqlite3 *db, struct event_table *t)
{
	char text[2048] = "CREATE TABLE x(";
	size_t at = strlen(text);

	for (int i = 0; i < COLUMNS_N; i++) {
		if (!(col_defs[i].tables >> t->id & 1))
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s", t->cols ? "," : "",
				       col_defs[i].name, col_defs[i].type);
		t->col[t->cols++] = (uint8_t)i;
	}
	snprintf(text + at, sizeof(text) - at, ")");
	return source_declare(t->src, db, text);
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **why)
{
	struct event_table *t;
	int id, rc;

	for (id = 0; id < TABLES && (argc < 4 || strcmp(argv[3], tables[id].name)); id++)
		;
	if (id == TABLES) {
		*why = sqlite3_mprintf("not a table of events");
		return SQLITE_ERROR;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->src = aux;
	t->id = (enum table_id)id;
	t->kinds = tables[id].kinds;
	rc = declare(db, t);
	if (rc != SQLITE_OK) {
		free(t);
		return rc;
	}
	*out = &t->base;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *tab, sqlite3_vtab_cursor **out)
{
	return source_cursor(((struct event_table *)tab)->src, tab, sizeof(struct cursor), out);
}

static void reset(struct cursor *cur)
{
	batch_close(&cur->b);
	group_free(cur->group);
	cur->group = NULL;
	filter_fini(&cur->f);
	cur->mode = MODE_NONE;
	cur->sel = NULL;
	cur->id = NULL;
	cur->i = cur->n = 0;
	cur->keys = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;

	source_leave(((struct event_table *)base->pVtab)->src);
	reset(cur);
	index_free(cur->index);
	free(cur);
	return SQLITE_OK;
}

/* --- the next rows --- */

/* Of what was found in the index, in pieces of a blob's size, filtered as a blob is. */
static int next_found(struct cursor *cur, struct sql_source *src)
{
	while (cur->first < cur->end) {
		size_t n =
			cur->end - cur->first < BLOB_EVENTS ? cur->end - cur->first : BLOB_EVENTS;
		size_t at = cur->first;

		cur->c.n = n;
#define X(bit, NAME, field, type) \
	cur->c.field = cur->found->c.field ? cur->found->c.field + at : NULL;
		EVENT_COLUMNS(X)
#undef X
		cur->id = cur->found->id ? cur->found->id + at : NULL;
		cur->first += n;
		cur->n = filter_select(&cur->f, &src->dict, &cur->c, cur->b.sel);
		if (cur->n)
			return 1;
	}
	return 0;
}

static int more(struct cursor *cur)
{
	struct event_table *t = (struct event_table *)cur->base.pVtab;
	int err = 0;

	cur->i = cur->n = 0;
	switch (cur->mode) {
	case MODE_STREAM:
		err = batch_next(&cur->b);
		cur->c = cur->b.c;
		cur->n = cur->b.n;
		break;
	case MODE_GROUP:
		err = group_next(cur->group, &cur->key);
		if (err > 0) {
			cur->c = cur->key.c;
			cur->id = cur->key.id;
			cur->i = cur->key.first;
			cur->n = cur->key.n;
		}
		break;
	case MODE_INDEX:
		err = next_found(cur, t->src);
		break;
	default:
		break;
	}
	if (err <= 0)
		cur->i = cur->n = 0;
	if (err <= 0)
		cur->mode = MODE_NONE;
	return err < 0 ? source_fail(&t->base, err) : SQLITE_OK;
}

static uint32_t needs_of(uint64_t cols)
{
	uint32_t needs = 0;

	for (int i = 0; i < COLUMNS_N; i++)
		if (cols >> i & 1)
			needs |= col_defs[i].needs;
	return needs;
}

static int begin_group(struct cursor *cur, struct event_table *t)
{
	uint64_t rest;

	for (int i = 0; i < cur->plan.keys; i++)
		cur->keys |= 1ull << cur->plan.key[i].col;
	rest = cur->plan.used & ~cur->keys;
	cur->mode = MODE_GROUP;
	return group_new(&cur->group, t->src, &cur->f, &cur->plan, needs_of(rest),
			 rest >> COL_ID & 1);
}

/* -E2BIG: go on without. */
static int begin_index(struct cursor *cur, struct event_table *t)
{
	uint8_t by = cur->plan.term[cur->plan.index].col;
	int64_t lo = INT64_MIN, hi = INT64_MAX;
	uint64_t cols = cur->plan.used;
	int err = 0;

	for (int i = 0; i < cur->plan.terms; i++)
		cols |= 1ull << cur->plan.term[i].col;
	if (!cur->index)
		err = index_new(&cur->index, t->src, t->kinds, by, needs_of(cols) | EVENT_COL_KIND,
				cols >> COL_ID & 1);
	if (err < 0)
		return err;
	for (int i = 0; i < cur->f.ranges; i++)
		if (cur->f.range[i].col == by) {
			lo = cur->f.range[i].lo;
			hi = cur->f.range[i].hi;
		}
	cur->mode = MODE_INDEX;
	cur->sel = cur->b.sel;
	cur->found = index_find(cur->index, lo, hi, &cur->first, &cur->end);
	return 0;
}

/* Columns of conditions and of the order are not always among those that are used. */
static bool asks_class(const struct plan *p)
{
	bool asks = p->used >> COL_CLASS & 1;

	for (int i = 0; i < p->terms; i++)
		asks |= p->term[i].col == COL_CLASS;
	for (int i = 0; i < p->keys; i++)
		asks |= p->key[i].col == COL_CLASS;
	return asks;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct event_table *t = (struct event_table *)base->pVtab;
	struct cursor *cur = (struct cursor *)base;
	int err;

	(void)number, (void)argc;
	reset(cur);
	if (plan_read(&cur->plan, text) < 0)
		return SQLITE_INTERNAL;
	err = asks_class(&cur->plan) ? dict_classes(&t->src->dict) : 0;
	err = err < 0 ? err : filter_init(&cur->f, t, &cur->plan, argv);
	if (err < 0 || cur->f.none)
		return err < 0 ? source_fail(&t->base, err) : SQLITE_OK;
	cur->calls++;
	if (cur->plan.keys) {
		err = begin_group(cur, t);
		return err < 0 ? source_fail(&t->base, err) : more(cur);
	}
	if (cur->plan.index >= 0 && cur->calls > 1 && !cur->no_index) {
		err = begin_index(cur, t);
		if (err == 0)
			return more(cur);
		if (err != -E2BIG)
			return source_fail(&t->base, err);
		cur->no_index = true;
	}
	cur->mode = MODE_STREAM;
	cur->sel = cur->b.sel;
	err = batch_open(&cur->b, t->src, &cur->f, needs_of(cur->plan.used));
	return err < 0 ? source_fail(&t->base, err) : more(cur);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cur = (struct cursor *)base;

	return ++cur->i < cur->n ? SQLITE_OK : more(cur);
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *cur = (const struct cursor *)base;

	return cur->i >= cur->n;
}

/* --- values --- */

static uint64_t id_of(const struct cursor *cur, size_t row)
{
	return cur->id ? cur->id[row] : event_id(cur->b.blob, row);
}

static void result_geo(sqlite3_context *ctx, const struct dict *d, uint64_t a, enum col_id col)
{
	const struct geo *g = &d->geo[a <= UINT32_MAX ? dict_at(&d->by_geo, (uint32_t)a) : 0];
	const uint32_t v[] = { g->grid[0],  g->grid[1], g->grid[2],     g->block[0],    g->block[1],
			       g->block[2], g->regs,    g->smem_static, g->smem_dynamic };

	if (g->id)
		sqlite3_result_int64(ctx, v[col - COL_GRID_X]);
}

static void result_value(sqlite3_context *ctx, uint64_t a, uint8_t flags)
{
	double real;

	if (!(flags & EVENT_FLOAT)) {
		sqlite3_result_int64(ctx, (int64_t)a);
		return;
	}
	memcpy(&real, &a, sizeof(real));
	sqlite3_result_double(ctx, real);
}

static void result_name(sqlite3_context *ctx, const struct dict *d, uint32_t name, enum col_id col)
{
	const struct dict_name *n = &d->name[name];

	if (!name)
		return;
	if (col == COL_NAME_ID)
		sqlite3_result_int64(ctx, n->id);
	else if (col == COL_CLASS)
		sqlite3_result_text(ctx, d->class[name], -1, SQLITE_STATIC);
	else
		sqlite3_result_text(ctx, n->text, (int)n->len, SQLITE_STATIC);
}

static void result_row(sqlite3_context *ctx, const struct cursor *cur, const struct dict *d,
		       size_t row, enum col_id col)
{
	static const char *const ways[] = { NULL, "HtoD", "DtoH", "DtoD", "HtoH", "PtoP" };
	const struct event_columns *c = &cur->c;
	uint32_t way, track;

	switch (col) {
	case COL_ID:
		sqlite3_result_int64(ctx, (int64_t)id_of(cur, row));
		break;
	case COL_WALL:
		track = dict_track(d, c->track[row]);
		if (d->track[track].process)
			sqlite3_result_int64(
				ctx, (int64_t)c->start_ns[row] +
					     d->process[d->track[track].process].wall_offset_ns);
		break;
	case COL_OPEN:
		sqlite3_result_int(ctx, (c->flags[row] & EVENT_OPEN) != 0);
		break;
	case COL_DIRECTION:
		way = c->flags[row] >> EVENT_COPY_SHIFT;
		if (way < sizeof(ways) / sizeof(ways[0]) && ways[way])
			sqlite3_result_text(ctx, ways[way], 4, SQLITE_STATIC);
		break;
	case COL_VALUE:
		result_value(ctx, c->a[row], c->flags[row]);
		break;
	case COL_GRAPH_NODE:
		sqlite3_result_int64(ctx, (uint32_t)c->b[row]);
		break;
	case COL_OF_GRAPH:
		sqlite3_result_int64(ctx, (int64_t)(c->b[row] >> 32));
		break;
	case COL_FREED:
		sqlite3_result_int(ctx, c->flags[row] >> EVENT_COPY_SHIFT == 2);
		break;
	default:
		if (col >= COL_GRID_X && col <= COL_SHARED_DYNAMIC)
			result_geo(ctx, d, c->a[row], col);
		else
			sqlite3_result_int64(ctx, row_value(c, row, col));
	}
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int number)
{
	const struct event_table *t = (const struct event_table *)base->pVtab;
	const struct cursor *cur = (const struct cursor *)base;
	size_t row = cur->sel ? cur->sel[cur->i] : cur->i;
	enum col_id col = t->col[number];
	bool key = cur->keys >> col & 1;
	const struct dict *d = &t->src->dict;
	int64_t v;

	switch (col_defs[col].domain) {
	case DOMAIN_NAME:
		result_name(ctx, d, key ? cur->key.name : dict_name(d, cur->c.name[row]), col);
		break;
	case DOMAIN_TRACK:
		if (track_value(d, key ? cur->key.track : dict_track(d, cur->c.track[row]), col,
				&v))
			sqlite3_result_int64(ctx, v);
		break;
	case DOMAIN_KIND:
		sqlite3_result_text(ctx, event_word(key ? cur->key.kind : cur->c.kind[row]), -1,
				    SQLITE_STATIC);
		break;
	default:
		result_row(ctx, cur, d, row, col);
	}
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct cursor *cur = (const struct cursor *)base;

	*out = (sqlite3_int64)id_of(cur, cur->sel ? cur->sel[cur->i] : cur->i);
	return SQLITE_OK;
}

/* No xUpdate: read-only. */
const sqlite3_module event_module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = plan_best,
	.xDisconnect = source_disconnect,
	.xDestroy = source_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};
