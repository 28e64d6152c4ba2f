/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - an open view, shared by the files of this folder. */
#pragma once

#include <pthread.h>

#include "base/clock.h"
#include "insight/idle.h"
#include "names/class.h"
#include "tile/feed.h"
#include "tile/level.h"
#include "tile/tile.h"

#define NO_TRACK UINT32_MAX
/* Names that are in no source: causes of idle time, then unsampled steps. */
#define NAME_UNRECORDED 13u

struct name {
	uint32_t source;            /* its id in the source */
	uint8_t of_gpu;             /* enum tile_class if it is a kernel's */
	bool copy;                  /* a copy or memset has this name */
	bool gpu;                   /* GPU work has this name */
	bool launches;              /* a call with this name launches work, */
	bool waits;                 /* or waits for it */
	uint8_t call, range;        /* enum call, enum range_kind */
	bool mark;                  /* says that the next event is a collective (store/trace.h) */
	bool aside;                 /* describes a device; not on any timeline */
	const char *text, *shown;   /* as stored; as shown to people */
	uint64_t first_ns, last_ns; /* range of the starts of its events */
};

/* A time in which a GPU was idle. */
struct gap_kept {
	uint64_t start_ns, end_ns;
	uint8_t cause; /* enum idle_cause: also the number of its name */
};

/* Ids of gaps lie above those of events; JavaScript counts exactly up to 2^53. */
#define WHY_BIT          (1ull << 52)
#define WHY_ID(track, i) (WHY_BIT | (uint64_t)(track) << 32 | (i))

struct why;

struct view_track {
	struct tile_track pub;
	struct levels levels;
	uint32_t track;   /* STREAM, THREAD, COUNTER */
	uint32_t name;    /* COUNTER: the source's */
	uint32_t process; /* index into feed.process[] */
	/* WHY: */
	struct gap_kept *gap; /* owned, by time */
	size_t gaps, cap_gap;
	uint64_t busy_ns; /* the GPU is known to be busy until then */
	bool busy_any;
	struct idle_lead lead;
};

/*
 * Where the events of a source track go: indices in view.track[]; NO_TRACK before the first event.
 */
struct way {
	uint32_t own, gpu, comm, step, why;
	/* the group in which its events wait; its steps wait in that of the process */
	uint32_t group, steps;
};

/* An event on its way to its tracks. */
struct piece {
	uint64_t start_ns, end_ns; /* relative */
	uint64_t value;            /* for COUNTER and STEP: `a` */
	uint32_t track, name;      /* track: the source's id; name: the view's number */
	uint32_t corr;
	uint8_t kind, flags;
	bool comm;
	uint8_t class; /* enum tile_class */
};

/*
 * Waiting events of one thread or device, or steps of one process: they wait until all earlier ones
 * have arrived.
 */
struct group {
	struct piece *piece; /* owned */
	size_t n, cap;
	bool unsorted;
	bool host;
	uint32_t process, device; /* TRACK_HOST: a single track; GROUP_STEPS */
};

#define GROUP_STEPS (TRACK_HOST - 1)

/* The progress of reading. While there are unread blocks, no tile is final. */
struct reading {
	struct feed_block *block; /* owned, sorted by start; NULL: nothing to read */
	size_t n, at;
	size_t was;          /* blocks of earlier readings */
	size_t waiting;      /* events in groups, about */
	uint64_t from;       /* events that end before this were added already */
	uint64_t events, of; /* events of the blocks: read so far, all */
};

struct tile_view {
	pthread_mutex_t lock; /* guards all members below */
	struct feed *feed;    /* owned */
	struct names *classes;
	struct why *why; /* owned */
	const char *(*show)(const char *name);
	uint64_t t0_ns, t1_ns, events, left, gone;
	size_t bytes, bytes_max;
	bool live;
	bool unread;   /* the first reading is not complete */
	size_t blocks; /* blocks of the feed that were read or are being read */
	struct reading reading;

