/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - the Python interpreter of the program. Its functions are looked up in the program, so
 * that one library serves all versions. All are called with Python's lock held.
 */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PY_METH_KEYWORDS 0x03 /* (self, args, kw) */
#define PY_METH_NOARGS   0x04
#define PY_METH_O        0x08
#define PY_METH_FASTCALL 0x80 /* (self, args, n) */

struct py_method { /* PyMethodDef */
	const char *name;
	void *call; /* by the flags */
	int flags;
	const char *doc;
};

struct py_api {
#define PY(result, field, args, symbol) result(*field) args;
#include "probe/python.tbl.h"
	void *none, *super;
};

/* False: this Python lacks one of them. */
static inline bool python_find(struct py_api *py)
{
	static const struct {
		const char *name;
		size_t at;
	} want[] = {
#define PY(result, field, args, symbol) { #symbol, offsetof(struct py_api, field) },
#include "probe/python.tbl.h"
		{ "_Py_NoneStruct", offsetof(struct py_api, none) },
		{ "PySuper_Type", offsetof(struct py_api, super) },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		void *f = dlsym(RTLD_DEFAULT, want[i].name);

		if (!f)
			return false;
		memcpy((char *)py + want[i].at, &f, sizeof(f));
	}
	return true;
}
