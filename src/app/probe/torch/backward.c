/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward.c - a range around the backward pass.
 *
 * torch.autograd enters its engine through one function of Python. It is replaced by a C function
 * that calls it: it does not appear in tracebacks, and an error reads as before.
 */
#include <stddef.h>

#include "probe/torch/torch.h"

static void *engine; /* torch's own function; owned for good */

static void *run_backward(void *self, void *args, void *kw)
{
	uint32_t name = aon_wants(AON_WANT_RANGE) ? aon_name("backward") : 0;
	struct torch_thread *t = thread_self();
	uint32_t was = t ? site_enter(t, AON_MEMORY_BACKWARD) : 0;
	void *out;

	(void)self;
	if (name)
		aon_range_push_id(name);
	out = py.call(engine, args, kw);
	if (t)
		site_leave(t, was);
	if (name)
		aon_range_pop_id(name);
	return out;
}

AON_API void *aon_torch_backward(void *function);

/* Instead of torch's function; NULL, and Python raises, if this Python lacks what it needs. */
AON_API void *aon_torch_backward(void *function)
{
	static struct py_method method = { "_engine_run_backward", run_backward, PY_METH_KEYWORDS,
					   NULL };

	if (!python_find(&py))
		return NULL;
	py.inc_ref(function);
	engine = function;
	return py.new_function(&method, NULL, NULL);
}
