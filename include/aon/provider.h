/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provider.h - write a probe: hand the activities of a device to the profiler.
 *
 * A probe interns names, launch geometries and tracks once, then emits 32-byte records whose
 * times it already knows, on any thread. The rules of aon.h hold.
 */
#ifndef AON_PROVIDER_H
#define AON_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#include <aon/aon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of activity: numbers of the record. */
enum aon_act_kind {
	AON_ACT_KERNEL = 32,
	AON_ACT_COPY = 33,
	AON_ACT_MEMSET = 34,
	AON_ACT_SYNC = 35,
	AON_ACT_GRAPH = 36,
	AON_ACT_COLLECTIVE = 37,
	AON_ACT_API = 38,
	AON_ACT_ALLOC = 39,
	AON_ACT_STEP = 48,  /* bytes: its number; for probes that see a step only at its end */
	AON_ACT_OP = 49,    /* operator of a framework; track: the thread; corr: sequence number */
	AON_ACT_MODULE = 50 /* call of a part of a model, by its path; track: the thread */
};

/* dir of an OP */
enum aon_op_dir { AON_OP_FORWARD = 0, AON_OP_BACKWARD = 1 };

enum aon_copy_dir {
	AON_COPY_UNKNOWN = 0,
	AON_COPY_HTOD = 1,
	AON_COPY_DTOH = 2,
	AON_COPY_DTOD = 3,
	AON_COPY_HTOH = 4,
	AON_COPY_PTOP = 5
};

enum aon_mem_op { AON_MEM_ALLOC = 1, AON_MEM_FREE = 2 };

struct aon_act {
	size_t size; /* of this struct, so that it can grow at its end */
	uint32_t kind;
	uint32_t name;  /* aon_name() */
	uint32_t track; /* aon_track() */
	uint32_t geo;   /* KERNEL: aon_geo() */
	uint32_t corr;  /* correlation id with the launch */
	uint32_t dir;   /* COPY: enum aon_copy_dir; ALLOC: enum aon_mem_op; OP: enum aon_op_dir */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;
	uint64_t bytes;    /* COPY, MEMSET, COLLECTIVE, ALLOC; GRAPH: id of the graph */
	uint64_t group;    /* graph id << 32 | node; COLLECTIVE: communicator; ALLOC: address */
	uint64_t sequence; /* COLLECTIVE: number within its communicator */
};

/* 1 if activities of these AON_WANT_* bits are wanted: ask before you gather them. */
static inline int aon_wants(uint32_t bits)
{
	return aon_wants_(bits);
}

/* The same, but for what cannot be turned on and off from step to step: also true in unsampled
 * steps, which measure the cost of recording. */
AON_API int aon_wants_tier(uint32_t bits);

/* A stream of a device. Equal arguments give equal ids; 0 when the table is full. */
AON_API uint32_t aon_track(uint32_t device, uint32_t context, uint64_t stream, const char *name);

/* A thread of the host, for AON_ACT_API. */
AON_API uint32_t aon_track_thread(uint32_t tid);

/* A launch geometry. Equal arguments give equal ids; 0 when the table is full. */
AON_API uint32_t aon_geo(const uint32_t grid[3], const uint32_t block[3], uint32_t regs,
			 uint32_t smem_static, uint32_t smem_dynamic);

AON_API void aon_act_emit(const struct aon_act *act);

/*
 * Sends a text of up to 64 KiB to aond, which knows what to do with its type: the source of an
 * OpenCL program (1). `name` is what the records are called. Copies; never waits. 0, or
 *   -EAGAIN   no daemon has answered yet: try again later
 *   -ENOTSUP  the daemon is older and does not take texts
 *   -ENOBUFS  the pool was full: the text is lost, and counted
 *   -EINVAL   it is empty or too long
 */
AON_API int aon_text_emit(uint32_t name, uint32_t type, const char *text, uint32_t len);

/* A value of a track that was read at that moment of CLOCK_MONOTONIC, and not now. */
AON_API void aon_counter_at(uint32_t name, uint32_t track, double value, uint64_t ns);

/* Why a probe could not emit what it saw, or should have seen. */
enum aon_lost_why {
	AON_LOST_DISCARDED = 5, /* no buffer was left for the vendor's library */
	AON_LOST_SOURCE = 6,    /* the vendor's library dropped or damaged it */
	AON_LOST_UNTIMED = 7    /* seen, without times */
};

/* Counts `n` records as emitted and lost. */
AON_API void aon_lost(uint32_t why, uint64_t n);

/*
 * For a library that may be in a process more than once, and must record once: 0 for the first
 * that claims the source, -EBUSY for others. Holds for the life of the process.
 */
AON_API int aon_claim(const char *source);

/* Sets the last launch, and the last collective begun: words that can be read even when the process
 * hangs or was killed. */
AON_API void aon_heartbeat_launch(uint32_t corr, uint32_t name);
AON_API void aon_heartbeat_collective(uint64_t communicator, uint64_t sequence);
/* The residual overhead of a probe, which remains where nothing is recorded, by its own estimate:
 * so many nanoseconds more, or so many (in 1/16) at each aon_heartbeat_launch(). aond adds it to
 * the measured cost. */
AON_API void aon_stays(uint64_t ns);
AON_API void aon_stays_launch(uint32_t sixteenths);

/* For the one probe that says who holds the process's memory: `bytes` of zeros (below 64 KiB, always the same number)
 * that outlive the process. NULL: no daemon yet, or no room; ask again. A fork()ed child must not use its parent's. */
AON_API void *aon_memory_table(uint32_t bytes);
/* The step that is under way, for a probe that emits AON_ACT_STEP at its end. Also a moment to
 * join a daemon that started since. */
AON_API void aon_heartbeat_step(uint64_t number);

/* Ends the innermost range of this name on the thread, whatever was left open inside: for a probe,
 * whose ranges enclose code of the program. */
static inline void aon_range_pop_id(uint32_t name)
{
	if (aon_wants_(AON_WANT_RANGE))
		aon_emit_(AON_POP_, name, 0, 0, 0);
}

/* Operators are wanted in one of so many steps; 0: never. */
AON_API uint32_t aon_ops_every(void);

/*
 * The last requested trace by the framework's own profiler: its number, which is also part of the
 * name of the expected file, and its length; 0: none was requested. Probes check it where that is
 * cheap.
 */
AON_API uint32_t aon_capture(uint32_t *ms);

/* The last request to make room for another tool (`aon yield`): its number, and for how long; 0:
 * none. For a probe that uses hardware which only one tool can use. */
AON_API uint32_t aon_room(uint32_t *ms);
/*
 * A profiler of this process begins, and its library needs hardware that a probe may hold:
 * aon_room_begin() returns when the probe has left it, after 30 seconds at most. The probe comes
 * back some time after aon_room_end(). The probe that holds it says with aon_room_serve() whom to
 * call: with the name, and with NULL at the end.
 */
AON_API void aon_room_begin(const char *who);
AON_API void aon_room_end(void);
AON_API void aon_room_serve(void (*fn)(const char *who));
/* Whether another tool has a lease on the GPUs' counters: `aon lease take pm`. */
AON_API int aon_counters_leased(void);

/* A word for `aon ps` and `aon doctor`: ("cuda", "off", "no driver"). Cut at 15/15/127. The last
 * one of each source is kept, of up to 6 sources. The source "framework" says in its reason what the
 * program is written with, as "torch 2.5.1": for clusters. */
AON_API void aon_note(const char *source, const char *state, const char *reason);

#ifdef __cplusplus
}
#endif

#endif /* AON_PROVIDER_H */
