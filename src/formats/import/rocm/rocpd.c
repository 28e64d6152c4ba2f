/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocpd.c - rocprofv3's SQLite file. Its tables end in the run's uuid ("rocpd_string_0007f6..."),
 * and a file that was merged has those of several runs; views of the same names are not read.
 *
 *	rocpd_kernel_dispatch, rocpd_memory_copy, rocpd_memory_allocate, rocpd_region: rows
 *	rocpd_event: what all rows have in common; stack_id is the internal correlation id
 *	rocpd_string, rocpd_info_kernel_symbol, rocpd_info_agent, ...: what rows name
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/rocm/rocm.h"
#include "import/sqlite_in.h"

#define RUNS_MAX    64u
#define SUFFIX_MAX  64u
#define ROWS_A_LOOK 65536u

struct rocpd {
	struct rocm r;
	sqlite3 *db;
	const char *suffix;
};

typedef int rocpd_row_fn(struct rocpd *k, sqlite3_stmt *row);

/* %1$s of the query is the suffix. The first of `needs` has the rows; all must be tables. */
struct rocpd_table {
	const char *needs[6];
	rocpd_row_fn *fn;
	bool counted;
	const char *sql;
};

static uint64_t at(sqlite3_stmt *row, int col)
{
	int64_t v = sqlite3_column_int64(row, col);

	return v > 0 ? (uint64_t)v : 0;
}

static uint32_t u32(sqlite3_stmt *row, int col)
{
	uint64_t v = at(row, col);

	return v <= UINT32_MAX ? (uint32_t)v : 0;
}

static int text(struct rocpd *k, sqlite3_stmt *row, int col, uint32_t *name)
{
	const char *s = (const char *)sqlite3_column_text(row, col);

	return s && *s ? trace_name(k->r.t, s, strlen(s), name) : 0;
}

/* Columns 0 to 3 of all rows: start, end, pid, correlation id. */
static int common(struct rocpd *k, sqlite3_stmt *row, struct rocm_row *out)
{
	out->start = sqlite3_column_int64(row, 0);
	out->end = sqlite3_column_int64(row, 1);
	out->timed = sqlite3_column_type(row, 0) == SQLITE_INTEGER &&
		     sqlite3_column_type(row, 1) == SQLITE_INTEGER;
	out->corr = at(row, 3);
	return trace_process(k->r.t, k->r.im->file, at(row, 2), &k->r.process);
}

static int kernel(struct rocpd *k, sqlite3_stmt *row)
{
	struct rocm_row o = { .agent = at(row, 4), .stream = at(row, 5), .queue = at(row, 6) };
	int err = common(k, row, &o);

	for (int i = 0; i < 3; i++) {
		o.geo.grid[i] = u32(row, 7 + i);
		o.geo.block[i] = u32(row, 10 + i);
	}
	o.geo.smem_static = u32(row, 13);
	o.geo.regs = u32(row, 14);
	err = err ? err : text(k, row, 15, &o.name);
	if (!err && !o.name)
		err = text(k, row, 16, &o.name);
	return err ? err : rocm_kernel(&k->r, &o);
}

static int copy(struct rocpd *k, sqlite3_stmt *row)
{
	struct rocm_row o = { .agent = at(row, 4),
			      .from = at(row, 5),
			      .stream = at(row, 6),
			      .queue = at(row, 7),
			      .thread = at(row, 8),
			      .bytes = at(row, 9) };
	int err = common(k, row, &o);

	err = err ? err : text(k, row, 10, &o.name);
	return err ? err : rocm_copy(&k->r, &o);
}

static int memory(struct rocpd *k, sqlite3_stmt *row)
{
	const char *type = (const char *)sqlite3_column_text(row, 4);
	struct rocm_row o = { .agent = at(row, 5),
			      .thread = at(row, 6),
			      .address = at(row, 7),
			      .bytes = at(row, 8) };
	int err = common(k, row, &o);

	if (err || !type)
		return err ? err : -EBADMSG;
	return rocm_memory(&k->r, &o, strcmp(type, "ALLOC") != 0);
}

static int region(struct rocpd *k, sqlite3_stmt *row)
{
	struct rocm_row o = { .thread = at(row, 4) };
	const char *domain;
	uint32_t message = 0;
	int err = common(k, row, &o);

	err = err ? err : text(k, row, 5, &o.name);
	err = err ? err : text(k, row, 7, &message);
	if (err)
		return err;
	domain = (const char *)sqlite3_column_text(row, 6);
	return rocm_call(&k->r, &o, domain ? domain : "", message);
}

static int agent(struct rocpd *k, sqlite3_stmt *row)
{
	const char *type = (const char *)sqlite3_column_text(row, 1);
	struct rocm_agent a = { .id = at(row, 0),
				.gpu = type && !strcmp(type, "GPU"),
				.index = u32(row, 2),
				.units = u32(row, 5) };
	int err = text(k, row, 3, &a.name);

	if (!err && !a.name)
		err = text(k, row, 4, &a.name);
	return err ? err : rocm_agent_add(&k->r, &a);
}

