/* SPDX-License-Identifier: Apache-2.0 */
/* mix.c - native frames and those of Python as one stack; see native.h. */
#include <string.h>

#include "stacks/native.h"

bool native_is_eval(const char *name)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";

	return !strncmp(name, loop, sizeof(loop) - 1); /* also ".cold" */
}

bool native_is_library(const char *file)
{
	return !*file || *file == '[' || *file == '?' || strstr(file, ".so") ||
	       !strncmp(file, "python", 6);
}

bool native_is_glue(const char *name)
{
	static const char *const begins[] = { "PyObject_",         "_PyObject_",   "cfunction_",
					      "method_vectorcall", "_PyFunction_", "_PyVectorcall_",
					      "slot_tp_",          "vectorcall_",  "PyVectorcall_",
					      "_PyEval_Vector",    "PyEval_Eval" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

struct mixing {
	struct native_mixed *out;
	size_t n, cap;
};

static void put(struct mixing *m, bool python, size_t index)
{
	if (m->n < m->cap)
		m->out[m->n++] = (struct native_mixed){ python, (uint32_t)index };
}

size_t native_mix(const bool *eval, size_t natives, const bool *entry, size_t pythons,
		  struct native_mixed *out, size_t cap)
{
	struct mixing m = { .out = out, .cap = cap };
	size_t py = 0;

	for (size_t i = 0; i < natives; i++) {
		if (!eval[i]) {
			put(&m, false, i);
			continue;
		}
		if (py == pythons)
			continue;
		do
			put(&m, true, py);
		while (!entry[py++] && py < pythons);
	}
	/* The native ones ended too early, or were of another moment. */
	for (; py < pythons; py++)
		put(&m, true, py);
	return m.n;
}
