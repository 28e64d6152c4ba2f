/* SPDX-License-Identifier: Apache-2.0 */
/*
 * insight.h - what a trace says: joins, breakdowns, tables. Pure: a sealed trace in, numbers out.
 *
 *	insight_new(&in, t)   everything below, in a few passes
 *
 * Reports, findings, diff and what-if read the result. Indices of events are those of t->event[].
 */
#pragma once

#include "base/sketch.h"
#include "insight/account.h"
#include "insight/breakdown.h"
#include "insight/idle.h"
#include "names/class.h"
#include "insight/roofline/pm.h"
#include "insight/roofline/roof.h"
#include "insight/roofline/traffic.h"
#include "insight/samples/samples.h"
#include "model/trace.h"

#define NO_EVENT UINT32_MAX

#define INSIGHT_GAPS 8u /* the longest gaps of each device are kept */

struct insight_gap {
	uint64_t start_ns, end_ns;
	enum idle_cause cause; /* of most of the gap */
	struct event after;    /* that ended it */
};

/* From calls to the work that they launched. */
struct insight_launch {
	uint64_t launched;  /* GPU events whose launch was seen */
	uint64_t call_ns;   /* in those calls; a graph's once */
	uint64_t calls;     /* of them */
	uint64_t queued_ns; /* sum of start - call; / span is the mean depth of the queue */
	uint64_t depth_max;
	struct sketch delay; /* start - end of the call, 0 if it started within */
};

struct insight_copy {
	uint64_t count, bytes, ns, pageable, pageable_ns;
};

#define COPY_KINDS 16u /* AON_COPY_* */

struct insight_class {
	uint64_t count, ns;
	double variance; /* of ns, if steps were unsampled; set by a sweep only */
};

struct insight_stream {
	uint32_t track;
	struct breakdown b;
	struct insight_launch launch;
};

/* A frame of the host: how long it held a device up, and how long its calls took that did. */
struct insight_frame {
	uint32_t name; /* 0: none */
	uint64_t ns, span_ns, count;
};

struct insight_device {
	uint32_t device; /* index into t->device[] */
	int32_t rank;
	struct breakdown b;
	struct time_account account;
	uint64_t idle_ns[IDLE_CAUSES]; /* of the span between its first and last work */
	uint64_t short_gap_ns;  /* of IDLE_HOST and IDLE_LAUNCH, in gaps below GAP_SHORT_NS, */
	uint64_t queued_gap_ns; /* and from one kernel to the next that was launched in time */
	uint64_t short_gaps;
	struct insight_gap longest[INSIGHT_GAPS];
	struct insight_class class[CLASSES];
	struct insight_copy copy[COPY_KINDS];
	struct insight_launch launch;
	uint64_t small_kernels, small_ns; /* kernels below SMALL_KERNEL_NS, not communication */
	/* Attention that is not fused: how often, the time of what reads and writes the scores, and of
	 * the products around it. */
	uint64_t scores, scores_ns, score_products_ns;
	size_t stream_first, streams;    /* into insight.stream[] */
	uint64_t steps, step_ns;         /* of its process, and their time */
	const struct host_account *host; /* NULL; else no GPU: a thread, of this account */
	double gap_roots;                /* the sum of the square roots of its gaps */
	/* Samples that explain its idle time, as no launch call was recorded (live/account_gap.c); 0: none. */
	uint64_t sampled;
	uint32_t sampled_track; /* of this thread */
	/* The deepest frame that holds half of the time that the device waited for its host (launching
	 * included), and of the program's own code; and of the time that is due to waits. */
	struct insight_frame host_in, host_own, sync_in, sync_own;
};

#define GAP_SHORT_NS    200000u /* longer gaps are not due to launching */
#define SMALL_KERNEL_NS 10000u  /* about what a launch costs */

struct insight_step {
	uint32_t process;
	int32_t rank;
	uint64_t number, start_ns, dur_ns;
	uint64_t input_ns; /* part in which its thread waited for its next batch */
	struct breakdown
		b; /* clipped to the step, over all GPUs of the process; without: collectives */
};

/* A row of a table by name: kernels of a rank, ops, modules. */
struct insight_row {
	int32_t rank;
	uint32_t file, name;
	enum kclass class; /* of kernels */
	uint64_t count, total_ns, min_ns, max_ns, p50_ns, p99_ns;
	uint64_t bytes;
	uint64_t step_count, step_ns; /* of these, begun in a step */
};

struct insight_table {
	struct insight_row *row; /* owned, by rank, longest first */
	size_t rows;
};

enum insight_by { ROLL_KERNEL, ROLL_OP, ROLL_MODULE, ROLLS };

/* A row of a table by name: operators and modules by their time on the host. */
struct insight_host_row {
	int32_t rank;
	uint32_t file, name;
	uint64_t count, total_ns;
	uint64_t self_ns;      /* without operators (or modules) inside */
	uint64_t backward_ns;  /* of modules: of their operators in the backward pass */
	uint64_t flops, bytes; /* of operators whose shapes and formula are known, */
	uint64_t work_ns;      /* and their time */
};

