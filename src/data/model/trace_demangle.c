/* SPDX-License-Identifier: Apache-2.0 */
/* trace_demangle.c - demangles all C++ names of a trace at once. */
#include "model/trace_demangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "model/trace.h"

void demangle_trace(struct trace *t)
{
	const char **name = calloc(t->names + 1, sizeof(char *));

	for (size_t i = 0; name && i < t->names; i++)
		name[i] = t->name[i].s;
	if (name)
		demangle_learn(name, t->names);
	for (size_t i = 0; i < t->names; i++) {
		const char *text = demangle(t->name[i].s);

		if (text != t->name[i].s)
			t->name[i] = (struct trace_text){ text, (uint32_t)strlen(text) };
	}
	free(name);
}
