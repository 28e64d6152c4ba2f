/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runfile.h - small files in the run directory, which pass settings from one aond to the next. They
 * survive a restart of aond and not a reboot, like the processes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RUNFILE_BYTES (1u << 20) /* a longer one is not read */

/* The whole file, the caller's to free; NULL: there is none, or it cannot be read, which is logged. */
char *runfile_read(int dir, const char *name);
/* Replaced at once by what put() writes. What fails is logged: what was set then ends with aond. */
void runfile_write(int dir, const char *name, void (*put)(FILE *f, const void *arg),
		   const void *arg);

/* All of `text` is a number. NULL is allowed, and is none. */
bool runfile_number(const char *text, uint64_t *out);
