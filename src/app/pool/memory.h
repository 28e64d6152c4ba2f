/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - aond's copy of the table of memory's holders, which a process wrote: copied, checked, bounded. */
#pragma once

#include "abi/memory.h"
#include "pool/pool.h"

/* 0; -ENOENT: the process has none; -EPROTO: it is none. Texts of *out end, numbers of rows, parts and spaces are in
 * their bounds; bytes can be anything below 2^62. */
int pool_memory(const struct pool *p, struct aon_memory *out);
/* The same of a copy, in place. */
int memory_check(struct aon_memory *m);
