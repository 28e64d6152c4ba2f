/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - outermost calls of jitted functions: a range for each, and the steps that they form.
 *
 * A function that is called while another one is traced is part of that one, and not a call. A
 * lossy table maps an object's address to its function: an object that is not in the table is still
 * called, but not recorded. A stale entry belongs to an object that is gone.
 */
#include "probe/jax/jax.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/resident.h"

#define OBJECTS 4096u
#define TYPES   2u /* of jit, and of pmap in older versions */

struct object {
	void *object; /* not owned, and never looked into */
	uint32_t name, function;
};

static struct object objects[OBJECTS];
static vectorcall_fn *true_call[TYPES];

static struct {
	_Atomic uint32_t busy; /* whoever finds it taken leaves: nobody waits */
	struct jax_clock clock;
	uint64_t number; /* of the step under way */
	uint32_t off;    /* the program says its steps itself */
} steps;

static struct {
	call_capture_fn *fn;
	uint32_t number;
	uint64_t end_ns; /* of the one that runs; 0: none does */
} capture;

static __thread __attribute__((tls_model("initial-exec"))) const struct jax_call *current;
static __thread __attribute__((tls_model("initial-exec"))) uint32_t thread_id;

static uint32_t tid(void)
{
	if (!thread_id)
		thread_id = (uint32_t)syscall(SYS_gettid);
	return thread_id;
}

/* --- steps --- */

static void put_past(uint32_t n, uint64_t now)
{
	uint32_t track = n ? aon_track_thread(tid()) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct aon_act act = {
			.size = sizeof(act),
			.kind = AON_ACT_STEP,
			.track = track,
			.bytes = ++steps.number,
			.start_ns = step_past(&steps.clock, n, i),
			.end_ns = i + 1 < n ? step_past(&steps.clock, n, i + 1) : now,
		};

		aon_act_emit(&act);
	}
}

static void step(uint32_t function)
{
	uint32_t nobody = 0;
	struct step_news news;
	uint64_t now;

	if (steps.off || !function ||
	    !atomic_compare_exchange_strong_explicit(&steps.busy, &nobody, 1, memory_order_acquire,
						     memory_order_relaxed))
		return;
	now = clock_mono_ns();
	news = step_call(&steps.clock, function, tid(), now);
	if (news.end) {
		aon_step_end(steps.number);
		if (!news.begin) /* a step that may begin here does so after this one's end */
			steps.clock.function[function].first_ns = clock_mono_ns();
	}
	if (aon_wants(AON_WANT_STEP))
		put_past(news.past, now);
	else
		steps.number += news.past;
	if (news.begin) {
		resident_step();
		aon_step_begin(++steps.number);
	}
	atomic_store_explicit(&steps.busy, 0, memory_order_release);
}

AON_API void aon_jax_own_steps(void);
AON_API void aon_jax_forked(void);

/* The program says its steps itself. */
AON_API void aon_jax_own_steps(void)
{
	steps.off = 1;
}

AON_API void aon_jax_forked(void)
{
	memset(&steps.clock, 0, sizeof(steps.clock));
	steps.number = 0;
	atomic_store_explicit(&steps.busy, 0, memory_order_relaxed);
	thread_id = 0;
	current = NULL;
	capture.number = 0;
	capture.end_ns = 0;
}

/* --- captures --- */

void call_on_capture(call_capture_fn *fn)
{
	capture.fn = fn;
}

__attribute__((cold, noinline)) static void new_capture(uint32_t number, uint32_t ms)
{
	capture.number = number;
	if (!number || !capture.fn)
		return;
	capture.fn(number);
	capture.end_ns = clock_mono_ns() + ms * 1000000ull;
}

__attribute__((cold, noinline)) static void end_capture(void)
{
	if (clock_mono_ns() < capture.end_ns)
		return;
	capture.end_ns = 0;
	capture.fn(0);
}

static inline void look_for_capture(void)
{
	uint32_t ms, number = aon_capture(&ms);

	if (capture.end_ns)
		end_capture();
	else if (__builtin_expect(number != capture.number, 0))
		new_capture(number, ms);
}

/* --- calls --- */

static struct object *place(const void *object)
{
	return &objects[((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15ull >> 52];
}

_Static_assert(OBJECTS == 1u << (64 - 52), "place() gives one of them");

static inline void *on_call(vectorcall_fn *next, void *self, void *const *args, size_t n,
			    void *names)
{
	const struct object *o = place(self);
	struct jax_call call = { args, n, names, o->name, o->function };
	bool pushed;
	void *r;

	if (current || o->object != self || !aon_wants(AON_WANT_RANGE | AON_WANT_STEP))
		return next(self, args, n, names);
	current = &call;
	look_for_capture();
	step(o->function);
	pushed = aon_wants(AON_WANT_RANGE);
	if (pushed)
		aon_range_push_id(call.name);
	r = next(self, args, n, names);
	if (pushed)
		aon_range_pop_id(call.name);
	current = NULL;
	return r;
}

static void *on_call_0(void *self, void *const *args, size_t n, void *names)
{
	return on_call(true_call[0], self, args, n, names);
}

static void *on_call_1(void *self, void *const *args, size_t n, void *names)
{
	return on_call(true_call[1], self, args, n, names);
}

static vectorcall_fn *const our_call[TYPES] = { on_call_0, on_call_1 };

int call_watch(void *object, vectorcall_fn **slot, uint32_t name, uint32_t function)
{
	for (size_t i = 0; i < TYPES; i++) {
		if (!true_call[i])
			true_call[i] = *slot;
		if (*slot != true_call[i] && *slot != our_call[i])
			continue;
		*place(object) = (struct object){ object, name, function };
		*slot = our_call[i];
		return 0;
	}
	return -ENOSPC;
}

const struct jax_call *call_current(void)
{
	return current;
}
