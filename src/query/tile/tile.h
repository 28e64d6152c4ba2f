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

#define TILE_TRACKS_MAX 2048u /* further ones are not shown: see tile_about.left */
#define TILE_EXACT_MAX  8192u /* events of one tile; above that, it has cells */
#define TILE_LEVEL_MAX  54u
#define TILE_BYTES_MAX  (64u << 20) /* of all cells: more, and tracks are made coarser */

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
	const uint32_t *process; /* of the store; none: all */
	size_t processes;
	uint64_t t0_ns;   /* 0: the first event */
	size_t bytes_max; /* 0: TILE_BYTES_MAX */
	bool live;        /* more will come */
	bool later;       /* open it without reading: tile_read() does */
	/* How names are shown; NULL: as they are. Its result must stay valid for ever. Called while
	 * a view is opened or refreshed. */
	const char *(*show)(const char *name);
};

/* The store is borrowed. Reads everything, except with `later`. */
int tile_open_store(struct tile_view **out, struct store *st, const struct tile_opts *o);
void tile_close(struct tile_view *v); /* NULL is allowed */

/* Reads on for about `ns`. 1: there is more; then the view shows what was read so
 * far, and every tile is flagged as live. 0: all was read. */
int tile_read(struct tile_view *v, uint64_t ns);
/* Reads all that is left and what came since; cheap when nothing did. */
int tile_refresh(struct tile_view *v);
void tile_ended(struct tile_view *v); /* nothing will come any more */

struct tile_about {
	uint64_t t0_ns, t1_ns; /* of the source's clock; end of the last event */
	uint64_t events, lost;
	uint64_t left;          /* events of tracks above TILE_TRACKS_MAX */
	uint64_t gone;          /* blocks that the source dropped while it was read */
	uint64_t read, to_read; /* events, while it is partial */
	bool partial;           /* tile_read() has more to do */
	size_t tracks, names, bytes;
	bool live;
};
void tile_about(struct tile_view *v, struct tile_about *out);

struct tile_track {
	uint32_t id, parent; /* from 1 on; 0: none */
	enum tile_kind kind;
	char label[96];
	uint32_t pid;
	int32_t rank, gpu;          /* -1: none */
	uint64_t first_ns, last_ns; /* relative */
	uint64_t n;
	uint8_t base_level;
};
int tile_track(struct tile_view *v, uint32_t id, struct tile_track *out); /* -ENOENT */

/* Names are numbered from 0 on, in the order they were met. */
struct tile_name {
	const char *text; /* for people */
	enum tile_class class;
};
int tile_name(struct tile_view *v, uint32_t name, struct tile_name *out); /* -ENOENT */

/* --- tiles --- */

struct tile_ask {
	uint8_t L;
	uint64_t first, last;  /* indices */
	const uint32_t *track; /* by id */
	size_t tracks;
	uint64_t from; /* how many to skip: `next` of an earlier answer */
	size_t bytes;  /* enough after so many, */
	uint64_t ns;   /* or after so long */
};

struct tile_answer {
	uint8_t *bytes; /* owned: free() */
	size_t len, cap;
	uint64_t next; /* 0: that is all */
	bool live;     /* some may change */
};

/* "L=18&i=12-16&tracks=1,2" as it is asked for. `track` has room for `max`. -EINVAL: `why` says. */
#define TILE_ASK_MAX 256u /* tracks, and tiles in a row */
int tile_ask_parse(struct tile_ask *a, const char *L, const char *i, const char *tracks,
		   const char *from, uint32_t *track, size_t max, const char **why);
/* Tiles from the middle of the row outwards, all tracks of each. 0 or -errno. */
int tile_answer(struct tile_view *v, const struct tile_ask *a, struct tile_answer *out);

/* --- events --- */

#define TILE_NO_EVENT UINT64_MAX

struct tile_event {
	uint64_t id;
	uint32_t track;            /* its own: stream, thread, steps; 0: none */
	uint64_t start_ns, dur_ns; /* relative */
	struct tile_name name;
	const char *mangled; /* the name as it is stored */
	enum tile_class class;
	struct event event;   /* as the source has it */
	bool imported;        /* `a` and `b` mean what model/trace.h says */
	struct geo geo;       /* of a kernel; grid[0] is 0: not known */
	uint32_t pid, device; /* TRACK_HOST: of the host */
	int32_t rank;         /* -1: not known */
	uint64_t stream;      /* or the thread's id */
	bool idle;            /* not an event: a time in which a GPU was idle, and why */
	bool has_step;
	uint64_t step;      /* its number */
	const char *shapes; /* of an op; NULL: not known */
};

/* -ENOENT: there is none, or the store has dropped it. */
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

/* Up to `max` links of an event; *n: how many. Searches no longer than `ns`. */
int tile_flows(struct tile_view *v, uint64_t id, uint64_t ns, struct tile_flow *out, size_t max,
	       size_t *n);

struct tile_query {
	const char *text;            /* in the name, any case */
	uint64_t from_ns;            /* begins then or later */
	uint64_t least_ns, below_ns; /* how long it takes; 0: no bound */
};

/* The first `max` events, by time. Searches no longer than `ns`; *all: there are no more. */
int tile_search(struct tile_view *v, const struct tile_query *q, uint64_t ns, struct tile_link *out,
		size_t max, size_t *n, bool *all);

struct tile_sum {
	uint32_t name; /* of rows */
	enum tile_class class;
	uint64_t n, ns;                  /* time within the range */
	uint64_t p50_ns, p99_ns, max_ns; /* of whole events */
};

#define TILE_SUMS 64u

struct tile_selected {
	uint64_t n;
	uint64_t t1_ns; /* how far it was looked */
	bool partial;
	struct tile_sum class[TILE_GROUPS];
	struct tile_sum row[TILE_SUMS]; /* the longest in all */
	size_t rows, rest;              /* names that are not there */
};

/* Events of the tracks (none: all) that reach into [t0, t1), each once. */
int tile_select(struct tile_view *v, uint64_t t0, uint64_t t1, const uint32_t *track, size_t tracks,
		uint64_t ns, struct tile_selected *out);