static int process(struct rocpd *k, sqlite3_stmt *row)
{
	uint32_t id;
	int err = trace_process(k->r.t, k->r.im->file, at(row, 0), &id);

	err = err ? err : text(k, row, 1, &k->r.t->process[id].name);
	return err ? err : text(k, row, 2, &k->r.t->process[id].node);
}

/* The number of units and a marker's message stand in JSON of the tool's own. */
static const struct rocpd_table tables[] = {
	{ { "rocpd_info_process", "rocpd_info_node" },
	  process,
	  false,
	  "SELECT p.pid,p.command,n.hostname FROM \"rocpd_info_process%1$s\" p LEFT JOIN "
	  "\"rocpd_info_node%1$s\" n ON n.id=p.nid" },
	{ { "rocpd_info_agent" },
	  agent,
	  false,
	  "SELECT id,type,type_index,product_name,name,iif(json_valid(extdata),"
	  "json_extract(extdata,'$.cu_count'),0) FROM \"rocpd_info_agent%1$s\"" },
	{ { "rocpd_region", "rocpd_event", "rocpd_string", "rocpd_info_process",
	    "rocpd_info_thread" },
	  region,
	  true,
	  "SELECT r.start,r.end,p.pid,e.stack_id,t.tid,s.string,c.string,"
	  "iif(json_valid(e.extdata),json_extract(e.extdata,'$.message'),NULL) "
	  "FROM \"rocpd_region%1$s\" r LEFT JOIN \"rocpd_event%1$s\" e ON e.id=r.event_id "
	  "LEFT JOIN \"rocpd_string%1$s\" s ON s.id=r.name_id "
	  "LEFT JOIN \"rocpd_string%1$s\" c ON c.id=e.category_id "
	  "LEFT JOIN \"rocpd_info_process%1$s\" p ON p.id=r.pid "
	  "LEFT JOIN \"rocpd_info_thread%1$s\" t ON t.id=r.tid" },
	/* What took no time: marks. */
	{ { "rocpd_sample", "rocpd_track", "rocpd_event", "rocpd_string", "rocpd_info_process",
	    "rocpd_info_thread" },
	  region,
	  true,
	  "SELECT r.timestamp,r.timestamp,p.pid,e.stack_id,t.tid,c.string,c.string,"
	  "iif(json_valid(e.extdata),json_extract(e.extdata,'$.message'),NULL) "
	  "FROM \"rocpd_sample%1$s\" r LEFT JOIN \"rocpd_track%1$s\" k ON k.id=r.track_id "
	  "LEFT JOIN \"rocpd_event%1$s\" e ON e.id=r.event_id "
	  "LEFT JOIN \"rocpd_string%1$s\" c ON c.id=e.category_id "
	  "LEFT JOIN \"rocpd_info_process%1$s\" p ON p.id=k.pid "
	  "LEFT JOIN \"rocpd_info_thread%1$s\" t ON t.id=k.tid" },
	{ { "rocpd_kernel_dispatch", "rocpd_event", "rocpd_info_kernel_symbol",
	    "rocpd_info_process" },
	  kernel,
	  true,
	  "SELECT k.start,k.end,p.pid,e.stack_id,k.agent_id,k.stream_id,k.queue_id,"
	  "k.grid_size_x,k.grid_size_y,k.grid_size_z,k.workgroup_size_x,k.workgroup_size_y,"
	  "k.workgroup_size_z,k.group_segment_size,y.arch_vgpr_count,y.display_name,y.kernel_name "
	  "FROM \"rocpd_kernel_dispatch%1$s\" k LEFT JOIN \"rocpd_event%1$s\" e ON "
	  "e.id=k.event_id LEFT JOIN \"rocpd_info_kernel_symbol%1$s\" y ON y.id=k.kernel_id "
	  "LEFT JOIN \"rocpd_info_process%1$s\" p ON p.id=k.pid" },
	{ { "rocpd_memory_copy", "rocpd_event", "rocpd_string", "rocpd_info_process",
	    "rocpd_info_thread" },
	  copy,
	  true,
	  "SELECT m.start,m.end,p.pid,e.stack_id,m.dst_agent_id,m.src_agent_id,m.stream_id,"
	  "m.queue_id,t.tid,m.size,s.string FROM \"rocpd_memory_copy%1$s\" m "
	  "LEFT JOIN \"rocpd_event%1$s\" e ON e.id=m.event_id "
	  "LEFT JOIN \"rocpd_string%1$s\" s ON s.id=m.name_id "
	  "LEFT JOIN \"rocpd_info_process%1$s\" p ON p.id=m.pid "
	  "LEFT JOIN \"rocpd_info_thread%1$s\" t ON t.id=m.tid" },
	{ { "rocpd_memory_allocate", "rocpd_event", "rocpd_info_process", "rocpd_info_thread" },
	  memory,
	  true,
	  "SELECT m.start,m.end,p.pid,e.stack_id,m.type,m.agent_id,t.tid,m.address,m.size "
	  "FROM \"rocpd_memory_allocate%1$s\" m LEFT JOIN \"rocpd_event%1$s\" e ON "
	  "e.id=m.event_id LEFT JOIN \"rocpd_info_process%1$s\" p ON p.id=m.pid "
	  "LEFT JOIN \"rocpd_info_thread%1$s\" t ON t.id=m.tid "
	  "WHERE m.level='REAL' ORDER BY m.start" },
};

