/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_child.h - runs one check of a GPU: whatever becomes of its process is a result. */
#pragma once

#include "cli/node/gpu_result.h"

/*
 * Starts `program` with the name of the check, and ends it and all that it has started after
 * limit_s. A crash, a hang and output that is no check's make it a failure, with the reason in r->text.
 */
void gpu_child_run(struct gpu_result *r, const char *program, const char *check, unsigned limit_s);
