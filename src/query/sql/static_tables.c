/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static_tables.c - the tables of processes, tracks, windows and such: filled on demand, then read
 * row by row. The only condition that is used is the time of windows.
 */
#include "sql/static_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"
#include "insight/roofline/roof.h"

#define CELLS_MIN 65536u /* always allowed, however small the memory limit is */

/* --- cells --- */

static void cells_fini(struct cells *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->cell[i].type == CELL_TEXT)
			free(c->cell[i].text);
	free(c->cell);
	memset(c, 0, sizeof(*c));
}

static void add(struct cells *c, struct sql_cell cell)
{
	if (!c->err && c->n == c->cap)
		c->err = 2 * c->cap > c->max ? -E2BIG
					     : vec_grow(&c->cell, &c->cap, c->n + 1, sizeof(cell));
	if (!c->err)
		c->cell[c->n++] = cell;
	else if (cell.type == CELL_TEXT)
		free(cell.text);
}

void cell_int(struct cells *c, int64_t v)
{
	add(c, (struct sql_cell){ .type = CELL_INT, .i = v });
}

void cell_list(struct cells *c, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cell_int(c, v[i]);
}

void cell_real(struct cells *c, double v)
{
	add(c, (struct sql_cell){ .type = CELL_REAL, .real = v });
}

void cell_null(struct cells *c)
{
	add(c, (struct sql_cell){ .type = CELL_NULL });
}

void cell_maybe(struct cells *c, bool is, int64_t v)
{
	add(c, (struct sql_cell){ .type = is ? CELL_INT : CELL_NULL, .i = v });
}

void cell_text(struct cells *c, const char *text)
{
	struct sql_cell cell = { .type = CELL_TEXT, .text = text ? strdup(text) : NULL };

	if (cell.text)
		add(c, cell);
	else
		cell_null(c);
}

/* Five cells: process, pid, device, stream, tid. */
static void cell_track(struct cells *c, const struct dict *d, uint32_t track)
{
	static const enum col_id cols[] = { COL_PROCESS, COL_PID, COL_DEVICE, COL_STREAM, COL_TID };
	int64_t v = 0;

	for (size_t i = 0; i < sizeof(cols) / sizeof(cols[0]); i++) {
		bool has = track_value(d, track, cols[i], &v);

		cell_maybe(c, has, v);
	}
}

/* --- what fills them --- */

static int fill_process(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	const struct dict *d = &src->dict;

	(void)ask;
	for (uint32_t i = 1; i < d->processes; i++) {
		const struct process *p = &d->process[i];
		const struct account *a = &p->account;

		cell_ints(c, p->id, p->pid);
		cell_text(c, p->comm);
		cell_text(c, p->run);
		cell_text(c, p->exe);
		cell_ints(c, p->uid, (int64_t)p->first_ns, (int64_t)p->last_ns, p->wall_offset_ns,
			  p->connected);
		cell_text(c, p->note);
		cell_ints(c, (int64_t)a->emitted, (int64_t)a->stored, (int64_t)a->overwritten,
			  (int64_t)a->in_flight, (int64_t)account_lost(a));
		cell_maybe(c, p->parent, p->parent);
		cell_int(c, p->id);
	}
	return c->err;
}

static int fill_track(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	const struct dict *d = &src->dict;

	(void)ask;
	for (uint32_t i = 1; i < d->tracks; i++) {
		const struct track *l = &d->track[i].track;

		cell_int(c, l->id);
		cell_track(c, d, i);
		cell_maybe(c, l->device != TRACK_HOST, l->context);
		cell_text(c, d->name[dict_name(d, l->name)].text);
	}
	return c->err;
}

static int fill_device(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	const struct dict *d = &src->dict;

	(void)ask;
	for (uint32_t i = 1; i < d->tracks; i++) {
		const struct track *l = &d->track[i].track;
		uint32_t streams = 0, k;

		for (k = 1; k < d->tracks; k++) {
			const struct track *o = &d->track[k].track;

			if (o->process != l->process || o->device != l->device)
				continue;
			if (k < i)
				break; /* it was counted with the other one */
			streams++;
		}
		if (l->device == TRACK_HOST || k < d->tracks)
			continue;
		cell_ints(c, l->process, d->process[d->track[i].process].pid, l->device, streams);
	}
	return c->err;
}

