/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - reads a whole store and reports each problem in one line. */
#include "store/priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FAULTS_MAX 1000 /* lines; a file this bad needs no more of them */

struct check {
	struct store *st;
	store_fault_fn *fn;
	void *arg;
	int faults;
	const char *what;
	int type;
	struct row_codecs codecs;
	struct store_row row;
};

__attribute__((format(printf, 2, 3))) static void fault(struct check *c, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (++c->faults > FAULTS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (c->fn)
		c->fn(c->arg, line);
}

static int check_row(void *arg, uint64_t id, const uint8_t *row, size_t len)
{
	struct check *c = arg;
	struct seal s;
	int err;

	err = seal_check(&s, row, len);
	if (err == -EILSEQ)
		fault(c, "%s %llu: its bytes do not match their sum (%u events)", c->what,
		      (unsigned long long)id, s.count);
	else if (err == -EPROTO)
		fault(c, "%s %llu: is of a newer version", c->what, (unsigned long long)id);
	else if (err < 0)
		fault(c, "%s %llu: its head is damaged", c->what, (unsigned long long)id);
	else if ((s.type != c->type && (s.type != SEAL_JOURNAL || c->type != SEAL_ENTRY)) ||
		 s.row != id)
		fault(c, "%s %llu: holds another row's bytes", c->what, (unsigned long long)id);
	else if (row_decode(&c->codecs, row, len, &c->row) < 0)
		fault(c, "%s %llu: cannot be decoded", c->what, (unsigned long long)id);
	return 0;
}

/* Each row of the result is a fault: its columns are numbers for the format. */
static void check_query(struct check *c, const char *sql, const char *fmt)
{
	sqlite3_stmt *s = NULL;
	int rc;

	rc = sqlite3_prepare_v2(c->st->db, sql, -1, &s, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc == SQLITE_ROW)
			fault(c, fmt, (long long)sqlite3_column_int64(s, 0),
			      (long long)sqlite3_column_int64(s, 1));
	}
	if (rc != SQLITE_DONE)
		fault(c, "SQLite: %s", sqlite3_errmsg(c->st->db));
	sqlite3_finalize(s);
}

static void check_sqlite(struct check *c)
{
	sqlite3_stmt *s = NULL;
	int rc;

	rc = sqlite3_prepare_v2(c->st->db, "PRAGMA integrity_check(100)", -1, &s, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
			fault(c, "SQLite: %s", (const char *)sqlite3_column_text(s, 0));
	}
	if (rc != SQLITE_DONE)
		fault(c, "SQLite: %s", sqlite3_errmsg(c->st->db));
	sqlite3_finalize(s);
}

/* Records that a process has in its blobs. */
static uint64_t records_of(struct check *c, uint32_t process)
{
	uint64_t n = 0;
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(c->st->db, "SELECT sum(records) FROM blob WHERE process=?1", -1, &s,
			       NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(s, 1, process);
	if (sqlite3_step(s) == SQLITE_ROW)
		n = (uint64_t)sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}

static int check_account(void *arg, const struct process *p)
{
	const struct account *a = &p->account;
	struct check *c = arg;
	uint64_t sum = a->stored + a->overwritten + a->in_flight + account_lost(a);
	uint64_t have = records_of(c, p->id);

	if (sum != a->emitted)
		fault(c, "process %u: %llu records emitted, %llu accounted for", p->id,
		      (unsigned long long)a->emitted, (unsigned long long)sum);
	if (have != a->stored)
		fault(c, "process %u: %llu records stored by its account, %llu in its blobs", p->id,
		      (unsigned long long)a->stored, (unsigned long long)have);
	return 0;
}

static void check_all(struct check *c)
{
	static const struct {
		enum statement which;
		const char *what;
		int type;
	} walks[] = {
		{ ST_EACH_NAME, "name", SEAL_NAME },
		{ ST_EACH_GEO, "geo", SEAL_GEO },
		{ ST_EACH_TRACK, "lane", SEAL_TRACK },
		{ ST_EACH_PROCESS, "process", SEAL_PROCESS },
		{ ST_EACH_AGED, "aged", SEAL_AGED },
		{ ST_EACH_JOURNAL, "journal", SEAL_ENTRY },
		{ ST_EACH_BLOB, "event blob", SEAL_EVENTS },
		{ ST_EACH_WIN, "window", SEAL_WINDOW },
		{ ST_EACH_STEP, "steps", SEAL_STEPS },
		{ ST_EACH_NODE, "node", SEAL_NODE },
		{ ST_EACH_SERIES, "series", SEAL_SERIES },
		{ ST_EACH_TELE, "block of telemetry", SEAL_TELEMETRY },
		{ ST_EACH_STACK, "stack", SEAL_STACK },
	};
	size_t n = sizeof(walks) / sizeof(walks[0]) - (c->st->old ? 5 : !c->st->has_stacks);
	struct store_walk w = { 0 };
	int err;

	check_sqlite(c);
	for (size_t i = 0; i < n; i++) { /* the last ones are those of later versions */
		w.which = walks[i].which;
		c->what = walks[i].what;
		c->type = walks[i].type;
		err = store_walk_bytes(c->st, &w, check_row, c);
		if (err < 0)
			fault(c, "%ss: cannot be read to the end (%s)", c->what, strerror(-err));
	}
	/* Accounts and blobs of one moment, should there be a writer. */
	sqlite3_exec(c->st->db, "BEGIN", NULL, NULL, NULL);
	err = store_each_process(c->st, check_account, c);
	if (err < 0)
		fault(c, "accounts: cannot be read (%s)", strerror(-err));
	sqlite3_exec(c->st->db, "COMMIT", NULL, NULL, NULL);
	check_query(c,
		    "SELECT id,0 FROM blob WHERE id NOT IN (SELECT id FROM data) UNION ALL"
		    " SELECT id,1 FROM data WHERE id NOT IN (SELECT id FROM blob)",
		    "event blob %lld: index and bytes do not agree (%lld)");
	check_query(c,
		    "SELECT DISTINCT process,0 FROM blob WHERE process NOT IN"
		    " (SELECT id FROM process)",
		    "process %lld: has events but no row (%lld)");
}

int store_check(const char *path, store_fault_fn *fn, void *arg, struct store_stat *good)
{
	struct check c = { .fn = fn, .arg = arg };
	struct store_why why = { "" };
	int err;

	err = store_open_ro(&c.st, path, &why);
	if (err < 0) {
		if (fn)
			fn(arg, why.text);
		return err;
	}
	check_all(&c);
	if (good && store_stat(c.st, good) < 0)
		*good = (struct store_stat){ 0 };
	row_codecs_fini(&c.codecs);
	store_close(c.st);
	return c.faults;
}
