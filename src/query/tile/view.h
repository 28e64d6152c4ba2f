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
/* Names that no source has: causes of idle time come first, then unsampled steps. */
#define NAME_UNRECORDED 13u

struct name {
	uint32_t source;            /* its id there */
	uint8_t of_gpu;             /* enum tile_class, where a kernel has it */
	bool copy;                  /* copies or memsets have it */
	bool gpu;                   /* work of a GPU has it */
	bool launches;              /* of calls: it launches work, */
	bool waits;                 /* it waits for it; */
	uint8_t call, range;        /* enum call, enum range_kind */
	bool mark;                  /* says that the next event is a collective (store/trace.h) */
	bool aside;                 /* describes a device, and is on no timeline */
	const char *text, *shown;   /* the source's; for people */
	uint64_t first_ns, last_ns; /* starts of events that have it */
};

/* A time in which a GPU was idle. */
struct gap_kept {
	uint64_t start_ns, end_ns;
	uint8_t cause; /* enum idle_cause: also the number of its name */
};

/* Ids of gaps, beyond those of events: 2^53 is what a page can count to. */
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
	uint64_t busy_ns; /* the GPU is known to be busy until then, at times */
	bool busy_any;
	struct idle_lead lead;
};

/* The view's tracks of a source's track: places in view.track[]; NO_TRACK before an event. */
struct way {
	uint32_t own, gpu, comm, step, why;
	uint32_t group, steps; /* where its events wait; its steps are with those of its process */
};

/* An event on its way into the tracks. */
struct piece {
	uint64_t start_ns, end_ns; /* relative */
	uint64_t value;            /* COUNTER, STEP: a */
	uint32_t track, name;      /* the source's; the view's */
	uint32_t corr;
	uint8_t kind, flags;
	bool comm;
	uint8_t class; /* enum tile_class */
};

/* Events of one thread, of one device, or steps of one process, that wait until all that begin before them are there. */
struct group {
	struct piece *piece; /* owned */
	size_t n, cap;
	bool unsorted;
	bool host;
	uint32_t process, device; /* TRACK_HOST: of one track alone; GROUP_STEPS */
};

#define GROUP_STEPS (TRACK_HOST - 1)

/* The progress of reading. While there are unread blocks, no tile is final. */
struct reading {
	struct feed_block *block; /* owned, by start; NULL: none are to be read */
	size_t n, at;
	size_t was;          /* blocks that had been read before */
	size_t waiting;      /* events in groups, about */
	uint64_t from;       /* events that end before it are there already */
	uint64_t events, of; /* of the blocks: read, and all */
};

struct tile_view {
	pthread_mutex_t lock; /* guards all below */
	struct feed *feed;    /* owned */
	struct names *classes;
	struct why *why; /* owned */
	const char *(*show)(const char *name);
	uint64_t t0_ns, t1_ns, events, left, gone;
	size_t bytes, bytes_max;
	bool live;
	bool unread;   /* not all was read yet, once */
	size_t blocks; /* of the feed's, that were read or are being read */
	struct reading reading;

	struct view_track **track; /* owned */
	size_t tracks;
	struct name *name; /* owned, by number */
	size_t names;
	uint32_t *by_source; /* owned: by id of the source, number + 1 */
	size_t sources;
	struct way *way; /* owned, by track */
	size_t ways;
	struct group *group; /* owned */
	size_t groups;
	struct cell *scratch; /* owned: LEVELS_SCRATCH and two tiles */
	bool calls;           /* some that launch were seen */
	bool comm_mark;       /* the block's next event is a collective */
};

static inline uint64_t view_rel(const struct tile_view *v, uint64_t ns)
{
	return ns > v->t0_ns ? ns - v->t0_ns : 0;
}

/* --- view.c --- */
/* As tile_open_store(), of what the feed has; it is the view's, or freed. */
int tile_open_feed(struct tile_view **out, struct feed *f, const struct tile_opts *o);

/* --- name.c --- */
int view_names_init(struct tile_view *v); /* causes of idle time come first */
/* The view's number of a name of the source, met in an event of that kind. */
int view_name(struct tile_view *v, uint32_t source, uint32_t kind, uint32_t *out);
enum tile_class view_class(const struct tile_view *v, const struct piece *p); /* p->class is it */

/* --- track.c --- */
/* Makes the tracks that an event needs; fills the ids of those that it belongs to. Returns how
 * many, 3 at most, 0: it is on none, or -ENOMEM. `make`: else there are only those that are. */
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
/* Event i of a block, in the view's terms. 1; 0: it is none of a timeline. */
int view_piece(struct tile_view *v, const struct event_columns *c, size_t i, struct piece *out);
/* Reads what is new until clock_mono_ns() is `until`. 1: there is more to be read. */
int view_build(struct tile_view *v, uint64_t until);
void view_build_fini(struct tile_view *v);
/* By start, the longest first, and in one order only. */
int pieces_sort(struct piece *p, size_t n);

/* --- walk.c --- */
/* Called with each event of blocks that overlap [from, to]; a result other than 0 ends it. */
typedef int view_fn(void *arg, const struct piece *p, uint64_t id);
/* Blocks of one process (index; NO_TRACK: all), in the order of their start. `until`: of
 * clock_mono_ns(); -ETIMEDOUT then, 1 if fn() ended it. */
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