	struct view_track **track; /* owned */
	size_t tracks;
	struct name *name; /* owned, by number */
	size_t names;
	uint32_t *by_source; /* owned: number + 1, by the source's id */
	size_t sources;
	struct way *way; /* owned, by source track */
	size_t ways;
	struct group *group; /* owned */
	size_t groups;
	struct cell *scratch; /* owned: LEVELS_SCRATCH cells and two tiles */
	bool calls;           /* calls that launch work were seen */
	bool comm_mark;       /* the next event of the block is a collective */
};

static inline uint64_t view_rel(const struct tile_view *v, uint64_t ns)
{
	return ns > v->t0_ns ? ns - v->t0_ns : 0;
}

/* --- view.c --- */
/* As tile_open_store(), from a feed. The view owns it, and it is freed on failure. */
int tile_open_feed(struct tile_view **out, struct feed *f, const struct tile_opts *o);

/* --- name.c --- */
int view_names_init(struct tile_view *v); /* the causes of idle time get the first numbers */
/* The view's number for a name of the source, seen in an event of that kind. */
int view_name(struct tile_view *v, uint32_t source, uint32_t kind, uint32_t *out);
enum tile_class view_class(const struct tile_view *v, const struct piece *p); /* p->class is it */

/* --- track.c --- */
/*
 * The tracks of an event: fills their ids and returns their number (at most 3; 0: it is on none),
 * or -ENOMEM. `make`: creates missing tracks.
 */
#define ROUTES 3
int view_route(struct tile_view *v, const struct piece *p, bool make, uint32_t out[ROUTES]);

/* --- why.c --- */
int why_new(struct why **out);
void why_free(struct why *w); /* NULL is allowed */
int why_host(struct tile_view *v, const struct piece *p);
int why_work(struct tile_view *v, struct view_track *t, const struct piece *p);
void why_turn(struct tile_view *v);
int why_cut(struct tile_view *v, struct view_track *t, uint64_t ns);

/* --- build.c --- */
/* Converts event i of a block. 1; 0: it is not shown on timelines. */
int view_piece(struct tile_view *v, const struct event_columns *c, size_t i, struct piece *out);
/* Reads new events until clock_mono_ns() is `until`. 1: there are more. */
int view_build(struct tile_view *v, uint64_t until);
void view_build_fini(struct tile_view *v);
/* By start, then the longest first; a total order. */
int pieces_sort(struct piece *p, size_t n);

/* --- walk.c --- */
/* Called with each event of blocks that overlap [from, to]; a result other than 0 ends the walk. */
typedef int view_fn(void *arg, const struct piece *p, uint64_t id);
/*
 * Walks the blocks of one process (an index; NO_TRACK: all) in the order of their start. 1: fn()
 * ended it; -ETIMEDOUT: clock_mono_ns() reached `until`.
 */
int view_walk(struct tile_view *v, uint32_t process, uint64_t from, uint64_t to, uint64_t until,
	      view_fn *fn, void *arg);
const char *view_shown(const struct tile_view *v, uint32_t name);

/* --- wire.c --- */
struct tile_head {
	uint8_t kind, L, flags;
	uint32_t track;
	uint64_t t0_ns;
	uint32_t events, lost, epoch;
};
enum { TILE_EMPTY, TILE_EXACT, TILE_BUCKETS, TILE_SAMPLES };
enum { TILE_LIVE = 1, TILE_LOST = 2 };

struct exact {
	uint64_t start_ns, end_ns, id;
	uint32_t name;
	double value; /* of a counter */
};

int wire_empty(struct tile_answer *out, const struct tile_head *h);
int wire_cells(struct tile_answer *out, const struct tile_head *h, const struct cell *c);
int wire_samples(struct tile_answer *out, const struct tile_head *h, const struct cell *c);
int wire_exact(struct tile_answer *out, const struct tile_head *h, const struct exact *e, size_t n);
