/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.c - callables for Python's and torch's hooks: which optimizer has stepped, and others.
 *
 * Ranges name an optimizer's class only, and a GAN has two of one class. Python's functions are
 * looked up in the program, so that one library serves all versions; the call costs no Python.
 */
#include <stddef.h>

#include "probe/torch/torch.h"

#define METHODS 4u /* there are */

struct py_api py;

void *hook_none(void)
{
	if (py.none)
		py.inc_ref(py.none);
	return py.none;
}

void *hook_make(const char *name, hook_fn *call)
{
	static struct py_method method[METHODS];
	static uint32_t used;

	if (!python_find(&py) || used == METHODS)
		return NULL;
	method[used] = (struct py_method){ name, call, PY_METH_FASTCALL, NULL };
	return py.new_function(&method[used++], NULL, NULL);
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

AON_API void *aon_torch_hook(void);

/* For optimizers. */
AON_API void *aon_torch_hook(void)
{
	return hook_make("aon_optimizer_stepped", stepped);
}
