/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - the functions that aon_hook_jax.py calls, by ctypes with Python's lock held, and
 * callables for what it calls often. Python's functions are those of its stable ABI, looked up in
 * the program.
 */
#include <errno.h>

#include "probe/jax/jax.h"
#include "probe/python.h"

#define HEAD_WORDS 2u /* of every object: counts, and its type */

static struct py_api py;
static vectorcall_fn *(*vectorcall)(void *callable); /* from Python 3.9 on */

AON_API int aon_jax_start(void);
AON_API int aon_jax_watch(void *object, size_t size, const char *name, uint32_t function);
AON_API void *aon_jax_function(unsigned which);
AON_API uint32_t aon_jax_current(void);
AON_API void *aon_jax_arguments(void);
AON_API void aon_jax_on_capture(void *callable);
AON_API void aon_jax_mark(const char *text);
AON_API void aon_jax_note(const char *state, const char *why);

/* 0, or -ENOSYS: a Python that lacks one of them. */
AON_API int aon_jax_start(void)
{
	*(void **)&vectorcall = dlsym(RTLD_DEFAULT, "PyVectorcall_Function");
	return vectorcall && python_find(&py) ? 0 : -ENOSYS;
}

/* Where an object of `size` bytes keeps the function by which it is called; NULL when that is not
 * in one place. */
static vectorcall_fn **find_slot(void *object, size_t size)
{
	vectorcall_fn *f = vectorcall(object), **word = object, **found = NULL;

	for (size_t i = HEAD_WORDS; f && i < size / sizeof(*word); i++) {
		if (word[i] != f)
			continue;
		if (found)
			return NULL;
		found = &word[i];
	}
	return found;
}

AON_API int aon_jax_watch(void *object, size_t size, const char *name, uint32_t function)
{
	vectorcall_fn **slot = find_slot(object, size);

	return slot ? call_watch(object, slot, aon_name(name), function) : -ENOSYS;
}

static void *none(void)
{
	py.inc_ref(py.none);
	return py.none;
}

static void *push(void *self, void *name)
{
	const char *text = py.utf8(name, NULL);

	(void)self;
	if (!text)
		py.clear();
	aon_range_push(text ? text : "(a name that is no text)");
	return none();
}

static void *pop(void *self, void *arg)
{
	(void)self;
	(void)arg;
	aon_range_pop();
	return none();
}

/* An annotation that is met while a function is traced says nothing of when it runs; JAX has
 * many of its own there. */
static void *annotate(void *self, void *name)
{
	return call_current() ? none() : push(self, name);
}

static void *annotated(void *self, void *arg)
{
	return call_current() ? none() : pop(self, arg);
}

/* An int; aon_hook_jax.py sees to it. */
static void *step_begin(void *self, void *number)
{
	(void)self;
	aon_step_begin(py.number(number));
	py.clear();
	return none();
}

static void *step_end(void *self, void *number)
{
	(void)self;
	aon_step_end(py.number(number));
	py.clear();
	return none();
}

/* A callable, or NULL when there are no more. */
AON_API void *aon_jax_function(unsigned which)
{
	static struct py_method method[] = {
		{ "aon_push", push, PY_METH_O, NULL },
		{ "aon_pop", pop, PY_METH_NOARGS, NULL },
		{ "aon_annotate", annotate, PY_METH_O, NULL },
		{ "aon_annotated", annotated, PY_METH_NOARGS, NULL },
		{ "aon_step_begin", step_begin, PY_METH_O, NULL },
		{ "aon_step_end", step_end, PY_METH_O, NULL },
	};

	return which < sizeof(method) / sizeof(method[0])
		       ? py.new_function(&method[which], NULL, NULL)
		       : none();
}

/* The number of the function whose outermost call is under way; 0: none. */
AON_API uint32_t aon_jax_current(void)
{
	const struct jax_call *c = call_current();

	return c ? c->function : 0;
}

/* The positional arguments of the outermost call that is under way: a tuple, or None. */
AON_API void *aon_jax_arguments(void)
{
	const struct jax_call *c = call_current();
	long n = c ? (long)(c->n & ~((size_t)1 << (8 * sizeof(size_t) - 1))) : 0;
	void *tuple = c ? py.new_tuple(n) : NULL;

	if (!tuple) {
		py.clear();
		return none();
	}
	for (long i = 0; i < n; i++) {
		py.inc_ref(c->args[i]);
		py.set_item(tuple, i, c->args[i]);
	}
	return tuple;
}

static void *capturer; /* owned, for good: capturer(number) */

static void on_capture(uint32_t number)
{
	void *n = py.new_number(number), *r = n ? py.call_with(capturer, n, NULL) : NULL;

	if (!r)
		py.clear();
	if (r)
		py.dec_ref(r);
	if (n)
		py.dec_ref(n);
}

AON_API void aon_jax_on_capture(void *callable)
{
	py.inc_ref(callable);
	capturer = callable;
	call_on_capture(on_capture);
}

AON_API void aon_jax_mark(const char *text)
{
	aon_mark(text);
}

AON_API void aon_jax_note(const char *state, const char *why)
{
	aon_note("jax", state, why);
}
