/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - where aon-stacks is. */
#pragma once

#include <limits.h>

/* Beside the program that asks, in the build tree, or where it was installed; never from $PATH. */
int stacks_find(char path[PATH_MAX]);
