/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - tensor cores that need their own instructions: Hopper, data-center Blackwell. */
#pragma once

#include "measure/backend.h"

/* A program with the kernel `count` alone, for blocks of TENSOR_THREADS; it holds until the next
 * call. False: not these devices, or not this type. */
#define TENSOR_THREADS 256u
bool tensor_variant(uint32_t cc, enum gpu_type t, struct variant *out);
/* Whether it is such a program, to compile for this very device and no later one. */
bool tensor_is_whole(const struct variant *v);