static int fill_name(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	const struct dict *d = &src->dict;

	(void)ask;
	for (uint32_t i = 1; i < d->names; i++) {
		cell_int(c, d->name[i].id);
		cell_text(c, d->name[i].text);
	}
	return c->err;
}

static int journal_entry(void *arg, const struct journal_entry *e)
{
	struct cells *c = arg;
	char text[ENTRY_TEXT], *fields = entry_object(e);

	cell_int(c, (int64_t)e->wall_ns);
	cell_text(c, entry_what(e));
	cell_text(c, entry_line(e, text));
	cell_text(c, entry_kinds[e->kind].word);
	cell_maybe(c, entry_has(e, FIELD_PROCESS), (int64_t)entry_number(e, FIELD_PROCESS));
	cell_maybe(c, entry_has(e, FIELD_PID), (int64_t)entry_number(e, FIELD_PID));
	cell_maybe(c, entry_has(e, FIELD_RANK), (int64_t)entry_number(e, FIELD_RANK));
	cell_text(c, entry_has(e, FIELD_JOB) ? entry_word(e, FIELD_JOB) : NULL);
	cell_text(c, fields ? fields : "{}"); /* for SQLite's json_extract() */
	free(fields);
	return c->err;
}

static int fill_journal(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	(void)ask;
	return store_each_entry(src->st, journal_entry, c);
}

struct window_fill {
	struct cells *c;
	struct sql_source *src;
	const struct small_ask *ask;
};

/* Three cells: what limits a kernel, its share of that limit, how that is known. */
static void cell_verdict(struct cells *c, uint32_t v)
{
	uint32_t limit = rollup_limit(v), how = rollup_how(v);

	if (!limit || limit >= ROOF_LIMITS || !how || how >= WORK_HOWS) {
		for (int i = 0; i < 3; i++)
			cell_null(c);
		return;
	}
	cell_text(c, roof_limit_word[limit]);
	cell_real(c, rollup_fraction(v));
	cell_text(c, work_how_word[how]);
}

static int add_window(void *arg, const struct window *w)
{
	struct window_fill *f = arg;
	const struct dict *d = &f->src->dict;
	uint32_t p = dict_at(&d->by_process, w->process);

	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *r = &w->row[i];
		bool sketch = f->ask->used >> 13 & 3 && r->sketch.count;

		cell_ints(f->c, (int64_t)w->start_ns,
			  (int64_t)w->start_ns + d->process[p].wall_offset_ns);
		cell_text(f->c, event_word(r->kind));
		cell_text(f->c, d->name[dict_name(d, r->name)].text);
		cell_track(f->c, d, dict_track(d, r->track));
		cell_ints(f->c, (int64_t)r->count, (int64_t)r->total_ns, (int64_t)r->min_ns,
			  (int64_t)r->max_ns);
		for (int k = 0; k < 2; k++)
			cell_maybe(f->c, sketch,
				   (int64_t)(sketch ? sketch_quantile(&r->sketch, k ? 0.99 : 0.5)
						    : 0));
		cell_int(f->c, (int64_t)r->bytes);
		cell_verdict(f->c, r->verdict);
	}
	return f->c->err ? f->c->err : source_late(f->src);
}

static int fill_window(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct window_fill fill = { c, src, ask };
	struct store_filter f = { 0 };

	if (ask->from > ask->to || ask->to < 0)
		return 0;
	f.from_ns = ask->from > 0 ? (uint64_t)ask->from : 0;
	f.to_ns = ask->to < INT64_MAX ? (uint64_t)ask->to + 1 : 0;
	return store_each_window(src->st, &f, add_window, &fill);
}

