/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - where the programs are that aond and aon start beside themselves. */
#pragma once

#include <limits.h>

/* Beside the program that asks, in the build tree, or where it was installed; never from $PATH. */
int helper_find(char path[PATH_MAX], const char *folder, const char *name);
int stacks_find(char path[PATH_MAX]);