enum insight_host_by { HOST_OP, HOST_MODULE, HOST_ROLLS };

struct insight_host_table {
	struct insight_host_row *row; /* owned, by file, longest first */
	size_t rows;
};

/* GPU work by what launched it: a row for each kernel, op and module of a file. */
struct insight_work_row {
	int32_t rank;
	uint32_t file, name;
	uint32_t op, module; /* names; UINT32_MAX: none */
	uint64_t count, total_ns;
	uint64_t in_steps; /* of count, launched in a step */
	uint64_t first_step, last_step;
};

struct insight_work_table {
	struct insight_work_row *row; /* owned, by file, longest first */
	size_t rows;
};

/* What the host threads of a process did that its GPUs depend on. */
struct insight_host {
	uint64_t syncs, sync_ns;      /* calls that waited for a GPU */
	uint64_t inputs, input_ns;    /* ranges that fetched input */
	uint64_t allocs, alloc_ns;    /* calls that allocated or freed */
	uint64_t retries;             /* of allocations, after memory was freed for them */
	uint64_t launches, launch_ns; /* calls that launched */
	struct event sync_longest, input_longest; /* EVENT_NONE: none */
	enum {
		LOADED_SOMEHOW,
		LOADED_HERE,
		LOADED_ELSEWHERE
	} loaded;         /* where input_longest's loader works */
	uint32_t sync_in; /* name of the range around the longest, else its own */
};

/* Spans of a thread that may explain idle GPUs. */
enum span_kind { SPAN_SYNC, SPAN_MARK, SPAN_KINDS }; /* waits; what idle_mark() knows */

struct insight_spans {
	struct insight_span *span; /* owned, track by track */
	size_t *track_first;       /* owned: tracks + 1 offsets */
};

/* A collective ends for all ranks together: the rank that spends the least time in it came last,
 * and the additional time of the others is waiting. No clocks are compared. */
struct rank_wait {
	uint32_t file;
	int32_t rank;
	uint64_t comm_ns;    /* in collectives that were matched */
	uint64_t waited_ns;  /* part beyond the time of the rank that came last */
	uint64_t late_ns;    /* of that, for waits.late, without what is due to experts */
	uint64_t experts_ns; /* of waited_ns: as the late rank's experts had more to do */
	uint64_t blamed_ns;  /* waiting of all others where this rank came last */
	uint64_t last;       /* how often it did */
};

struct waits {
	struct rank_wait *rank; /* owned, by file; NULL: fewer than two ranks communicate */
	size_t ranks;
	uint64_t matched;    /* collectives in which at least two took part */
	uint64_t total_ns;   /* waiting of all */
	uint64_t experts_ns; /* of that: due to unequal work of experts */
	uint32_t late;       /* the file that causes the most waiting */
};

/* One rank's part in one collective. */
struct wait_share {
	uint32_t rank; /* index into waits.rank */
	uint32_t name;
	uint64_t group;
	uint64_t number; /* in its group; 0: the n-th of its name */
	uint32_t size;   /* ranks of the group: only complete collectives count; 0: not known */
	uint32_t orphan; /* of a device, + 1, and its launch was not seen; 0: it was */
	uint64_t start_ns, dur_ns;
	uint64_t experts_ns; /* its device's work for experts since the last one of its kind */
	uint32_t traffic;    /* of insight.traffic, + 1; 0: none */
	uint32_t seen;       /* set by waits_match(): ranks that were seen in it; 0: not matched, */
	uint64_t waited_ns;  /* and how long this one waited */
};

/* Sums the shares, which are in any order, into rank[0] to rank[ranks - 1]; sorts them. */
void waits_match(struct waits *w, struct wait_share *share, size_t n);
/* For shares that were cut off somewhere: keeps of each kind the first ones that all of its ranks
 * have. These are moved to the front; returns their number. */
size_t waits_trim(struct wait_share *share, size_t n);
bool waits_for_all(const char *name);

/* Allocated memory, from counters. */
#define MEMORY_PARTS 16u

struct insight_memory {
	uint32_t file, name;
	uint64_t samples, first, last, peak;
	uint64_t first_ns, last_ns;
	uint64_t low[MEMORY_PARTS]; /* the least in each part of that time */
};

/* A function that a process compiled, by JAX or torch.compile. */
struct insight_compile {
	uint32_t process, name;
	uint64_t count, ns;
	uint64_t first_start_ns, first_ns; /* the first compilation is unavoidable */
	struct event last;
};

/* A rank in a group: what it issued and what ended. */
struct insight_member {
	uint32_t file, group;
	uint32_t name;       /* of the first that is open */
	uint64_t issued;     /* number of the last one; without numbers, how many */
	uint64_t done;       /* number of the last that ended; 0: they have none */
	uint64_t ended;      /* how many */
	uint64_t longest_ns; /* of these */
	uint64_t last_ns;    /* begin of the last of these */
	uint64_t open;       /* issued, and never ended */
	uint64_t since_ns;   /* when the first of them was issued */
	uint64_t stuck_ns;   /* how long it could have run */
};

