/* SPDX-License-Identifier: Apache-2.0 */
/*
 * salvage.c - saves the intact rows of a damaged store.
 *
 * Searches every page that is not free for rows, trusts only rows whose sums match, and
 * puts them under their own numbers into a new store. Processes go first, because the new store
 * wants to know them; then the rest. Where the log and the file both had a page and anything
 * was found damaged, the file's older page is searched too. At the end each process's
 * account is corrected: records that its blobs no longer hold are counted as lost.
 */
#include "store/pages.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "store/blob.h"

#define LOST_STORE 12 /* in account.lost[]: the store failed (abi/loss.tbl.h) */
#define BLOB_COLS  8  /* of the index of blobs: what ought to be there */

struct salvage {
	struct pages pages;
	struct store *to;
	struct store_salvage n;
	struct rows buf;
	struct row_codecs codecs;
	struct store_row row;
	bool processes; /* this pass saves processes, else all but these */
	bool damaged;
};

/* OR IGNORE: what is there came from a better page. */
static const char *const put_sql[SEAL_TYPES] = {
	[SEAL_EVENTS] = "INSERT OR IGNORE INTO data VALUES(?1,?2)",
	[SEAL_WINDOW] = "INSERT OR IGNORE INTO win VALUES(?1,?3,?4,?5,?2)",
	[SEAL_NAME] = "INSERT OR IGNORE INTO name VALUES(?1,?2)",
	[SEAL_GEO] = "INSERT OR IGNORE INTO geo VALUES(?1,?2)",
	[SEAL_TRACK] = "INSERT OR IGNORE INTO lane VALUES(?1,?3,?2)",
	[SEAL_PROCESS] = "INSERT OR IGNORE INTO process VALUES(?1,?2)",
	[SEAL_JOURNAL] = "INSERT OR IGNORE INTO journal VALUES(?1,?2)",
	[SEAL_ENTRY] = "INSERT OR IGNORE INTO journal VALUES(?1,?2)",
	[SEAL_AGED] = "INSERT OR IGNORE INTO aged VALUES(?1,?2)",
	[SEAL_STEPS] = "INSERT OR IGNORE INTO step VALUES(?1,?3,?4,?5,?2)",
	[SEAL_NODE] = "INSERT OR IGNORE INTO node VALUES(?1,?2)",
	[SEAL_SERIES] = "INSERT OR IGNORE INTO series VALUES(?1,?2)",
	[SEAL_STACK] = "INSERT OR IGNORE INTO stack VALUES(?1,?2)",
	[SEAL_TELEMETRY] = "INSERT OR IGNORE INTO tele VALUES(?1,?3,?4,?6,?5,?2)",
};

