/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.h - the reader of Perfetto's protobuf traces, in three parts:
 *
 *	perfetto.c        packets, what they intern, clocks
 *	perfetto_track.c  tracks by their uuid: a thread, a stream of a device, a counter
 *	perfetto_event.c  slices, instants, counters and GPU stages as events
 *
 * Packets are read one by one. Slices that begin and end apart are open on their track meanwhile.
 */
#pragma once

#include "base/map.h"
#include "base/pb.h"
#include "import/priv.h"

/* What packets of one writer name by number; a writer may begin anew at any time. */
struct perfetto_seq {
	uint64_t id;
	struct map names, categories, notes, texts, specs; /* iid: name of the trace + 1 */
	uint64_t track;                                    /* of events that name none */
	uint64_t clock;                                    /* of packets that name none */
};

/* A clock of a writer's own, or a global one: where it stood when another one was known. */
struct perfetto_clock {
	uint64_t seq, id; /* seq: 0 of a global one */
	int64_t zero;     /* add to a value for the trace's time */
	uint64_t unit;    /* ns */
	uint64_t last;    /* value of the last packet, if they count on from each other */
	bool counts_on;
};

enum perfetto_place { PLACE_THREAD, PLACE_STREAM, PLACE_COUNTER };

struct perfetto_track {
	uint64_t uuid, parent;
	uint32_t name;
	bool process, thread, counter;
	uint64_t pid, tid;
	/* Found when the first event came; 0: not yet. */
	uint8_t place;   /* enum perfetto_place + 1 */
	uint32_t device; /* of a stream: the trace's own index */
	uint64_t stream; /* or the thread */
	uint32_t owner;  /* process of the trace */
	uint32_t open;   /* slice + 1 */
};

struct perfetto_slice {
	struct event e;
	uint32_t comm;  /* of the trace, + 1 */
	uint32_t below; /* slice + 1 */
};

struct perfetto {
	const struct importing *im;
	struct trace *t;
	struct perfetto_seq *seq; /* owned */
	struct perfetto_clock *clock;
	struct perfetto_track *track;
	struct perfetto_slice *slice;
	size_t seqs, clocks, tracks, slices;
	struct map track_of, flows; /* uuid: track + 1; flow: number */
	struct map note_of;         /* name of an annotation: which one it is, + 1 */
	struct map kind_of;         /* name of a category: what it means, + 1 */
	uint32_t free_slice;
	uint64_t machine, at; /* of the packet: its machine, where it is in the file */
	int64_t base[64];     /* the last value of each built-in clock */
	bool have_base[64];
	uint64_t last_ns;
	uint32_t bad;   /* packets in a row */
	uint32_t ranks; /* how many its processes name */
};

/* What a packet says besides its event. */
struct perfetto_packet {
	struct perfetto_seq *seq;
	uint64_t ns;
	bool timed;
};

/* 0 or -errno. */
int perfetto_describe(struct perfetto *p, struct pb in); /* a TrackDescriptor */
int perfetto_track(struct perfetto *p, uint64_t uuid, struct perfetto_track **out);
int perfetto_process(struct perfetto *p, uint64_t pid, uint32_t *process);
/* The trace's track of an event there; context: of work on a stream. */
int perfetto_place(struct perfetto *p, const struct perfetto_track *l, uint32_t context,
		   uint32_t *track);
void perfetto_find_place(struct perfetto *p, struct perfetto_track *l, bool work);

/* 1 an event, 0 none, PERFETTO_SAME the end of one, -EBADMSG damaged, else -errno. */
#define PERFETTO_SAME 2
int perfetto_event(struct perfetto *p, const struct perfetto_packet *k, struct pb in);
int perfetto_stage(struct perfetto *p, const struct perfetto_packet *k, struct pb in);
/* Slices that never ended. */
int perfetto_finish(struct perfetto *p);

int perfetto_text(struct perfetto *p, struct pb text, uint32_t *name);
static inline uint32_t perfetto_iid(const struct map *m, uint64_t iid)
{
	uint64_t v = map_get(m, iid);

	return v ? (uint32_t)(v - 1) : 0;
}
