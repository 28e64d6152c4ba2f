/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - one file with everything that a node recorded: SQLite as the container, column blobs inside.
 *
 * The only folder that knows SQLite and the blob codec. One writer (aond's writer thread),
 * any number of readers beside it; a reader holds no transaction between two batches, so it
 * never prevents the checkpoint of the writer's log, and its memory is bounded. A reader
 * creates and changes no file. docs/store.md describes the format.
 *
 * Any thread may call any function of a store. Interning, store_process() and store_entry()
 * work in memory alone and never wait for the disk; the others may wait for a commit.
 *
 * Failures: 0 or -errno; `why` (if not NULL) then explains in one line what failed and what to do:
 *	-ENOENT     no such file                -EMEDIUMTYPE  not an aon store
 *	-EPROTO     a newer version             -EBADMSG      damaged: see `aon recover`
 *	-ENOSPC     disk full                   -EBUSY        another writer has it
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/columns.h"
#include "model/entry.h"
#include "model/event.h"
#include "model/node.h"
#include "model/process.h"
#include "model/rollup.h"
#include "model/sample.h"
#include "model/step_rec.h"

struct series;
struct store;
struct telemetry_block; /* model/telemetry.h */

struct store_why {
	char text[256];
};

/* --- writing: one thread --- */

struct store_opts {
	uint64_t max_bytes;  /* cap of the file with its log, 1 MiB at least; 0: none */
	uint64_t max_age_ns; /* of events; 0: none */
	uint32_t names_max;  /* distinct names; further ones become STORE_NAME_OTHER (0: 100,000) */
	bool create;
};

#define STORE_NAME_OTHER 1u /* id of "(other)", in every store */

int store_open_rw(struct store **out, const char *path, const struct store_opts *o,
		  struct store_why *why);
void store_close(struct store *st); /* NULL is allowed */

/*
 * Interning. The id of what is new is given at once and its row joins the transaction that
 * is open (one is begun if none is). Ids are stable for the life of the file.
 *
 * *id == 0 on entry: found, or made. *id != 0: the caller chose the id (aond's drain thread
 * interns in memory, so that it never waits for SQLite); the row is made under that id, and
 * nothing happens when the id is there already.
 */
int store_name(struct store *st, const char *text, size_t len, uint32_t *id);
int store_geo(struct store *st, const struct geo *g, uint32_t *id);
/* Frames, innermost first; those beyond STACK_FRAMES_MAX are left out. 0: there are too many stacks. */
int store_stack(struct store *st, const struct stack_frame *frame, uint32_t n, uint32_t *id);
int store_track(struct store *st, const struct track *l, uint32_t *id);

/*
 * Insert (p->id == 0: finds the row of the same identity and pool, else makes one and sets
 * p->id) or update (p->id != 0; made under that id when it is not there).
 * account.stored and .overwritten are the store's own: store_blob() and store_commit() keep
 * them in the same transaction as the blobs, and this call sets those of *p from the store.
 */
int store_process(struct store *st, struct process *p);

/*
 * A finished blob of events (blob.h: packed), or a window. Bytes are copied before it returns.
 * -ENOSPC also when the cap leaves no room: nothing is left to drop, or a reader that stopped
 * half way keeps the log from being folded back. After any failure: store_rollback().
 */
struct blob;
int store_blob(struct store *st, uint32_t process, const struct blob *b);
int store_window(struct store *st, const struct window *w);

/* Some records of steps of one process (model/step_rec.h), as encoded, one behind the other. */
#define STORE_STEPS 1024u /* at most */
struct store_steps {
	uint32_t process, count;
	uint64_t t0_ns, t1_ns; /* first begin, last end: CLOCK_MONOTONIC */
	const uint8_t *bytes;
	size_t len;
};
int store_steps(struct store *st, const struct store_steps *b);

/* The identity of the node, in one row: the last one that was set. */
int store_node(struct store *st, const struct node_ident *n);

/*
 * The events of that process in that time are overwritten after all others: for captures that nobody
 * has fetched yet. At most STORE_KEPT of these, and a quarter of max_bytes together; beyond that the
 * oldest loses its protection. This is not on disk: the opener of the store must set it again.
 */
#define STORE_KEPT 64u
void store_keep(struct store *st, uint32_t process, uint64_t from_ns, uint64_t to_ns);

/*
 * Telemetry. A series' id is given at once, as that of a name; 0: there are too many. Of a source (any
 * number that its writer chose) the block that is under way is stored piece by piece, so that readers see
 * it soon, and in the end once more `whole`, in place of the pieces.
 */
int store_series(struct store *st, const struct series *s, uint32_t *id);
int store_telemetry(struct store *st, const struct telemetry_block *b, bool whole);

/* An entry of the store's own journal: alarms, captures, settings, starts and stops (model/entry.h). */
int store_entry(struct store *st, const struct journal_entry *e);

/*
 * Commits the open transaction. Event blobs that are too old are dropped first (those above the cap
 * are dropped when room is needed), and their records move from stored to overwritten in their
 * process's account, in the same transaction. now_ns: CLOCK_MONOTONIC, as all times here. On
 * failure nothing is stored. After a failed fsync of the log, later calls are refused with -EIO
 * until it succeeds.
 */
int store_commit(struct store *st, uint64_t now_ns);
/* Undoes blobs and windows since the last commit; small rows stay and join the next one. */
void store_rollback(struct store *st);
uint64_t store_bytes(const struct store *st); /* file and log on disk, last known */
uint64_t store_written(void);                 /* by all writers of this process, to the disk */

/* --- reading (the store_each_* of names, geos, tracks, processes also on a writer's store) --- */

int store_open_ro(struct store **out, const char *path, struct store_why *why);

/* A filter: some processes, some kinds of events, and what overlaps [from_ns, to_ns). */
struct store_filter {
	const uint32_t *process; /* ids, borrowed while the walk goes on; NULL: all */
	size_t processes;        /* how many of these; 0 of a list: none */
	uint32_t kinds;   /* bits of enum event_kind; 0: all but samples. Of events and windows */
	uint64_t from_ns; /* 0: from the beginning */
	uint64_t to_ns;   /* 0: to the end */
	const uint64_t *span; /* the two for each process, within those above; NULL: the same */
};
bool store_filter_process(const struct store_filter *f, uint32_t process); /* NULL: all */

/* Callbacks return 0 to go on, else the walk ends and returns that value. They may call the
 * store. Damage ends a walk with -EBADMSG. */
typedef int store_process_fn(void *arg, const struct process *p);
typedef int store_track_fn(void *arg, const struct track *l);
typedef int store_name_fn(void *arg, uint32_t id, const char *text, size_t len);
typedef int store_geo_fn(void *arg, const struct geo *g);
typedef int store_stack_fn(void *arg, const struct stack_row *r);
typedef int store_events_fn(void *arg, uint32_t process, const struct event_columns *c);
typedef int store_window_fn(void *arg, const struct window *w);
typedef int store_entry_fn(void *arg, const struct journal_entry *e);

int store_each_process(struct store *st, store_process_fn *fn, void *arg);
int store_each_track(struct store *st, uint32_t process, store_track_fn *fn,
		     void *arg); /* 0: all */
int store_each_name(struct store *st, store_name_fn *fn, void *arg);
int store_each_geo(struct store *st, store_geo_fn *fn, void *arg);
int store_each_stack(struct store *st, store_stack_fn *fn, void *arg);
int store_each_window(struct store *st, const struct store_filter *f, store_window_fn *fn,
		      void *arg);
int store_each_entry(struct store *st, store_entry_fn *fn, void *arg);

/*
 * Events, as columns of which only those in `cols` (enum event_column) are decoded. Exactly the events
 * that pass the filter come, in the order they were stored, not sorted by time. Blobs of other
 * processes or of another time are not read, and those without an event of the filter's kinds are not
 * decoded. The columns are good until the callback returns; event_at() makes one event of them. Samples
 * come only where the filter's kinds name them, and are of the time in which they were taken.
 */
int store_each_events(struct store *st, const struct store_filter *f, uint32_t cols,
		      store_events_fn *fn, void *arg);

/*
 * The same blob by blob, for callers that number events by their position: a batch is a blob that
 * may have events of the filter, with all of its events (samples, too: look at their kinds). The
 * columns are good until the next call.
 *
 *	struct store_scan *s;
 *	err = store_scan_open(&s, st, &filter, EVENT_COL_NAME | EVENT_COL_DUR);
 *	while (err == 0 && (err = store_scan_next(s, &process, &c)) > 0)
 *		for (err = 0, i = 0; i < c.n; i++)
 *			if (c.kind[i] == EVENT_KERNEL)
 *				total[c.name[i]] += c.dur_ns[i];
 *	store_scan_close(s);
 *
 * store_scan_next() returns 1, 0 at the end, or -errno. A store that is not a file has no blobs.
 */
struct store_scan;
int store_scan_open(struct store_scan **out, struct store *st, const struct store_filter *f,
		    uint32_t cols);
int store_scan_next(struct store_scan *s, uint32_t *process, struct event_columns *out);
uint64_t store_scan_blob(const struct store_scan *s); /* number of the blob of the last batch */
void store_scan_close(struct store_scan *s);          /* NULL is allowed */
/* That blob alone; -ENOENT: it is not there any more. Not to be mixed with store_scan_next(). */
int store_scan_get(struct store_scan *s, uint64_t blob, uint32_t *process,
		   struct event_columns *out);

/* The text of a name: NUL-terminated, borrowed until the store is closed; "?" if unknown. */
const char *store_name_text(struct store *st, uint32_t id);
/* The same, and a track, for callers that must not wait for a disk. -EAGAIN: a commit is under way. */
int store_name_try(struct store *st, uint32_t id, char *out, size_t cap);
int store_track_try(struct store *st, uint32_t id, struct track *out);
int store_geo_get(struct store *st, uint32_t id, struct geo *out);

/* Its frames are in `frame`. -ENOENT: there is none, as in a store of an older version. */
int store_stack_get(struct store *st, uint32_t id, struct stack_row *out,
		    struct stack_frame frame[STACK_FRAMES_MAX]);

/* Number of the newest event blob, and how many events there are. Cheap. */
int store_extent(struct store *st, uint64_t *last_blob, uint64_t *events);

/* The time since which nothing of that process was overwritten; UINT64_MAX: it has no events.
 * Earlier events were protected (store_keep()) and are incomplete. */
int store_held(struct store *st, uint32_t process, uint64_t *from_ns);

/* Windows as they come: those after number *after, which moves on, and of them the rows of these kinds, as
 * of a filter; and the newest one's number. */
int store_new_windows(struct store *st, uint64_t *after, uint32_t kinds, store_window_fn *fn,
		      void *arg);
int store_last_window(struct store *st, uint64_t *number);

/*
 * Records of steps, those of a process in the order in which its steps ended. As they come: those after
 * number *after, which moves on by rows; the newest row's number is store_last_step()'s. A store of
 * an older version has none.
 */
typedef int store_rec_fn(void *arg, uint32_t process, const struct step_rec *r);
int store_each_step(struct store *st, const struct store_filter *f, store_rec_fn *fn, void *arg);
int store_new_steps(struct store *st, uint64_t *after, store_rec_fn *fn, void *arg);
int store_last_step(struct store *st, uint64_t *number);

/* The identity of the node. -ENOENT: none was set. */
int store_node_get(struct store *st, struct node_ident *out);

/*
 * Telemetry: its series, and blocks that overlap [from_ns, to_ns), those under way in pieces. A block
 * is self-contained. Changes are in order of series, then of ticks. A store of the first version has none.
 */
typedef int store_series_fn(void *arg, const struct series *s);
typedef int store_telemetry_fn(void *arg, const struct telemetry_block *b);
int store_each_series(struct store *st, uint32_t after, store_series_fn *fn, void *arg);
int store_each_telemetry(struct store *st, uint64_t from_ns, uint64_t to_ns, store_telemetry_fn *fn,
			 void *arg);
/* Blocks as they come: those after number *after, which moves on; and the newest one's number. */
int store_new_telemetry(struct store *st, uint64_t *after, store_telemetry_fn *fn, void *arg);
int store_last_telemetry(struct store *st, uint64_t *number);

/* Where the event blobs are, without their events, in order of their numbers after `after`. */
struct store_piece {
	uint64_t blob;
	uint32_t process, events;
	uint64_t t0_ns, t1_ns; /* first start, last end */
};
typedef int store_piece_fn(void *arg, const struct store_piece *p);
int store_each_piece(struct store *st, uint64_t after, store_piece_fn *fn, void *arg);

/* What the file holds, for `aon store` and reports. */
struct store_stat {
	uint64_t bytes, names, processes, tracks;
	uint64_t event_blobs, events, event_bytes; /* event_bytes: compressed */
	uint64_t window_blobs, rollups, window_bytes;
	uint64_t step_blobs, steps, step_bytes;
	uint64_t stacks, stack_bytes;
	uint64_t first_ns, last_ns;
	uint32_t version;
};
int store_stat(struct store *st, struct store_stat *out);

/* --- damage --- */

/* Reads everything and checks every sum. Reports each fault as one line through fn; returns
 * the number of faults, or -errno when the file cannot be read at all. */
typedef void store_fault_fn(void *arg, const char *line);
int store_check(const char *path, store_fault_fn *fn, void *arg, struct store_stat *good);

struct store_salvage {
	uint64_t pages, pages_bad;
	uint64_t event_blobs, events, telemetry_blocks, window_blobs, steps, names, processes;
	uint64_t blobs_lost;  /* seen but not whole: their sum did not match */
	uint64_t events_lost; /* events in them, where that could be read */
};
/* Reads `path` page by page without trust, and writes the intact rows to the new
 * file `to` (which must not exist: -EEXIST). -EBUSY while a writer has `path`. */
int store_salvage(const char *path, const char *to, struct store_salvage *out,
		  struct store_why *why);

/*
 * Renames a store that cannot be used aside (path.bad-<n>, with its -wal and -shm), so that
 * a new one can be made; `to` gets the new name.
 */
int store_set_aside(const char *path, char *to, size_t to_len);
