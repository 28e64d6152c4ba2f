/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.c - callables for Python's and torch's hooks: which optimizer has stepped, and others.
 *
 * Ranges name an optimizer's class only, and a GAN has two of one class. Python's functions are
 * looked up in the program, so that one library serves all versions; the call costs no Python.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "probe/torch/torch.h"

struct method { /* PyMethodDef, of the stable ABI */
	const char *name;
	hook_fn *call;
	int flags;
	const char *doc;
};

#define METH_FASTCALL 0x80
#define METHODS       4u /* there are */

static void *py_none;
static void (*inc_ref)(void *);
static void *(*make)(struct method *, void *, void *);

void *hook_none(void)
{
	if (py_none)
		inc_ref(py_none);
	return py_none;
}

void *hook_make(const char *name, hook_fn *call)
{
	static struct method method[METHODS];
	static uint32_t used;

	make = (void *(*)(struct method *, void *, void *))dlsym(RTLD_DEFAULT, "PyCFunction_NewEx");
	inc_ref = (void (*)(void *))dlsym(RTLD_DEFAULT, "Py_IncRef");
	py_none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
	if (!make || !inc_ref || !py_none || used == METHODS)
		return NULL;
	method[used] = (struct method){ name, call, METH_FASTCALL, NULL };
	return make(&method[used++], NULL, NULL);
}

/* (optimizer, args, kwargs) */
static void *stepped(void *self, void *const *args, long n)
{
	uint64_t begin = stay_begin();

	(void)self;
	if (n > 0)
		user_optimizer((uint64_t)(uintptr_t)args[0]);
	memory_hook();
	stay_end(begin);
	return hook_none();
}

void *hook_new(void)
{
	return hook_make("aon_optimizer_stepped", stepped);
}
