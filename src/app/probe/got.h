/* SPDX-License-Identifier: Apache-2.0 */
/*
 * got.h - takes the place of functions that a loaded library imports, in its table of imported
 * functions (the GOT): calls from that library come here first. The library's code and the function
 * itself are not changed, and calls from other libraries are not seen. Never undone: a library that
 * takes entries stays loaded (-z nodelete).
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

struct got_place {
	const char *name; /* of the function */
	void *to;         /* what is called from now on; NULL: only count the entries */
};

/*
 * In the library of `info`, as dl_iterate_phdr() gives it: how many entries lead to `to` now,
 * including those that did before. -errno: an entry is in memory that cannot be written.
 */
int got_take(const struct dl_phdr_info *info, const struct got_place *places, size_t n);
/* Does it need the library of that SONAME? */
bool got_needs(const struct dl_phdr_info *info, const char *soname);
/* The SONAME of a library that dlopen() gave; NULL: it has none. */
const char *got_soname(void *lib);