/* Only where something is open. */
struct stopped_file {
	uint64_t first_ns, end_ns, ready_ns;
	uint64_t launches, work; /* calls that launch, and kernels that ended */
};

/* Collectives that never ended: stopped.c. */
struct stopped {
	struct insight_member *member; /* owned */
	struct stopped_file *file;     /* owned, by file; NULL: nothing is open */
	size_t members, member_room;
	bool stuck; /* the recording goes on for longer than such a collective takes */
};

struct insight_state;
struct join;
struct host_account;

struct host_accounts {
	struct host_account *v; /* owned, by process of the trace */
	size_t n;
};

struct insight {
	const struct trace *t; /* borrowed, sealed */
	struct names *names;
	uint32_t *
		link; /* by event, + 1: of GPU work its launch, else its op; of host events what encloses them */
	uint8_t *class
		; /* by event: of GPU work its class; of ranges what operators around them do */
	uint32_t *own_op; /* NULL, or by event, + 1: of GPU work the op that it names itself */
	uint32_t *
		through; /* NULL, or by event, + 1: the module that an op of the backward pass is of */
	struct insight_device *device;
	struct insight_stream *stream;
	struct insight_step *step;
	struct insight_host *host; /* by process */
	struct insight_spans spans[SPAN_KINDS];
	struct waits waits;
	struct insight_memory *memory;
	size_t memories;
	struct insight_table roll[ROLLS];
	struct insight_host_table on_host[HOST_ROLLS];
	struct roofs roofs;             /* of kernels: roof.h */
	struct traffic traffic;         /* of copies and collectives: traffic.h */
	struct pm_uses pm;              /* their counters: pm.h */
	struct insight_work_table work; /* empty where there are no ops, modules or ranges */
	struct samples samples;         /* where threads were: samples.h */
	struct insight_compile *compile;
	size_t compiles;
	struct stopped stopped;
	struct host_accounts hosts;     /* where threads' time goes: live/account_host.h */
	struct join *join;              /* owned; NULL, or what telemetry shows: join.h */
	size_t devices, streams, steps; /* only devices that did something */
	uint64_t unsampled;             /* unsampled steps: not among `steps` */
	bool swept;    /* by sweep.c: only devices, streams, their breakdowns and classes */
	bool parted;   /* of stretch.h: what is by event is gone */
	uint64_t torn; /* work whose call may have been dropped, in stretches; see stretch.c */
	uint64_t lo_ns, hi_ns;   /* the stretch; all there is if it is not parted */
	struct insight_state *x; /* owned: state.h */
	size_t kinds[EVENT_MAX]; /* how many events of each: many passes have nothing to do */
};

/* 0 or -ENOMEM; -EINVAL: not sealed, or more events than an index holds. */
int insight_new(struct insight **out, const struct trace *t);
/* Without tables, waits between ranks and memory: what a breakdown alone needs. */
int insight_new_breakdown(struct insight **out, const struct trace *t);
void insight_free(struct insight *in); /* NULL is allowed */

/* The innermost op around the launch of a GPU event, or NO_EVENT; and the innermost module (also of
 * an op; in the backward pass, that of its forward op). */
uint32_t insight_op(const struct insight *in, uint32_t gpu_event);
uint32_t insight_module(const struct insight *in, uint32_t event);
bool insight_is_module(const struct insight *in, uint32_t event);

/* The class of GPU work, by its name and the operator that launched it. */
static inline enum kclass insight_class(const struct insight *in, size_t gpu_event)
{
	return in->class ? (enum kclass)in->class[gpu_event]
			 : event_class(in->names, in->t, gpu_event);
}

/* The step in which it was launched, else in which it began; NULL: none. */
const struct insight_step *insight_step_of(const struct insight *in, uint32_t gpu_event);
/* That of a process at a moment. */
const struct insight_step *insight_step_at(const struct insight *in, uint32_t process, uint64_t ns);

/* The name under which a roll-up counts it; UINT32_MAX: none. */
uint32_t insight_name(const struct insight *in, enum insight_by by, uint32_t gpu_event);

/* The innermost host event of a thread at a moment, or NO_EVENT. */
uint32_t insight_host_at(const struct insight *in, uint32_t track, uint64_t ns);

/* The call that launched it, or NO_EVENT. */
static inline uint32_t insight_launch(const struct insight *in, size_t gpu_event)
{
	uint32_t up = in->link[gpu_event];

	return up && in->t->event[up - 1].kind != EVENT_RANGE ? up - 1 : NO_EVENT;
}

static inline int32_t insight_rank(const struct trace *t, uint32_t process)
{
	return t->file[t->process[process].file].rank;
}

/* The function of a compilation; NULL: the name is of something else. */
const char *insight_compiled(const struct trace *t, uint32_t name);
