/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.h - what the files of libaon-opencl.so share. Nothing here is exported.
 *
 *	app -> loader -> on_cl*() of this layer -> next()->cl*() -> loader -> driver
 *
 * layer.c    the two exported calls, tables       enqueue.c  kernels and copies, as they are asked for
 * info.c     what an app may ask about queues     pending.c  those that are not done yet
 * queue.c    queues, one slot each                harvest.c  what they took, when they are done
 * device.c   devices and their clocks             clock.h    a device's clock against the host's
 *
 * The app's event, or one of the layer's, is kept until the device is done with it. Nothing waits,
 * and there is no lock. A word guards what one thread at a time may do (read events, correct a
 * clock); a second thread finds it set and moves on. So a driver may call the app back, and the app
 * the layer, at any point.
 *
 * All state is in one mapping that a forked child finds zeroed, so that a child is silent.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl_layer.h>

#include <aon/provider.h>

#include "probe/clock.h"

#define QUEUES       512u /* followed at a time; their numbers are used again */
#define DEVICES      64u
#define CONTEXTS     16u    /* distinguished; later ones share a number */
#define KERNELS      16384u /* names remembered */
#define PENDING_MIN  1024u  /* PoCL lets an app run 12,000 commands ahead */
#define PENDING_MAX  65536u
#define BOX          32768u /* asked for while one thread harvests, or was stopped while it did */
#define BATCH        64u    /* read at a time: one bit each in a word */
#define DUE          256u   /* new commands until completed ones are read */
#define GEOS         16u
#define PROPS        17u
#define SOURCES      1024u        /* programs whose source is sent to aond, at most */
#define SOURCE_BYTES (512u << 10) /* of sources that wait for aond's answer; untouched until used */
#define SOURCE_MOST  65536u       /* of one source: what aon_text_emit() takes */
#define SAMPLE_NS    100000000u   /* between two readings of a device's own timer */
#define SAMPLE_TICKS (1ull << 24) /* between two readings of a clock: about 5 ms at 1-5 GHz */

enum op_name {
#define COPY(fn, params, args, kind, dir, bytes, block) OP_##fn,
#include "probe/opencl/enqueue.tbl.h"
	OP_clEnqueueNDRangeKernel,
	OP_clEnqueueMapBuffer,
	OP_clEnqueueMapImage,
	OP_MAX
};

/* A word that one thread at a time sets; a thread that finds it set moves on. */
static inline bool turn_take(_Atomic uint32_t *turn)
{
	/* Pairs with the release in turn_give(): what the last one did is done. */
	return !atomic_exchange_explicit(turn, 1, memory_order_acquire);
}

static inline void turn_give(_Atomic uint32_t *turn)
{
	atomic_store_explicit(turn, 0, memory_order_release);
}

/* A command whose end was not seen yet. */
struct pending {
	_Alignas(64) _Atomic(cl_event) event; /* owned: one reference; NULL: not filled yet */
	uint64_t call_ns;                     /* when it was enqueued; 0: not recorded */
	uint32_t call_took_ns;
	uint32_t name;
	uint32_t corr;
	uint8_t kind, dir;
	union {
		uint32_t dims[6]; /* of a kernel: global and local size; 0: none */
		uint64_t bytes;
	};
};

_Static_assert(sizeof(struct pending) == 64, "one cache line");

struct device {
	_Atomic(cl_device_id) id; /* NULL: none; once set, for good */
	_Atomic uint32_t timer;   /* clGetDeviceAndHostTimer() works */
	_Atomic uint32_t turn;    /* guards clock */
	struct dev_clock clock;
	_Atomic uint32_t known; /* 1: there is an offset; whoever has the turn writes both */
	_Atomic int64_t offset;
	_Atomic uint64_t at_ns; /* of the last sample */
};

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_LIVE, SLOT_ORPHAN };

struct cl_queue {
	_Atomic uint32_t state; /* enum slot_state */
	_Atomic uint32_t refs;  /* the app's */
	_Atomic uint64_t sampled_tsc;
	_Atomic uint32_t forced; /* the app did not ask for profiling */
	bool disordered;
	uint32_t track, wait_track;
	struct device *device;
	cl_queue_properties props[PROPS]; /* the app's, where we gave the driver others */
	uint32_t props_used;
	struct pending *box;                 /* BOX cells, for good */
	_Alignas(64) _Atomic uint32_t taken; /* cells of the box; more than BOX: it was full */
	_Atomic uint32_t held;               /* tail - head, for others */
	_Atomic uint32_t harvesting;         /* guards what follows */
	uint32_t collected;                  /* cells of the box */
	struct pending *list;                /* owned; [head, tail) of `room` */
	uint32_t head, tail, room;
	struct {
		uint32_t dims[6], id;
	} geo[GEOS];
};

