/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jax.h - what the files of libaon-jax.so share.
 *
 * jax.jit returns an object of C++ that Python calls through a pointer in it (PEP 590). aon puts
 * its own function there, which calls the original one: the object stays the same for
 * transformations, pickles, and checks of its type. Nothing of JAX or Python is linked or included;
 * Python's functions are looked up in the program, so that one library serves all versions.
 *
 * call.c    outermost calls of jitted functions       step.c   from calls to steps
 * python.c  what aon_hook_jax.py calls
 *
 * Everything runs with Python's lock, or in the calling thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aon/provider.h>

#include "probe/jax/step.h"

typedef void *vectorcall_fn(void *self, void *const *args, size_t n, void *names);

/* --- call.c --- */

/* Starts a trace by JAX's own profiler, with this number; 0: ends it, its time is over. Called
 * before a function is called. */
typedef void call_capture_fn(uint32_t number);

/* Intercepts calls of `object` from here on: `slot` is where its pointer lies, `name` a name of
 * libaon, `function` a number that functions of the same source share; 0: no steps. */
int call_watch(void *object, vectorcall_fn **slot, uint32_t name, uint32_t function);
void call_on_capture(call_capture_fn *fn);

/* The outermost call of this thread that is under way; NULL: none. */
struct jax_call {
	void *const *args;
	size_t n;
	void *names;
	uint32_t name, function;
};
const struct jax_call *call_current(void);
