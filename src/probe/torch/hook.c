/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.c - a callable for torch's hooks of optimizers: which one has stepped.
 *
 * Ranges name an optimizer's class only, and a GAN has two of one class. Python's functions are
 * looked up in the program, so that one library serves all versions; the call costs no Python.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "probe/torch/torch.h"

typedef void *fast_fn(void *self, void *const *args, long n);

struct method { /* PyMethodDef, of the stable ABI */
	const char *name;
	fast_fn *call;
	int flags;
	const char *doc;
};

#define METH_FASTCALL 0x80

static void *py_none;
static void (*inc_ref)(void *);

/* (optimizer, args, kwargs) */
static void *stepped(void *self, void *const *args, long n)
{
	(void)self;
	if (n > 0)
		user_optimizer((uint64_t)(uintptr_t)args[0]);
	memory_hook();
	inc_ref(py_none);
	return py_none;
}

void *hook_new(void)
{
	static struct method method = { "aon_optimizer_stepped", stepped, METH_FASTCALL, NULL };
	void *(*make)(struct method *, void *, void *);

	make = (void *(*)(struct method *, void *, void *))dlsym(RTLD_DEFAULT, "PyCFunction_NewEx");
	inc_ref = (void (*)(void *))dlsym(RTLD_DEFAULT, "Py_IncRef");
	py_none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
	return make && inc_ref && py_none ? make(&method, NULL, NULL) : NULL;
}