struct layer {
	uint32_t on; /* 0 in a child */
	_Atomic uint32_t exit_hooked, devices_listed, calibrated;
	_Atomic uint32_t corr;
	_Atomic uint32_t forced_live; /* queues whose profiling is hidden from the app */
	_Atomic uint64_t told_tsc, told;
	_Atomic uint64_t failed, unread, full, unprofiled, running;
	uint32_t op_name[OP_MAX], name_queued, name_submitted, name_lost, name_source, name_unsent;
	_Atomic(cl_context) context[CONTEXTS];
	struct device device[DEVICES];
	struct cl_queue queue[QUEUES];
	_Atomic uint64_t by_handle[QUEUES * 4]; /* handle << 16 | slot; 0: free, 1: was used */
	_Atomic uint64_t kernel[KERNELS];       /* handle >> 17 << 32 | name */
	_Atomic uint32_t reading;               /* guards sources, seen[] and the texts */
	_Atomic uint32_t text_used;             /* bytes of text[] */
	uint32_t sources;
	uint64_t seen[SOURCES]; /* hashes: a program that is built again is not sent again */
	_Atomic uint64_t unsent, unsent_told; /* sources that are too long, or too many */
	char text[SOURCE_BYTES]; /* one after the other, each behind its length (4 bytes) */
};

extern struct layer *layer; /* never NULL once a call can come in */
extern _Atomic(const cl_icd_dispatch *) layer_next;

static inline const cl_icd_dispatch *next(void)
{
	/* Pairs with the release in clInitLayer(). */
	return atomic_load_explicit(&layer_next, memory_order_acquire);
}

static inline bool layer_wanted(void)
{
	return aon_wants(AON_WANT_GPU) && layer->on;
}

static inline void count(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

/* --- device.c --- */
struct device *device_of(cl_device_id id); /* NULL: too many */
void device_look(struct device *d);        /* at its own timer, if it has one */
void device_sample(struct device *d, uint64_t dev_ns, uint64_t before_ns, uint64_t after_ns);
struct dev_clock device_clock(const struct device *d); /* known, offset */

/* --- queue.c --- */
struct cl_queue *queue_find(cl_command_queue handle);
struct cl_queue *queue_of_event(cl_event event); /* NULL: none that we follow */
void queue_install(cl_icd_dispatch *ours);
void queue_give(struct cl_queue *q);   /* a slot whose list is empty */
void queue_unhide(struct cl_queue *q); /* stops hiding that it profiles */

/* --- enqueue.c --- */
void enqueue_install(cl_icd_dispatch *ours);

/* --- layer.c --- */
void layer_send_sources(void); /* of programs built since the last call */

/* --- info.c --- */
void info_install(cl_icd_dispatch *ours);

/* --- pending.c --- */
bool pending_make(struct cl_queue *q);

/* A cell to fill, then to put; NULL: all are taken. *nth: of the box. */
static inline struct pending *pending_take(struct cl_queue *q, uint32_t *nth)
{
	/* Pairs with the release in box_empty(): the cell was read before it is written again. */
	*nth = atomic_fetch_add_explicit(&q->taken, 1, memory_order_acquire);
	return *nth < BOX ? &q->box[*nth] : NULL;
}

/* With its event, which is owned from here on. */
static inline void pending_put(struct pending *cell, cl_event event)
{
	/* Pairs with the acquire in pending_collect(). */
	atomic_store_explicit(&cell->event, event, memory_order_release);
}

static inline bool pending_plenty(const struct cl_queue *q)
{
	return atomic_load_explicit(&q->taken, memory_order_relaxed) +
		       atomic_load_explicit(&q->held, memory_order_relaxed) >=
	       BATCH;
}

/* For the thread that has the queue's turn (harvesting): */
void pending_collect(struct cl_queue *q); /* from the box to the list */
/* Of n that begin `skip` after the oldest, those of `done` leave the list. */
void pending_drop(struct cl_queue *q, uint32_t skip, uint32_t n, uint64_t done);
uint32_t pending_left(const struct cl_queue *q);
uint32_t pending_holds(struct cl_queue *q, cl_event event);
void pending_clear(struct cl_queue *q);

/* --- harvest.c --- */
void harvest(struct cl_queue *q, bool all); /* all: as far as it is done; else a few batches */
void harvest_orphans(void);
uint32_t harvest_holds(cl_event event); /* references that are ours */
void harvest_at_exit(void);
void harvest_install(cl_icd_dispatch *ours);

/* Puts our call where the driver has one. */
#define INSTALL(ours, fn)                     \
	do {                                  \
		if ((ours)->fn)               \
			(ours)->fn = on_##fn; \
	} while (0)
