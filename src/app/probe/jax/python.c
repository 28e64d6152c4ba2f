/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - what aon_hook_jax.py calls, by ctypes with Python's lock held, and callables for what
 * it calls often. Python's functions are those of its stable ABI, looked up in the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "probe/jax/jax.h"

#define METH_NOARGS 0x04
#define METH_O      0x08
#define HEAD_WORDS  2u /* of every object: counts, and its type */

struct method { /* PyMethodDef */
	const char *name;
	void *(*call)(void *self, void *arg);
	int flags;
	const char *doc;
};

static struct {
	void *(*new_function)(struct method *m, void *self, void *module);
	vectorcall_fn *(*vectorcall)(void *callable);
	const char *(*utf8)(void *text, long *len);
	unsigned long long (*number)(void *number);
	void (*clear)(void);
	void (*inc_ref)(void *object);
	void *(*new_tuple)(long n);
	int (*set_item)(void *tuple, long i, void *item);
	void *(*new_number)(unsigned long n);
	void *(*call)(void *callable, ...);
	void (*dec_ref)(void *object);
	void *none;
} py;

AON_API int aon_jax_start(void);
AON_API int aon_jax_watch(void *object, size_t size, const char *name, uint32_t function);
AON_API void *aon_jax_function(unsigned which);
AON_API uint32_t aon_jax_current(void);
AON_API void *aon_jax_arguments(void);
AON_API void aon_jax_on_capture(void *callable);
AON_API void aon_jax_own_steps(void);
AON_API void aon_jax_forked(void);
AON_API void aon_jax_mark(const char *text);
AON_API void aon_jax_note(const char *state, const char *why);

/* 0, or -ENOSYS: a Python that lacks one of them. */
AON_API int aon_jax_start(void)
{
	const struct {
		void *place;
		const char *name;
	} want[] = {
		{ &py.new_function, "PyCFunction_NewEx" },
		{ &py.vectorcall, "PyVectorcall_Function" },
		{ &py.utf8, "PyUnicode_AsUTF8AndSize" },
		{ &py.number, "PyLong_AsUnsignedLongLong" },
		{ &py.clear, "PyErr_Clear" },
		{ &py.inc_ref, "Py_IncRef" },
		{ &py.new_tuple, "PyTuple_New" },
		{ &py.set_item, "PyTuple_SetItem" },
		{ &py.new_number, "PyLong_FromUnsignedLong" },
		{ &py.call, "PyObject_CallFunctionObjArgs" },
		{ &py.dec_ref, "Py_DecRef" },
		{ &py.none, "_Py_NoneStruct" },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		void *f = dlsym(RTLD_DEFAULT, want[i].name);

		if (!f)
			return -ENOSYS;
		memcpy(want[i].place, &f, sizeof(f));
	}
	return 0;
}

/* Where an object of `size` bytes keeps the function by which it is called; NULL when that is not
 * in one place. */
static vectorcall_fn **find_slot(void *object, size_t size)
{
	vectorcall_fn *f = py.vectorcall(object), **word = object, **found = NULL;

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
	static struct method method[] = {
		{ "aon_push", push, METH_O, NULL },
		{ "aon_pop", pop, METH_NOARGS, NULL },
		{ "aon_annotate", annotate, METH_O, NULL },
		{ "aon_annotated", annotated, METH_NOARGS, NULL },
		{ "aon_step_begin", step_begin, METH_O, NULL },
		{ "aon_step_end", step_end, METH_O, NULL },
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
	void *n = py.new_number(number), *r = n ? py.call(capturer, n, NULL) : NULL;

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

/* The program says its steps itself. */
AON_API void aon_jax_own_steps(void)
{
	call_own_steps();
}

AON_API void aon_jax_forked(void)
{
	call_forked();
}

AON_API void aon_jax_mark(const char *text)
{
	aon_mark(text);
}

AON_API void aon_jax_note(const char *state, const char *why)
{
	aon_note("jax", state, why);
}