/* clang-format off */
static const struct small_def defs[] = {
	{ "process", "process INTEGER,pid INTEGER,name TEXT,run TEXT,exe TEXT,uid INTEGER,start_ts INTEGER,"
	  "end_ts INTEGER,wall_offset INTEGER,connected INTEGER,note TEXT,emitted INTEGER,stored INTEGER,"
	  "overwritten INTEGER,in_flight INTEGER,lost INTEGER,parent INTEGER,upid INTEGER HIDDEN", false, fill_process },
	{ "device", "process INTEGER,pid INTEGER,device INTEGER,streams INTEGER", false, fill_device },
	{ "lane", "lane INTEGER,process INTEGER,pid INTEGER,device INTEGER,stream INTEGER,tid INTEGER,"
	  "context INTEGER,name TEXT", false, fill_track },
	{ "name", "id INTEGER,text TEXT", false, fill_name },
	{ "window", "ts INTEGER,wall INTEGER,kind TEXT,name TEXT,process INTEGER,pid INTEGER,device INTEGER,"
	  "stream INTEGER,tid INTEGER,count INTEGER,total INTEGER,min INTEGER,max INTEGER,p50 INTEGER,"
	  "p99 INTEGER,bytes INTEGER,bound TEXT,of_limit REAL,known_by TEXT", true, fill_window },
	{ "summary", "kind TEXT,name TEXT,process INTEGER,pid INTEGER,device INTEGER,count INTEGER,"
	  "total INTEGER,avg REAL,min INTEGER,max INTEGER,p50 INTEGER,p99 INTEGER,bytes INTEGER",
	  false, fill_summary },
	{ "finding", "id INTEGER,family TEXT,title TEXT,rank INTEGER,device INTEGER,cost_ns INTEGER,per TEXT,"
	  "share REAL,confidence TEXT,gain_lo_ns INTEGER,gain_hi_ns INTEGER,seen TEXT,action TEXT,expect TEXT",
	  false, fill_finding },
	{ "work", "ts INTEGER,dur INTEGER,kind TEXT,name TEXT,rank INTEGER,pid INTEGER,device INTEGER,"
	  "stream INTEGER,correlation INTEGER,step INTEGER,op TEXT,module TEXT,launch_ts INTEGER",
	  false, fill_work },
	{ "step_record", "wall INTEGER,process INTEGER,pid INTEGER,rank INTEGER,step INTEGER,world INTEGER,"
#define TIME(name, what, who) #name "_ns INTEGER,"
#include "model/step_rec.tbl.h"
	  "tokens INTEGER,exchanges INTEGER,lost INTEGER,partial INTEGER,gone INTEGER,regime INTEGER", false, fill_step_record },
	{ "exchange", "wall INTEGER,process INTEGER,pid INTEGER,rank INTEGER,step INTEGER,comm INTEGER,op TEXT,"
	  "members INTEGER,peer INTEGER,count INTEGER,kib INTEGER,issued INTEGER,done INTEGER,sum_ns INTEGER,"
	  "min_ns INTEGER,max_ns INTEGER,exposed_ns INTEGER,first_ns INTEGER,first_dur_ns INTEGER,"
	  "last_ns INTEGER,last_dur_ns INTEGER", false, fill_exchange },
	{ "sample", "ts INTEGER,wall INTEGER,process INTEGER,pid INTEGER,tid INTEGER,state TEXT,detail INTEGER,"
	  "stack INTEGER,blame TEXT,weight INTEGER,gc INTEGER,holder INTEGER,uncertain INTEGER,cut INTEGER,"
	  "preempted_by TEXT",
	  true, fill_sample },
	{ "sample_window", "ts INTEGER,wall INTEGER,process INTEGER,pid INTEGER,tid INTEGER,state TEXT,"
	  "stack INTEGER,other INTEGER,part TEXT,gpu TEXT,holder INTEGER,held_by INTEGER,preempted_by TEXT,"
	  "count INTEGER,weight INTEGER", true, fill_sample_window },
	{ "stack", "id INTEGER,depth INTEGER,frame INTEGER,kind TEXT,function TEXT,file TEXT,line INTEGER,"
	  "user INTEGER,scanned INTEGER,inlined INTEGER", false, fill_stack },
	{ "telemetry", "wall INTEGER,metric TEXT,device TEXT,labels TEXT,unit TEXT,value REAL", false, fill_telemetry },
	{ "journal", "wall INTEGER,what TEXT,text TEXT,kind TEXT,process INTEGER,pid INTEGER,rank INTEGER,job TEXT,fields TEXT", false, fill_journal },
};
/* clang-format on */
#define DEFS (sizeof(defs) / sizeof(defs[0]))

const char *small_name(size_t i)
{
	return i < DEFS ? defs[i].name : NULL;
}

/* --- the module --- */

struct small_table {
	sqlite3_vtab base;
	struct sql_source *src; /* borrowed */
	const struct small_def *def;
	size_t cols;
};

