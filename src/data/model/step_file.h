/* SPDX-License-Identifier: Apache-2.0 */
/* step_file.h - reads records of steps from a file, those of a step together. */
#pragma once

#include <stdio.h>

#include "model/step_rec.h"

#define STEP_FILE_WORLD_MAX (1u << 20)

/* Calls fn with the records of each step, in order. world 0: as the first record says. -EBADMSG: not
 * (only) records. */
typedef int step_file_fn(void *arg, const struct step_rec *rec, size_t n);
int step_file_read(FILE *f, uint32_t world, step_file_fn *fn, void *arg);
