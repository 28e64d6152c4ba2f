/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile.h - a run as a timeline: tracks, names, and tiles at any level of detail.
 *
 * A view reads its source once, in order of time (at once, or step by step), and keeps for each
 * track how long each class was active in cells of 2^L ns, about a byte per event; finer detail is
 * read from the source again. It holds no events. Times are nanoseconds since the view's t0. Any
 * thread may call any function; results that point into the view are valid until tile_close(), as
 * tracks and names are only added. docs/tiles.md has the bytes of a tile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"
#include "model/process.h"

#define TILE_TRACKS_MAX 2048u /* more are not shown: tile_about.left counts their events */
#define TILE_EXACT_MAX  8192u /* limit of single events in a tile; above that it has cells */
#define TILE_LEVEL_MAX  54u
#define TILE_BYTES_MAX  (64u << 20) /* memory limit for cells; above it tracks are made coarser */

struct store;
struct tile_view;

enum tile_class {
#define GROUP(NAME, word) TILE_##NAME,
#include "tile/class.tbl.h"
	TILE_GROUPS,
};

extern const char *const tile_class_word[TILE_GROUPS];

enum tile_kind {
	TRACK_STEP,
	TRACK_GPU,
	TRACK_STREAM,
	TRACK_THREAD,
	TRACK_COMM,
	TRACK_COUNTER,
	TRACK_WHY
};

extern const char *const tile_kind_word[];

struct tile_opts {
	const uint32_t *process; /* ids in the store; none: all */
	size_t processes;
	uint64_t t0_ns;   /* start of the timeline; 0: the first event */
	size_t bytes_max; /* 0: TILE_BYTES_MAX */
	bool live;        /* the run still grows */
	bool later;       /* open without reading: tile_read() reads */
	/*
	 * Formats a name for people; NULL: unchanged. The result must stay valid for ever. Called
	 * while a view is opened or refreshed.
	 */
	const char *(*show)(const char *name);
};

/* The store is borrowed. Reads everything, unless `later` is set. */
int tile_open_store(struct tile_view **out, struct store *st, const struct tile_opts *o);
void tile_close(struct tile_view *v); /* NULL is allowed */

/*
 * Continues to read for about `ns`. 1: there is more; the view shows what was read so far, and all
 * tiles are flagged as live. 0: everything was read.
 */
int tile_read(struct tile_view *v, uint64_t ns);
/* Reads the rest and everything new; cheap if there is nothing. */
int tile_refresh(struct tile_view *v);
void tile_ended(struct tile_view *v); /* the run has ended: nothing will be added */

struct tile_about {
	uint64_t t0_ns, t1_ns; /* on the source's clock; t1_ns: end of the last event */
	uint64_t events, lost;
	uint64_t left;          /* events of tracks above TILE_TRACKS_MAX */
	uint64_t gone;          /* blocks that were evicted while reading */
	uint64_t read, to_read; /* progress in events, while it is partial */
	bool partial;           /* tile_read() has more to do */
	size_t tracks, names, bytes;
	bool live;
};
void tile_about(struct tile_view *v, struct tile_about *out);

struct tile_track {
	uint32_t id, parent; /* ids start at 1; parent 0: none */
	enum tile_kind kind;
	char label[96];
	uint32_t pid;
	int32_t rank, gpu;          /* -1: none */
	uint64_t first_ns, last_ns; /* relative */
	uint64_t n;
	uint8_t base_level;
};
int tile_track(struct tile_view *v, uint32_t id, struct tile_track *out); /* -ENOENT */

/* Names are numbered from 0 in the order of their first use. */
struct tile_name {
	const char *text; /* for people */
	enum tile_class class;
};
int tile_name(struct tile_view *v, uint32_t name, struct tile_name *out); /* -ENOENT */

/* --- tiles --- */

struct tile_ask {
	uint8_t L;
	uint64_t first, last;  /* range of tile indices */
	const uint32_t *track; /* ids of tracks */
	size_t tracks;
	uint64_t from; /* tiles to skip: `next` of the previous answer */
	size_t bytes;  /* stop after this many bytes, */
	uint64_t ns;   /* or after this time */
};

struct tile_answer {
	uint8_t *bytes; /* owned: free() */
	size_t len, cap;
	uint64_t next; /* 0: complete */
	bool live;     /* some tiles may change */
};

/* Parses "L=18&i=12-16&tracks=1,2". `track` has room for `max`. -EINVAL: `why` explains. */
#define TILE_ASK_MAX 256u /* limit on tracks, and on tiles in a row */
int tile_ask_parse(struct tile_ask *a, const char *L, const char *i, const char *tracks,
		   const char *from, uint32_t *track, size_t max, const char **why);
/* Writes the tiles, from the middle of the row outwards, all tracks of each. 0 or -errno. */
int tile_answer(struct tile_view *v, const struct tile_ask *a, struct tile_answer *out);

/* --- events --- */

#define TILE_NO_EVENT UINT64_MAX

struct tile_event {
	uint64_t id;
	uint32_t track;            /* its stream, thread or steps; 0: none */
	uint64_t start_ns, dur_ns; /* relative */
	struct tile_name name;
	const char *mangled; /* the name as it is stored */
	enum tile_class class;
	struct event event;   /* as stored */
	bool imported;        /* `a` and `b` mean what model/trace.h says */
	struct geo geo;       /* of a kernel; grid[0] 0: not known */
	uint32_t pid, device; /* device TRACK_HOST: the host */
	int32_t rank;         /* -1: not known */
	uint64_t stream;      /* for a thread: its id */
	bool idle;            /* not an event but a gap: a time in which a GPU was idle, and why */
	bool has_step;
	uint64_t step;      /* its number */
	const char *shapes; /* of an op; NULL: not known */
};

/* -ENOENT: it does not exist, or was evicted. */
int tile_event(struct tile_view *v, uint64_t id, struct tile_event *out);

/* A link from cause to effect: op to launch, launch to kernel. */
struct tile_link {
	uint64_t id;
	uint32_t track;
	uint64_t start_ns, dur_ns;
	uint32_t name;
};

struct tile_flow {
	struct tile_link from, to;
};

/* Up to `max` links of an event; *n is their number. Searches for at most `ns`. */
int tile_flows(struct tile_view *v, uint64_t id, uint64_t ns, struct tile_flow *out, size_t max,
	       size_t *n);

struct tile_query {
	const char *text;            /* part of the name, case-insensitive */
	uint64_t from_ns;            /* begins at or after this */
	uint64_t least_ns, below_ns; /* limits of its duration; 0: none */
};

/* The first `max` matching events, by time. Searches for at most `ns`; *all: there are no more. */
int tile_search(struct tile_view *v, const struct tile_query *q, uint64_t ns, struct tile_link *out,
		size_t max, size_t *n, bool *all);

struct tile_sum {
	uint32_t name; /* for rows */
	enum tile_class class;
	uint64_t n, ns;                  /* events, and their time within the range */
	uint64_t p50_ns, p99_ns, max_ns; /* of whole durations */
};

#define TILE_SUMS 64u

struct tile_selected {
	uint64_t n;
	uint64_t t1_ns; /* the range up to here was searched */
	bool partial;
	struct tile_sum class[TILE_GROUPS];
	struct tile_sum row[TILE_SUMS]; /* the longest ones */
	size_t rows, rest;              /* rest: names that did not fit */
};

/* Sums the events of the tracks (none: all) that overlap [t0, t1), each once. */
int tile_select(struct tile_view *v, uint64_t t0, uint64_t t1, const uint32_t *track, size_t tracks,
		uint64_t ns, struct tile_selected *out);