static int run(struct store *st, const char *sql, const int64_t *num, int n, const void *blob,
	       size_t len)
{
	sqlite3_stmt *s = NULL;
	int rc;

	rc = sqlite3_prepare_v2(st->db, sql, -1, &s, NULL);
	for (int i = 0; rc == SQLITE_OK && i < n; i++)
		sqlite3_bind_int64(s, i + 1, num[i]);
	if (rc == SQLITE_OK && blob)
		sqlite3_bind_blob64(s, 2, blob, len, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	sqlite3_finalize(s);
	return store_errno(st, rc);
}

/* Remembers a blob that ought to be there. `sure`: its own head says so. */
static int expect(struct salvage *v, int64_t id, int64_t events, bool sure)
{
	const int64_t num[2] = { id, events };

	if (id < 1 || events < 0 || events > BLOB_EVENTS)
		return 0;
	return run(v->to,
		   sure ? "INSERT OR REPLACE INTO temp.ought VALUES(?1,?2)"
			: "INSERT OR IGNORE INTO temp.ought VALUES(?1,?2)",
		   num, 2, NULL, 0);
}

static int save_blob_index(struct salvage *v, const struct seal *s)
{
	const struct known_process *k = store_known(v->to, s->owner, false);
	uint64_t wall = s->t1_ns + (uint64_t)(k ? k->wall_offset_ns : 0);
	const int64_t num[BLOB_COLS] = { (int64_t)s->row,    s->owner,
					 store_ns(s->t0_ns), store_ns(s->t1_ns),
					 store_ns(wall),     s->count,
					 s->records,         (int64_t)(sizeof(*s) + s->len) };

	v->n.event_blobs++;
	v->n.events += s->count;
	return run(v->to, "INSERT OR IGNORE INTO blob VALUES(?1,?2,?3,?4,?5,?6,?7,?8)", num,
		   BLOB_COLS, NULL, 0);
}

static int save(struct salvage *v, const struct seal *s, const uint8_t *row, size_t len)
{
	const struct known_process *k = store_known(v->to, s->owner, false);
	uint64_t wall = s->t0_ns + (uint64_t)(k ? k->wall_offset_ns : 0);
	const int64_t num[6] = { (int64_t)s->row,   0, s->owner, store_ns(s->t0_ns), store_ns(wall),
				 store_ns(s->t1_ns) };
	bool timed = s->type == SEAL_WINDOW || s->type == SEAL_STEPS;
	int n = s->type == SEAL_TELEMETRY ? 6 : timed ? 5 : s->type == SEAL_TRACK ? 3 : 1;
	int err;

	err = run(v->to, put_sql[s->type], num, n, row, len);
	if (err < 0 || sqlite3_changes(v->to->db) == 0)
		return err;
	v->n.window_blobs += s->type == SEAL_WINDOW;
	v->n.steps += s->type == SEAL_STEPS ? s->count : 0;
	v->n.telemetry_blocks += s->type == SEAL_TELEMETRY;
	v->n.names += s->type == SEAL_NAME;
	v->n.processes += s->type == SEAL_PROCESS;
	return s->type == SEAL_EVENTS ? save_blob_index(v, s) : 0;
}

/* -EBADMSG: the row is damaged, and so is its page. */
static int salvage_row(void *arg, const struct page_row *row)
{
	struct salvage *v = arg;
	int64_t num[BLOB_COLS];
	const uint8_t *blob;
	struct seal s;
	size_t len;
	int cols, err;

	cols = record_parse(row, &blob, &len, num, BLOB_COLS);
	if (cols < 0)
		return -EBADMSG;
	if (!blob)
		return v->processes || cols != BLOB_COLS
			       ? 0
			       : expect(v, (int64_t)row->id, num[5], false);
	/* A sum proves that nothing changed, not that it was ever right: the body is looked at. */
	err = row_decode(&v->codecs, blob, len, &v->row);
	s = v->row.s;
	if (err == -ENOMEM)
		return err;
	if (err == 0 && (s.type == SEAL_PROCESS || s.type == SEAL_AGED) != v->processes)
		return 0;
	if (err == 0)
		return save(v, &s, blob, len);
	v->damaged = true;
	if (err == -EILSEQ && s.type == SEAL_EVENTS && !v->processes)
		expect(v, (int64_t)s.row, s.count, true);
	v->n.blobs_lost +=
		err == -EILSEQ && !v->processes &&
		(s.type == SEAL_WINDOW || s.type == SEAL_STEPS || s.type == SEAL_TELEMETRY);
	return -EBADMSG;
}

static int pass(struct salvage *v, bool processes, bool bare)
{
	int err = 0;

	v->processes = processes;
	for (uint32_t i = 1; err == 0 && i <= v->pages.count; i++) {
		if (v->pages.state[i] == PAGE_FREE || (bare && !v->pages.frame[i]))
			continue;
		err = pages_rows(&v->pages, i, bare, &v->buf, salvage_row, v);
		if (err == -ENODATA || err == -EIO) { /* a page that the disk does not give back */
			v->pages.state[i] = PAGE_BAD;
			err = 0;
		}
	}
	return err;
}

static void count_pages(struct salvage *v)
{
	v->n.pages = v->pages.count;
	v->n.pages_bad = v->pages.frames_bad;
	for (uint32_t i = 1; i <= v->pages.count; i++)
		v->n.pages_bad +=
			v->pages.state[i] == PAGE_BAD || v->pages.state[i] == PAGE_UNKNOWN;
	v->damaged |= v->n.pages_bad > 0;
}

/* --- the end: what is missing, and true accounts --- */

static uint64_t number(struct store *st, const char *sql, uint64_t id)
{
	sqlite3_stmt *s = NULL;
	uint64_t v = 0;

	if (sqlite3_prepare_v2(st->db, sql, -1, &s, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(s, 1, (int64_t)id);
		if (sqlite3_step(s) == SQLITE_ROW)
			v = (uint64_t)sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	return v;
}

static void settle(struct account *a, uint64_t have, uint64_t aged)
{
	uint64_t gross = a->stored; /* rows have it so */

	/* An older row than its blobs: these were emitted, if they are here. */
	if (have > gross) {
		a->emitted += have - gross;
		gross = have;
	}
	/* A blob that was dropped long ago may have been found again on a page not reused. */
	if (aged > gross - have)
		aged = gross - have;
	a->lost[LOST_STORE] += gross - have - aged;
	a->stored = have + aged;
	a->overwritten = aged;
}

static int settle_process(struct salvage *v, struct process *p)
{
	uint64_t have = number(v->to, "SELECT sum(records) FROM blob WHERE process=?1", p->id);
	struct known_process *k = store_known(v->to, p->id, true);
	struct rows rows = { 0 };
	size_t first;
	int err;

	settle(&p->account, have, k ? k->overwritten : 0);
	err = row_put_process(&rows, p);
	first = rows.len;
	if (err == 0)
		err = row_put_aged(&rows, p->id, p->account.overwritten);
	if (err == 0)
		err = store_put_row(v->to, rows.data, first);
	if (err == 0)
		err = store_put_row(v->to, rows.data + first, rows.len - first);
	rows_fini(&rows);
	return err;
}

static int settle_row(void *arg, const struct store_row *r)
{
	struct process p = r->process;

	return settle_process(arg, &p);
}

/* Processes of which only events are left. */
static int settle_orphans(struct salvage *v)
{
	const char *next = "SELECT min(process) FROM blob WHERE process>?1"
			   " AND process NOT IN (SELECT id FROM process)";
	struct process p = { 0 };
	int err = 0;

	while (err == 0) {
		p = (struct process){ .id = (uint32_t)number(v->to, next, p.id), .comm = "?" };
		if (!p.id)
			break;
		err = settle_process(v, &p);
	}
	return err;
}

static int finish(struct salvage *v)
{
	struct store_walk w = { ST_EACH_PROCESS, SEAL_PROCESS, { 0 }, 0 };
	int err;

	v->n.blobs_lost += number(v->to,
				  "SELECT count(*) FROM temp.ought WHERE id NOT IN"
				  " (SELECT id FROM data)",
				  0);
	v->n.events_lost = number(v->to,
				  "SELECT sum(events) FROM temp.ought WHERE id NOT IN"
				  " (SELECT id FROM data)",
				  0);
	err = store_walk(v->to, &w, settle_row, v);
	return err < 0 ? err : settle_orphans(v);
}

static int open_to(struct salvage *v, const char *to, struct store_why *why)
{
	struct store_opts o = { .create = true };
	int err;

	err = store_open_rw(&v->to, to, &o, why);
	if (err < 0)
		return err;
	err = run(v->to, "CREATE TEMP TABLE ought(id INTEGER PRIMARY KEY,events INTEGER)", NULL, 0,
		  NULL, 0);
	return err < 0 ? err : store_begin(v->to);
}

static int salvage(struct salvage *v, const char *to, struct store_why *why)
{
	int err;

	err = open_to(v, to, why);
	if (err == 0)
		err = pass(v, true, false);
	/* Opened anew, the store knows them and their clocks. */
	if (err == 0)
		err = store_commit(v->to, 0);
	if (err < 0)
		return err;
	store_close(v->to);
	v->to = NULL;
	err = open_to(v, to, why);
	if (err == 0)
		err = pass(v, false, false);
	if (err < 0)
		return err;
	count_pages(v);
	if (v->damaged)
		err = pass(v, true, true);
	if (err == 0 && v->damaged)
		err = pass(v, false, true);
	if (err == 0)
		err = finish(v);
	return err == 0 ? store_commit(v->to, 0) : err;
}

int store_salvage(const char *path, const char *to, struct store_salvage *out,
		  struct store_why *why)
{
	struct salvage v = { 0 };
	int err;

	if (access(to, F_OK) == 0)
		return store_because(why, -EEXIST, "%s is there already", to);
	if (why)
		why->text[0] = '\0';
	err = pages_open(&v.pages, path, why);
	if (err < 0)
		return err;
	err = salvage(&v, to, why);
	if (err < 0 && why && !why->text[0])
		store_because(why, err, "%s: %s", to, strerror(-err));
	if (err == 0)
		*out = v.n;
	store_close(v.to);
	if (err < 0)
		unlink(to);
	row_codecs_fini(&v.codecs);
	rows_fini(&v.buf);
	pages_close(&v.pages);
	return err;
}
