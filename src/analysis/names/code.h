/* SPDX-License-Identifier: Apache-2.0 */
/* code.h - whose code a name is of: the program's own, or what a compiler generated from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A Python function, "path/file.py(12): name", of the program itself, as far as its path tells. */
bool code_is_own(const char *name);

/* A function in a file that Inductor wrote, "/tmp/torchinductor_me/ov/cov7.py(40): call". */
bool code_is_generated(const char *name);

/* The operators that Inductor fused into a kernel, of its name: "add, relu" of
 * triton_poi_fused_add_relu_3. Whole ones only. False: it is no such kernel. */
bool code_fused(const char *kernel, char *out, size_t cap);
