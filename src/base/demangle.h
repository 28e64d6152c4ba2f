/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - names of C++ kernels as their authors wrote them.
 *
 * Stores keep mangled names; readers show them demangled. Only the shown text changes: rows are
 * joined by id, so two names with the same demangled text stay two.
 */
#pragma once

#include <stddef.h>

#define DEMANGLE_MAX 2047u /* bytes of a text; a longer one is cut and gets its name's hash */

/*
 * Demangles all new names that begin with "_Z", in bounded time. Without libstdc++, and where a
 * name cannot be demangled, names stay as they are.
 */
void demangle_learn(const char *const name[], size_t n);

/* The demangled name, valid until the process ends, or the name itself. Safe from any thread. */
const char *demangle(const char *name);
