/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.h - what the files of libaon-torch.so share.
 *
 * One plain-C library for torch 1.13 and later: at::addGlobalCallback() is found by dlsym(), the
 * struct that it takes is laid out by hand. Nothing of torch is linked or included.
 *
 * start.c   finds torch, adds the callbacks, tests them   step.c   from optimizers to steps
 * user.c    USER_SCOPE: steps and ranges                  op.c     operators, in whole steps
 * work.c    works of process groups: collectives          hook.c   tells optimizers apart
 * memory.c  what the allocators hold, once a step         cpu.c    the same of the CPU's
 * event.c   Python's garbage, and compilations            data.c   batches of loaders
 * thread.c  what a thread has open, and forks             stay.c   cost of unsampled steps
 * call.c    calls of modules: steps without optimizers    shape.c  names and shapes of operators
 * backward.c  the backward pass                           box.c    the table of memory's holders
 * block.c   blocks of memory, counted by chance           site.c   where a block is allocated
 * gpu.c     blocks of GPUs                                got.c    takes calls of a library
 *
 * Callbacks run in strangers' threads, with and without Python's lock: they never wait, print,
 * throw or use the heap. An end may come after its callback was removed, so nothing here is ever
 * freed and the library is never unloaded.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <aon/provider.h>

#include "base/counters.h"
#include "probe/python.h"
#include "probe/torch/block.h"
#include "probe/torch/step.h"

/* --- at::RecordFunctionCallback, by value: a struct that larger ones of later versions begin
 * with; the rest stays zero. --- */

#define SCOPES               10
#define SCOPE_FUNCTION       0
#define SCOPE_BACKWARD       1
#define SCOPE_SCRIPT         2
#define SCOPE_USER           7
#define RECORD_NEEDS_INPUTS  0
#define RECORD_NEEDS_OUTPUTS 1
#define RECORD_NEEDS_IDS     2

extern struct py_api py;

struct record_function; /* at::RecordFunction, opaque but for the offsets in struct torch_abi */

/* Returns std::unique_ptr<ObserverContext>, which is not trivial: through a pointer that the
 * caller hands over first, and returned again. */
typedef void *record_start_fn(void **context, const struct record_function *rf);
typedef void record_end_fn(const struct record_function *rf, void *context);

struct record_callback {
	record_start_fn *start;
	record_end_fn *end;
	double probability;
	uint8_t scope[SCOPES];
	uint8_t needs[3];
	uint8_t later[91];
};

_Static_assert(sizeof(struct record_callback) == 128, "copied to the callee's stack whole");

struct torch_abi {
	uint64_t (*add)(struct record_callback cb);
	void (*remove)(uint64_t handle);
	const char *(*name)(const struct record_function *rf);
	bool (*is_async)(const struct record_function *rf);
	int64_t (*sequence_peek)(void);
	bool (*grad_enabled)(void);
	/* C shims of torch 2.4 and later; NULL before */
	int32_t (*numel)(void *tensor, int64_t *out);
	int32_t (*dtype)(void *tensor, int32_t *out);
	int32_t (*dim)(void *tensor, int64_t *out);
	int32_t (*sizes)(void *tensor, int64_t **out);
	void *undefined;  /* what a tensor that is none points to */
	uint32_t seq_off; /* of the sequence number in RecordFunction; 0: not known */
	uint32_t results; /* from there to the results; 0: not known */
};

extern struct torch_abi torch;

/* --- start.c --- */
void start_hear(bool yes); /* enables or disables ranges */
bool start_deaf(void);

/* --- thread.c --- */

#define USER_DEPTH 32u
#define OP_DEPTH   128u

struct op_frame {
	uint64_t start_tsc;
	uint32_t shapes;
	uint32_t backward;
};

struct torch_thread {
	_Atomic uint32_t used;
	uint32_t tid;
	uint32_t track;     /* aon_track_thread(tid); 0: not asked for yet */
	uint32_t users;     /* open ranges */
	uint32_t ops;       /* open operators, also those above OP_DEPTH */
	uint32_t quiet;     /* inside an optimizer's step: how deep */
	uint32_t calls;     /* of modules under way, one inside another */
	uint32_t called;    /* modules, since the last step */
	uint32_t site;      /* of what it allocates; 0: by what it does (site.c) */
	struct aon_act act; /* of an operator: what does not change is filled in once */
	const struct record_function *user[USER_DEPTH];
	struct op_frame op[OP_DEPTH];
};

bool thread_init(void);
struct torch_thread *thread_self(void); /* NULL: more threads than there is room for */
uint32_t thread_track(struct torch_thread *t);
/* True once in a child: the parent's open ranges are not the child's. */
bool thread_forked(void);
bool thread_is_child(void);

