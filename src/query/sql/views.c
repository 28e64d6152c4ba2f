/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views.c - makes the tables of a store in a connection, and views over them under the names
 * that Perfetto's trace processor and the exports of Nsight Systems use. `@` stands for the
 * prefix of the store's names.
 */
#include "sql/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const char *const event_tables[] = {
#define TABLE(ID, name, kinds) #name,
#include "sql/event.tbl.h"
};

/* clang-format off */
static const char *const views[] = {
	/* Ops that were recorded, and those of imported traces: ranges of TRACE_OP. */
	"@op AS SELECT id,ts,dur,name,tid,pid,process,track,correlation,depth,end_ts,wall,track AS lane FROM @event WHERE kind='op' "
	"UNION ALL SELECT id,ts,dur,name,tid,pid,process,track,correlation,depth,end_ts,wall,track AS lane FROM @range WHERE b&255=1",
	/* Perfetto */
	"@slice AS SELECT id,ts,dur,track AS track_id,kind AS category,name,depth,process AS upid,correlation,"
	"device,stream,tid FROM @event WHERE kind NOT IN('counter','mark','flow','alloc')",
	"@gpu_slice AS SELECT id,ts,dur,track AS track_id,kind AS category,name,process AS upid,correlation,"
	"device,stream FROM @event WHERE device IS NOT NULL",
	"@track AS SELECT lane AS id,coalesce(name,CASE WHEN device IS NULL THEN 'thread '||tid ELSE 'GPU '||device||"
	"' stream '||stream END) AS name,CASE WHEN device IS NULL THEN 'thread_track' ELSE 'gpu_track' END AS type,"
	"process AS upid,lane AS utid,process,pid,device,stream,tid,context FROM @lane",
	"@thread_track AS SELECT id,name,utid,upid FROM @track WHERE type='thread_track'",
	"@gpu_track AS SELECT id,name,upid FROM @track WHERE type='gpu_track'",
	"@thread AS SELECT lane AS utid,tid,name,process AS upid FROM @lane WHERE device IS NULL",
	/* Nsight Systems */
	"@StringIds AS SELECT id,text AS value FROM @name",
	"@CUPTI_ACTIVITY_KIND_KERNEL AS SELECT ts AS start,end_ts AS \"end\",device AS deviceId,context AS contextId,"
	"stream AS streamId,correlation AS correlationId,pid AS globalPid,name_id AS demangledName,name_id AS shortName,"
	"grid_x AS gridX,grid_y AS gridY,grid_z AS gridZ,block_x AS blockX,block_y AS blockY,block_z AS blockZ,"
	"registers AS registersPerThread,shared_static AS staticSharedMemory,shared_dynamic AS dynamicSharedMemory,"
	"graph_node AS graphNodeId FROM @kernel",
	"@CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT ts AS start,end_ts AS \"end\",device AS deviceId,context AS contextId,"
	"stream AS streamId,correlation AS correlationId,pid AS globalPid,bytes,CASE direction WHEN 'HtoD' THEN 1 "
	"WHEN 'DtoH' THEN 2 WHEN 'DtoD' THEN 8 WHEN 'HtoH' THEN 9 WHEN 'PtoP' THEN 10 ELSE 0 END AS copyKind FROM @copy",
	"@CUPTI_ACTIVITY_KIND_MEMSET AS SELECT ts AS start,end_ts AS \"end\",device AS deviceId,context AS contextId,"
	"stream AS streamId,correlation AS correlationId,pid AS globalPid,bytes FROM @memset",
	"@CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS SELECT ts AS start,end_ts AS \"end\",device AS deviceId,"
	"context AS contextId,stream AS streamId,correlation AS correlationId,pid AS globalPid FROM @sync",
	"@CUPTI_ACTIVITY_KIND_RUNTIME AS SELECT ts AS start,end_ts AS \"end\",tid AS globalTid,"
	"correlation AS correlationId,name_id AS nameId FROM @api",
	"@NVTX_EVENTS AS SELECT ts AS start,end_ts AS \"end\",59 AS eventType,name AS text,tid AS globalTid FROM @range",
};
/* clang-format on */

