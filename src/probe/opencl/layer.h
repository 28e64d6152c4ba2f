/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer.h - what the files of libaon-opencl.so share. Nothing here is exported.
 *
 *	app -> loader -> on_cl*() of this layer -> next()->cl*() -> loader -> driver
 *
 * layer.c    the two exported calls, tables       enqueue.c  kernels and copies, as they are asked for
 * info.c     what an app may ask about queues     harvest.c  what they took, when they are done
 * queue.c    queues, devices, one slot each       clock.h    a device's clock against the host's
 *
 * The app's event, or one of ours, is kept in a list of its queue until the device is done with
 * it. It is never waited for, and no lock of ours is held while the driver is called: a driver
 * may call the app back with its own locks held.
 *
 * All state is in one mapping that a forked child finds zeroed, so that a child is silent and
 * meets no lock of its parent's threads.
 */
#ifndef AON_PROBE_OPENCL_H
#define AON_PROBE_OPENCL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl_layer.h>

#include <aon/provider.h>

#include "probe/opencl/clock.h"

#define QUEUES       512u /* followed at a time; their numbers are used again */
#define DEVICES      64u
#define CONTEXTS     16u    /* told apart; later ones share a number */
#define KERNELS      16384u /* names remembered */
#define PENDING_MIN  1024u  /* PoCL lets an app run 12,000 commands ahead */
#define PENDING_MAX  65536u
#define BATCH        64u /* read at a time: one bit each in a word */
#define GEOS         16u
#define PROPS        17u
#define SAMPLE_NS    100000000u   /* between two looks at a timer that the device offers */
#define SAMPLE_TICKS (1ull << 24) /* some 5 ms of a 1-5 GHz counter between two looks at a clock */

enum op_name {
#define COPY(fn, params, args, kind, dir, bytes, block) OP_##fn,
#include "probe/opencl/enqueue.tbl.h"
	OP_clEnqueueNDRangeKernel,
	OP_clEnqueueMapBuffer,
	OP_clEnqueueMapImage,
	OP_MAX
};

/*
 * A lock that is held for some instructions, by every command: one exchange, no call.
 * Who finds it taken spins, then sleeps: its holder may have been preempted, by us even.
 */
struct brief {
	_Atomic uint32_t taken;
};

static inline void brief_take(struct brief *l)
{
	/* Pairs with the release in brief_give(). */
	for (unsigned i = 0; atomic_exchange_explicit(&l->taken, 1, memory_order_acquire); i++)
		if (i > 100)
			nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

static inline void brief_give(struct brief *l)
{
	atomic_store_explicit(&l->taken, 0, memory_order_release);
}

/* A command whose end was not seen yet. */
struct pending {
	cl_event event;   /* owned: one reference */
	uint64_t arg;     /* geometry, or bytes */
	uint64_t call_ns; /* when it was asked for; 0: not looked at */
	uint32_t call_took_ns;
	uint32_t name;
	uint32_t corr;
	uint8_t kind, dir;
};

struct device {
	cl_device_id id;
	bool timer; /* clGetDeviceAndHostTimer() works */
	pthread_mutex_t lock;
	struct dev_clock clock; /* guarded by lock */
	_Atomic uint32_t known; /* clock.known; a hint, read without the lock */
};

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_LIVE, SLOT_ORPHAN };

struct queue {
	_Atomic uint32_t state; /* enum slot_state; changed under layer.lock */
	_Atomic uint32_t refs;  /* the app's */
	_Atomic uint32_t harvesting;
	_Atomic uint64_t sampled_tsc;
	bool forced; /* the app did not ask for profiling */
	bool disordered;
	uint32_t lane, wait_lane;
	struct device *device;
	cl_queue_properties props[PROPS]; /* the app's, where we gave the driver others */
	uint32_t props_used;
	struct brief lock;    /* guards what follows */
	struct pending *list; /* owned; [head, tail) of `room` */
	uint32_t head, tail, room, pushed;
	struct {
		uint32_t dims[6], id;
	} geo[GEOS];
};

struct layer {
	uint32_t on;          /* 0 in a child */
	pthread_mutex_t lock; /* guards slots, devices and contexts while they come and go */
	bool exit_hooked;
	uint32_t device_count, context_count;
	_Atomic uint32_t corr;
	_Atomic uint32_t forced_live; /* queues whose profiling the app does not know of */
	_Atomic uint64_t told_tsc, told;
	_Atomic uint64_t failed, unread, full, unprofiled, running;
	uint32_t op_name[OP_MAX], name_queued, name_submitted, name_lost;
	cl_context context[CONTEXTS];
	struct device device[DEVICES];
	struct queue queue[QUEUES];
	_Atomic uint64_t by_handle[QUEUES * 4]; /* handle << 16 | slot; 0: free, 1: was used */
	_Atomic uint64_t kernel[KERNELS];       /* handle >> 17 << 32 | name */
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

static inline uint64_t host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- queue.c --- */
struct queue *queue_find(cl_command_queue handle);
struct queue *queue_of_event(cl_event event); /* NULL: none that we follow */
void queue_sample(struct device *d);          /* look at the device's own timer, if it has one */
void queue_sampled(struct device *d, uint64_t dev_ns, uint64_t before_ns, uint64_t after_ns,
		   struct dev_clock *out);
void queue_install(cl_icd_dispatch *ours);
void queue_give(struct queue *q); /* a slot whose list is empty */

/* --- enqueue.c --- */
void enqueue_install(cl_icd_dispatch *ours);

/* --- info.c --- */
void info_install(cl_icd_dispatch *ours);

/* --- harvest.c --- */
/* Keeps the command until it is done; owns p->event from here on. dims: global and local size. */
void harvest_push(struct queue *q, struct pending *p, const uint32_t dims[6]);
void harvest(struct queue *q, bool all); /* all: as far as it is done; else a few batches */
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

#endif /* AON_PROBE_OPENCL_H */
