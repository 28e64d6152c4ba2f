/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpc.h - the folder in which a scheduler's prolog says which jobs use which GPU, as dcgm-exporter reads
 * it: a file for each GPU, named by its number ("0", or "0.3" for a partition), one job a line.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The job of that GPU, if it has exactly one; else "". */
void hpc_job(const char *dir, uint32_t gpu, char *out, size_t cap);