#define TABLES (sizeof(tables) / sizeof(*tables))

static bool is_there(const struct rocpd *k, const struct rocpd_table *t)
{
	char name[SUFFIX_MAX + 64];

	for (size_t i = 0; i < sizeof(t->needs) / sizeof(*t->needs) && t->needs[i]; i++) {
		snprintf(name, sizeof(name), "%s%s", t->needs[i], k->suffix);
		if (!sqlite_in_table(k->db, name))
			return false;
	}
	return true;
}

static int count_row(struct rocpd *k, const struct rocpd_table *t, int r, uint64_t row)
{
	struct trace_file *f = importing_file(k->r.im);

	if (r < 0 && r != -EBADMSG)
		return r;
	if (!t->counted)
		return 0;
	f->rows++;
	f->imported += r > 0;
	f->left += r == 0;
	f->lost += r < 0;
	if (r < 0)
		import_broke(k->r.im, 0, "row %llu of %s%s has no usable time or agent",
			     (unsigned long long)row, t->needs[0], k->suffix);
	return 0;
}

static int walk(struct rocpd *k, size_t index, uint64_t size)
{
	const struct rocpd_table *t = &tables[index];
	const struct import_opts *o = k->r.im->o;
	sqlite3_stmt *s = NULL;
	char *sql = NULL;
	uint64_t rows = 0;
	int rc, r = 0;

	if (!is_there(k, t))
		return 0;
	if (asprintf(&sql, t->sql, k->suffix) < 0)
		return -ENOMEM;
	rc = sqlite3_prepare_v2(k->db, sql, -1, &s, NULL);
	free(sql);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		r = count_row(k, t, t->fn(k, s), rows);
		if (!r && ++rows % ROWS_A_LOOK == 0 && o && o->progress)
			r = o->progress(o->arg, k->r.im->path, size * index / TABLES, size);
		if (r < 0)
			break;
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		import_broke(k->r.im, 0, "table %s%s breaks after %llu rows: %s", t->needs[0],
			     k->suffix, (unsigned long long)rows, sqlite3_errmsg(k->db));
	sqlite3_finalize(s);
	return r;
}

/* A suffix becomes part of a query: letters, digits and what a uuid has. */
static bool is_suffix(const char *s)
{
	return strlen(s) < SUFFIX_MAX &&
	       strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") ==
		       strlen(s);
}

static size_t find_runs(sqlite3 *db, char suffix[RUNS_MAX][SUFFIX_MAX])
{
	static const char name[] = "rocpd_info_agent";
	sqlite3_stmt *s;
	size_t n = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT name FROM sqlite_schema WHERE name LIKE "
			       "'rocpd_info_agent%' AND sql LIKE 'CREATE TABLE%' ORDER BY name",
			       -1, &s, NULL) != SQLITE_OK)
		return 0;
	while (n < RUNS_MAX && sqlite3_step(s) == SQLITE_ROW) {
		const char *t = (const char *)sqlite3_column_text(s, 0);

		if (t && strlen(t) >= sizeof(name) - 1 && is_suffix(t + sizeof(name) - 1))
			snprintf(suffix[n++], SUFFIX_MAX, "%s", t + sizeof(name) - 1);
	}
	sqlite3_finalize(s);
	return n;
}

int rocpd_import(const struct importing *im, sqlite3 *db, uint64_t size)
{
	char suffix[RUNS_MAX][SUFFIX_MAX];
	struct trace_file *f = importing_file(im);
	struct rocpd k = { .db = db };
	size_t runs = find_runs(db, suffix);
	int err = 0;

	for (size_t i = 0; i < runs && !err; i++) {
		k.r = (struct rocm){ .im = im, .t = im->t };
		k.suffix = suffix[i];
		for (size_t j = 0; j < TABLES && !err; j++)
			err = walk(&k, j, size);
		rocm_fini(&k.r);
	}
	if (err)
		return import_say(im->why, err, "%s: %s", im->path, strerror(-err));
	if (!f->rows)
		return import_say(im->why, -EMEDIUMTYPE,
				  "%s: a rocpd file without records%s%s (record with: rocprofv3 "
				  "--sys-trace)",
				  im->path, f->broke_at != UINT64_MAX ? ": " : "", f->why);
	return 0;
}
