/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.h - names of C++ kernels as their authors wrote them.
 *
 * Stores keep the name that the compiler made; readers show what it stands for. Only the text that
 * is shown changes: what is joined is joined by id, so that two names of one text stay two.
 */
#ifndef AON_DEMANGLE_H
#define AON_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_MAX 2047u /* bytes of a text; a longer one is cut and gets its name's hash */

/*
 * Learns those that begin with "_Z" and are new, all at once, in bounded time. Where there is no
 * libstdc++, or a name cannot be read, names stay as they are.
 */
void demangle_learn(const char *const name[], size_t n);

/* What was learned of it, good until the process ends, or the name itself. Any thread may ask. */
const char *demangle(const char *name);

#endif /* AON_DEMANGLE_H */