struct small_cursor {
	sqlite3_vtab_cursor base;
	struct cells cells;
	size_t row;
	uint64_t used; /* the columns that the cells were filled for */
	bool filled;
};

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **why)
{
	struct small_table *t;
	char text[1024];
	size_t i;
	int rc;

	for (i = 0; i < DEFS && (argc < 4 || strcmp(argv[3], defs[i].name)); i++)
		;
	if (i == DEFS) {
		*why = sqlite3_mprintf("no such table");
		return SQLITE_ERROR;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->src = aux;
	t->def = &defs[i];
	t->cols = 1;
	for (const char *p = defs[i].columns; *p; p++)
		t->cols += *p == ',';
	snprintf(text, sizeof(text), "CREATE TABLE x(%s)", defs[i].columns);
	rc = source_declare(t->src, db, text);
	if (rc != SQLITE_OK) {
		free(t);
		return rc;
	}
	*out = &t->base;
	return SQLITE_OK;
}

/* The plan as text: the columns, then one letter for each condition on time, in order. */
static int best(sqlite3_vtab *tab, sqlite3_index_info *info)
{
	const struct small_table *t = (const struct small_table *)tab;
	char ops[17] = "";
	int n = 0;

	for (int i = 0; t->def->timed && i < info->nConstraint && n < 16; i++) {
		int op = info->aConstraint[i].op;
		bool lo = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
		bool hi = op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;

		if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != 0 ||
		    (!lo && !hi && op != SQLITE_INDEX_CONSTRAINT_EQ))
			continue;
		ops[n++] = lo ? 'l' : hi ? 'h' : 'e';
		info->aConstraintUsage[i].argvIndex = n;
	}
	info->idxStr = sqlite3_mprintf("%llx %s", (unsigned long long)info->colUsed, ops);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;
	info->estimatedCost = n ? 1e3 : 1e4;
	info->estimatedRows = n ? 100 : 1000;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *tab, sqlite3_vtab_cursor **out)
{
	return source_cursor(((struct small_table *)tab)->src, tab, sizeof(struct small_cursor),
			     out);
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct small_cursor *cur = (struct small_cursor *)base;

	source_leave(((struct small_table *)base->pVtab)->src);
	cells_fini(&cur->cells);
	free(cur);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct small_table *t = (struct small_table *)base->pVtab;
	struct small_ask ask = { .from = INT64_MIN, .to = INT64_MAX };
	struct small_cursor *cur = (struct small_cursor *)base;
	const char *ops = strchr(text, ' ') + 1;
	int err;

	(void)number;
	num_digits(text, 16, &ask.used);
	for (int i = 0; i < argc; i++) {
		int64_t v = sqlite3_value_int64(argv[i]);

		if (sqlite3_value_numeric_type(argv[i]) != SQLITE_INTEGER)
			continue;
		if (ops[i] != 'h' && v > ask.from)
			ask.from = v;
		if (ops[i] != 'l' && v < ask.to)
			ask.to = v;
	}
	cur->row = 0;
	/* The inner table of a join is queried again for each row of the outer one. */
	if (cur->filled && cur->used == ask.used && !t->def->timed)
		return SQLITE_OK;
	cells_fini(&cur->cells);
	cur->cells.max = t->src->memory_bytes / sizeof(struct sql_cell);
	if (cur->cells.max < CELLS_MIN)
		cur->cells.max = CELLS_MIN;
	err = t->def->fill(&cur->cells, t->src, &ask);
	cur->used = ask.used;
	cur->filled = err >= 0;
	return err < 0 ? source_fail(&t->base, err) : SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	((struct small_cursor *)base)->row++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct small_cursor *cur = (const struct small_cursor *)base;

	return cur->row * ((const struct small_table *)base->pVtab)->cols >= cur->cells.n;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int number)
{
	const struct small_cursor *cur = (const struct small_cursor *)base;
	size_t cols = ((const struct small_table *)base->pVtab)->cols;
	const struct sql_cell *c = &cur->cells.cell[cur->row * cols + (size_t)number];

	if (c->type == CELL_INT)
		sqlite3_result_int64(ctx, c->i);
	else if (c->type == CELL_REAL)
		sqlite3_result_double(ctx, c->real);
	else if (c->type == CELL_TEXT)
		sqlite3_result_text(ctx, c->text, -1, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)((const struct small_cursor *)base)->row + 1;
	return SQLITE_OK;
}

const sqlite3_module small_module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best,
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