/* The text with each `@` replaced. sqlite3_free() it. */
static char *expand(const char *text, const char *prefix)
{
	sqlite3_str *s = sqlite3_str_new(NULL);

	for (; *text; text++)
		if (*text == '@')
			sqlite3_str_appendall(s, prefix);
		else
			sqlite3_str_appendchar(s, 1, *text);
	return sqlite3_str_finish(s);
}

static int run(sqlite3 *db, char *sql, char **why)
{
	int rc = sql ? sqlite3_exec(db, sql, NULL, NULL, why) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return rc;
}

int tables_create(sqlite3 *db, struct sql_source *src, const char *prefix, char **why)
{
	char module[2][64];
	int rc;

	snprintf(module[0], sizeof(module[0]), "aon_%sevents", prefix);
	snprintf(module[1], sizeof(module[1]), "aon_%srows", prefix);
	rc = sqlite3_create_module(db, module[0], &event_module, src);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_module(db, module[1], &small_module, src);
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(event_tables) / sizeof(char *); i++)
		rc = run(db,
			 sqlite3_mprintf("CREATE VIRTUAL TABLE temp.\"%w%s\" USING %s(%s)", prefix,
					 event_tables[i], module[0], event_tables[i]),
			 why);
	for (size_t i = 0; rc == SQLITE_OK && small_name(i); i++)
		rc = run(db,
			 sqlite3_mprintf("CREATE VIRTUAL TABLE temp.\"%w%s\" USING %s(%s)", prefix,
					 small_name(i), module[1], small_name(i)),
			 why);
	for (size_t i = 0; rc == SQLITE_OK && i < sizeof(views) / sizeof(views[0]); i++) {
		char *text = expand(views[i], prefix);

		rc = text ? run(db, sqlite3_mprintf("CREATE TEMP VIEW %s", text), why)
			  : SQLITE_NOMEM;
		sqlite3_free(text);
	}
	return rc;
}

/* --- the source --- */

int source_late(const struct sql_source *s)
{
	if (!s->deadline_ns)
		return 0;
	return clock_mono_ns() > s->deadline_ns ? -ETIME : 0;
}

int source_fail(sqlite3_vtab *tab, int err)
{
	const char *text = err == -EBADMSG ? "the store is damaged; save what is whole: aon recover"
			   : err == -E2BIG
				   ? "too many rows for the memory allowed; ask for less time"
			   : err == -ETIME  ? "out of time"
			   : err == -EAGAIN ? "the store dropped old events meanwhile; ask again"
					    : strerror(-err);

	if (err == -ENOMEM)
		return SQLITE_NOMEM;
	if (err == -ETIME)
		return SQLITE_INTERRUPT;
	sqlite3_free(tab->zErrMsg);
	tab->zErrMsg = sqlite3_mprintf("%s", text);
	return SQLITE_ERROR;
}

int source_declare(struct sql_source *s, sqlite3 *db, const char *text)
{
	int rc;

	s->declaring = true;
	rc = sqlite3_declare_vtab(db, text);
	s->declaring = false;
	return rc;
}

int source_disconnect(sqlite3_vtab *tab)
{
	free(tab);
	return SQLITE_OK;
}

int source_cursor(struct sql_source *s, sqlite3_vtab *tab, size_t size, sqlite3_vtab_cursor **out)
{
	sqlite3_vtab_cursor *cur = calloc(1, size);
	uint64_t last, events;
	int err = 0;

	if (!cur)
		return SQLITE_NOMEM;
	if (!s->cursors) {
		err = store_extent(s->st, &last, &events);
		if (err == 0 && (!s->dict.names || last != s->dict.last_blob))
			err = dict_load(&s->dict, s->st);
	}
	if (err < 0) {
		free(cur);
		return source_fail(tab, err);
	}
	s->cursors++;
	*out = cur;
	return SQLITE_OK;
}

void source_leave(struct sql_source *s)
{
	s->cursors--;
}
