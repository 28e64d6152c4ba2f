/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - a whole recording in memory: importers and the store's reader fill it, insight and
 * export read it. Data only; model/trace.c grows and frees it.
 *
 * Ids are indices into the arrays below; 0 of `name` and `geo` is "none". Times are integer
 * nanoseconds of one clock per file. What insight needs to join is here, not in the text:
 *
 *	op, range ---(same thread, encloses)---> launch (API) ---corr---> kernel, copy, memset
 *	collective kernels carry a comm; steps are EVENT_STEP of a host track.
 *
 * A correlation id is unique within a file and process only: join on (process, corr).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"
#include "model/process.h"
#include "model/sample.h"

#define TRACE_NO_RANK    (-1)
#define TRACE_NAMES_MAX  1000000u /* further names become TRACE_NAME_OTHER, counted */
#define TRACE_NAME_BYTES 4096u    /* of one name; the rest is cut */
#define TRACE_NAME_OTHER 1u       /* "(other)", in every trace */

/* The result of one input. rows = imported + left + lost. */
struct trace_file {
	char *path;
	int32_t rank;           /* from the trace, else from its name, else TRACE_NO_RANK */
	int32_t world;          /* ranks of the job; 0: not said */
	uint64_t rows;          /* entries that the file holds, as far as it could be read */
	uint64_t imported;      /* became events */
	uint64_t left;          /* rows that are not events: metadata, flows, other tools' own */
	uint64_t lost;          /* damaged */
	uint64_t mended;        /* imported with a negative or invalid length, taken as 0 */
	uint64_t broke_at;      /* byte offset of the first damage; UINT64_MAX: none */
	uint32_t tick_ns;       /* resolution of its times: 1, or 1000 */
	char why[160];          /* of the damage, for people */
	int64_t wall_offset_ns; /* add for wall time; 0: not known */
};

struct trace_process {
	uint32_t file;
	uint64_t pid; /* as the trace says */
	uint32_t name;
	uint32_t node;   /* name of its machine; 0: not said */
	uint64_t parent; /* pid of the process that started it; 0: not said */
};

struct trace_device {
	uint32_t file;
	uint32_t process;
	uint32_t device; /* the trace's own index */
	uint32_t name;   /* "NVIDIA H100 80GB HBM3"; 0: not said */
	uint32_t sms;    /* 0: not said */
	uint64_t memory_bytes;
};

/* A stream of a device, or a thread of the host. */
struct trace_track {
	uint32_t process;
	uint32_t device; /* index into device[]; TRACK_HOST: a thread */
	uint32_t context;
	uint32_t name;
	uint64_t stream; /* or the thread's id */
};

/* Details of a collective, from its launch or kernel. */
struct trace_comm {
	uint32_t name;  /* "all_reduce" */
	uint32_t group; /* name of the process group */
	uint32_t dtype;
	int32_t rank;
	uint32_t size; /* ranks of the group */
	uint64_t bytes_in, bytes_out;
	uint64_t sequence;
};

/* The frames of a stack: n of frame[] from `first` on, innermost first. */
struct trace_stack {
	size_t first;
	uint32_t n;
};

/* Samples of a thread that are no events of the trace, as windows have them; see sample.h. */
struct trace_rolled {
	uint32_t track, stack, holder; /* of the trace; holder: a stack, or of RUNNABLE a name */
	uint32_t key;                  /* sample_key() */
	uint64_t count;
	double ns, ns2; /* what they stand for; the sum of squares */
};

struct trace_text {
	const char *s; /* owned by the trace, NUL-terminated, not cleaned for terminals */
	uint32_t len;
};

/*
 * Events as model/event.h has them, with these meanings on top:
 *	RANGE  an op or annotation; corr: its External id; a: enum trace_range; b: see trace_op()
 *	API    a call of a runtime or driver; b: External id
 *	KERNEL a: geo; COPY, MEMSET a: bytes, flags: direction; b: see trace_node()
 *	SYNC   on a host track a call that waited; on a stream what the device waited
 *	       for: a: the stream waited for + 1, b: corr of the call that recorded the event (below)
 *	COUNTER a: value, EVENT_FLOAT: a double
 *	ALLOC  on the track TRACE_NO_STREAM of its device, or of the thread if of the host; where
 *	       the trace says how much is allocated then, a COUNTER named TRACE_ALLOCATED, too
 *	SAMPLE on the track of its thread; a: stack
 */
