/* SPDX-License-Identifier: Apache-2.0 */
/* pyfind.h - whether a process runs CPython, and where its _PyRuntime is. */
#pragma once

#include "stacks/python.h"

/* An interpreter that is mapped at `base`; path: what its file is called. -ENOENT: none. */
int python_at(uint64_t base, const char *path, python_read_fn *read, void *arg,
	      struct python_opts *out);
/* By its mappings. -ENOENT: none; -EACCES, -ESRCH. */
int python_find(pid_t pid, python_read_fn *read, void *arg, struct python_opts *out);

/* Where _asyncio says what its tasks look like (python_asyncio()); 0: nowhere. */
uint64_t python_find_asyncio(pid_t pid);

/* Reads by process_vm_readv(); arg points to the pid. */
python_read_fn python_readv;