/* --- user.c --- */
record_start_fn user_start;
record_end_fn user_end;
void user_optimizer(uint64_t id); /* of the optimizer whose step is ending on this thread */
void user_hooks(void);            /* only the hook reports optimizers */
void user_finish(void);           /* the process ends */
void user_heed(void);             /* listens again, if the step that paused it is long over */
/* The thread's state, after what a fork left has been cleared; NULL: as thread_self(). */
struct torch_thread *user_enter(void);
bool user_infers(uint64_t *done); /* false: the process trains; else steps so far */
void user_trains(void);           /* calls of modules are no steps from now on */
uint64_t user_call_begin(void);   /* of a module, which is a step: its number */
void user_call_end(struct torch_thread *t, uint64_t number, uint64_t begin_ns);
extern _Atomic uint32_t user_seen; /* ranges begun and ended: the self-test looks at it */

/* --- work.c --- */
void work_begin(struct torch_thread *t, const struct record_function *rf, const char *title,
		uint64_t now);
bool work_end(struct torch_thread *t, const struct record_function *rf); /* false: no work */
void work_forget(void);                                                  /* in a child */
bool work_groups(void); /* there are process groups */
/* Reported by Python: a tensor to learn the layout from, and a group with the threads it made. */
void work_learn_tensor(const void *impl, uint64_t numel, uint32_t dtype);
void work_learn_handle(void);
void work_group(const char *name, uint32_t rank, uint32_t size, const uint32_t *tid, uint32_t n);

/* --- stay.c --- */
uint64_t stay_begin(void); /* 0: this step is recorded, nothing to estimate */
void stay_end(uint64_t begin);
void stay_call_costs(uint64_t sixteenths);             /* of a nanosecond */
void stay_nodes(uint32_t nodes);                       /* of the backward pass of a step */
void stay_step(struct torch_thread *t, bool listened); /* has ended; listened: as every step is */

/* --- op.c --- */
bool op_step(uint64_t number); /* a step begins: open or close the window; true: it is open */
void op_close(void);
void op_every(int steps); /* overrides aond's setting; -1: uses it */
void op_calibrate(void);  /* the clock, once at the start */
bool op_window(void);     /* operators are recorded now */
void op_module(struct torch_thread *t, uint32_t name, uint64_t start_tsc); /* its call has ended */

/* --- shape.c --- */
uint32_t shape_name(const char *name);
uint32_t shape_arguments(const struct record_function *rf);              /* as an operator begins */
uint32_t shape_id(const struct record_function *rf, uint32_t arguments); /* as it ends */

/* --- memory.c --- */
void memory_step(uint64_t number); /* a step has ended; 0: the program numbers its own */
void memory_hook(void);            /* with Python's lock, on a thread that trains */
void memory_forked(void);
/* track 0: of the host, said on this thread */
void memory_put(uint32_t track, enum memory_of which, int64_t value, uint64_t step);

/* --- cpu.c --- */
void cpu_step(uint64_t number);

/* --- library.c: torch's libraries, by the begin of their names --- */
struct got_place;
/* 0; -ENOENT: no such library; -ENOSYS: it does not import the first `must`, and none is taken. */
int library_take(const char *lib, const struct got_place *want, size_t n, size_t must);
void *library_open(const char *lib); /* of dlopen(); NULL: not loaded */

/* --- site.c: where in the program this thread allocates --- */
block_site_fn site_now;
void site_step(uint64_t number); /* a step has ended; 0: the program numbers its own */
void site_ended(void);           /* the process ends by itself */
void site_forked(void);          /* in a child */
/* These with Python's lock. What the thread does from here on; returns what it did, for site_leave(). */
uint32_t site_enter(struct torch_thread *t, enum aon_memory_part part);
void site_leave(struct torch_thread *t, uint32_t was);
uint32_t site_module(const char *path);
void site_ask_place(uint32_t site);        /* once: the line of the program that is under way */
void site_batch(void *args, void *kwargs); /* of the outermost call of a module */

/* --- hook.c: Python callables, or NULL --- */
typedef void *hook_fn(void *self, void *const *args, long n);
void *hook_make(const char *name, hook_fn *call);
void *hook_none(void); /* a new reference to None */

/* --- call.c --- */
/* 0, or -ENOSYS: not with this Python. `name`: a function that reports the paths of a module's
 * parts by aon_torch_module(). */
int call_start(void *module_type, void *trains, void *name);
void call_window(void); /* operators are recorded from now on */