#define TRACE_ALLOCATED "[memory] allocated"
#define TRACE_RESIDENT  "[memory] resident" /* of the process, by the kernel */
#define TRACE_NO_STREAM UINT64_MAX          /* stream of a track: of the device as a whole */
#define TRACE_PAGEABLE  (1ull << 63)        /* COPY: one end was memory that is not pinned */
#define TRACE_SEEN      0x08u /* in flags, not of a STEP: of an earlier stretch, to join with */

enum trace_range {
	TRACE_OP = 1,     /* operator of the framework */
	TRACE_USER,       /* annotation of the program */
	TRACE_PYTHON,     /* Python function */
	TRACE_GPU_USER,   /* annotation projected onto a stream: not GPU work */
	TRACE_OTHER_HOST, /* anything else on a thread */
	TRACE_MODULE,     /* call of a part of a model, by its path */
	TRACE_DEVICE_OP,  /* operator that device work names as its own; no time on the host */
};

struct trace {
	struct trace_file *file;
	struct trace_process *process;
	struct trace_device *device;
	struct trace_track *track;
	struct trace_text *name;
	struct geo *geo;
	struct trace_comm *comm;
	struct trace_stack *stack; /* the first is empty: 0 is "none" */
	struct stack_frame *frame; /* of all stacks; its ids are names of the trace */
	struct trace_rolled *rolled;
	struct event *event;  /* sorted by (track, start, longest first) once trace_seal() ran */
	uint32_t *event_comm; /* NULL, or an index + 1 into comm[] for each event */
	size_t *track_first;  /* sealed: tracks + 1 offsets into event[] */
	size_t files, processes, devices, tracks, names, geos, comms, stacks, frames, rolleds,
		events;
	uint64_t names_over;     /* how often a name came after TRACE_NAMES_MAX others */
	struct trace_priv *priv; /* of model/trace.c: capacities, hash tables, the text's arena */
};

int trace_new(struct trace **out);
void trace_free(struct trace *t); /* NULL is allowed */

/*
 * Each finds or makes an entry (those with _add always make one); *id is untouched on failure
 * (-ENOMEM). Texts are copied. A track's name is not part of its key: the last one that is not 0
 * stays.
 */
int trace_name(struct trace *t, const char *s, size_t len, uint32_t *id);
int trace_process(struct trace *t, uint32_t file, uint64_t pid, uint32_t *id);
int trace_device(struct trace *t, uint32_t process, uint32_t device, uint32_t *id);
int trace_track(struct trace *t, const struct trace_track *l, uint32_t *id);
int trace_geo(struct trace *t, const struct geo *g, uint32_t *id);
int trace_file_add(struct trace *t, const char *path, uint32_t *id);
int trace_comm_add(struct trace *t, const struct trace_comm *c, uint32_t *id);
/* The frames are copied; the same stack may be added again, and is another one then. */
int trace_stack_add(struct trace *t, const struct stack_frame *f, size_t n, uint32_t *id);
/* comm: index + 1 into comm[], or 0. */
int trace_add(struct trace *t, const struct event *e, uint32_t comm);

/* Sorts the events and fills track_first. Idempotent; trace_add() after it unseals. */
int trace_seal(struct trace *t);

/*
 * From here on events are passed to the function `batch` at a time, in the order they came, and
 * neither they nor their comms are kept: an input of any size is imported in bounded memory. comm
 * is NULL, or as event_comm. A negative result of the function becomes that of trace_add().
 * trace_flush() passes on the rest.
 */
typedef int trace_batch_fn(void *arg, struct trace *t, const struct event *ev, const uint32_t *comm,
			   size_t n);
void trace_stream(struct trace *t, size_t batch, trace_batch_fn *fn, void *arg);
int trace_flush(struct trace *t);

/* Drops the events, and comms from the `comms`-th on; all else stays. */
void trace_clear(struct trace *t, size_t comms);
/* The same, with their memory; it is sealed then. */
int trace_drop(struct trace *t, size_t comms);

/*
 * A recording may be read in stretches of time. The stretch [lo, hi) has the host events that start
 * in it, and, flagged TRACE_SEEN, those that were open when it began. Device work is assigned a
 * little later than its launch, so that clocks which differ do not separate the two.
 */
#define TRACE_LAG_NS 1000000u

static inline uint64_t trace_lag(uint64_t ns)
{
	if (ns == UINT64_MAX)
		return ns;
	return ns > TRACE_LAG_NS ? ns - TRACE_LAG_NS : 0;
}

/* Whether the event belongs to the stretch; flags it. */
static inline bool trace_stretch(const struct trace *t, struct event *e, uint64_t lo, uint64_t hi)
{
	if (t->track[e->track].device != TRACK_HOST)
		return e->start_ns >= trace_lag(lo) &&
		       (e->start_ns < trace_lag(hi) || hi == UINT64_MAX);
	if (e->start_ns >= hi && hi != UINT64_MAX)
		return false;
	if (e->start_ns >= lo)
		return true;
	e->flags |= TRACE_SEEN;
	return e->start_ns + e->dur_ns > lo || e->start_ns + e->dur_ns < e->start_ns;
}

/* b of what ran on a device: graph node below, External id (31 bits) above. 0: none. */
static inline uint32_t trace_node(const struct event *e)
{
	return (uint32_t)e->b;
}

/* b of an operator that aon recorded: whether it is of the backward pass, the sequence number that
 * such a one shares with its operator of the forward pass, and the name of its shapes; 0: none. */
static inline uint64_t trace_op(bool backward, uint32_t sequence, uint32_t shapes)
{
	return (uint64_t)shapes << 33 | (uint64_t)sequence << 1 | backward;
}

static inline bool trace_op_backward(const struct event *e)
{
	return e->b & 1;
}

static inline uint32_t trace_op_sequence(const struct event *e)
{
	return (uint32_t)(e->b >> 1);
}

static inline uint32_t trace_op_shapes(const struct event *e)
{
	return (uint32_t)(e->b >> 33);
}

/* b of a stored range of an import: enum trace_range, the name of an operator's shapes (0: none, or too
 * large a number), then what trace_op() has of its sequence number. */
#define TRACE_STORED_SHAPES   8u
#define TRACE_STORED_SEQUENCE 32u

static inline uint64_t trace_op_store(const struct event *e, uint32_t shapes)
{
	bool fits = shapes < 1u << (TRACE_STORED_SEQUENCE - TRACE_STORED_SHAPES);

	return (e->a & 0xffu) | (uint64_t)(fits ? shapes : 0) << TRACE_STORED_SHAPES |
	       (e->a == TRACE_OP ? e->b << TRACE_STORED_SEQUENCE : 0);
}

static inline uint32_t trace_op_stored_shapes(uint64_t b)
{
	return (uint32_t)b >> TRACE_STORED_SHAPES;
}

static inline uint64_t trace_op_stored(uint64_t b, uint32_t shapes)
{
	uint32_t is = (uint32_t)(b >> TRACE_STORED_SEQUENCE);

	return trace_op(is & 1, is >> 1, shapes);
}

static inline uint32_t trace_external(const struct event *e)
{
	if (e->kind == EVENT_RANGE || e->kind == EVENT_STEP)
		return e->corr;
	return e->kind == EVENT_API ? (uint32_t)e->b : (uint32_t)(e->b >> 32) & 0x7fffffffu;
}

/* The frames of a sample's stack; none if its id is not known. */
static inline struct stack_row trace_stack(const struct trace *t, uint64_t id)
{
	if (!id || id >= t->stacks)
		return (struct stack_row){ 0, 0, NULL };
	return (struct stack_row){ (uint32_t)id, t->stack[id].n, t->frame + t->stack[id].first };
}

static inline const char *trace_text(const struct trace *t, uint32_t name)
{
	return name < t->names ? t->name[name].s : "?";
}
