/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h - counters of memory and devices by number, for their writers and readers. */
#pragma once

enum memory_of {
#define MEMORY(ID, name) MEMORY_##ID,
#include "base/memory.tbl.h"
	MEMORIES,
};

enum pm_counter {
#define PM(ID, name, word, first, second) PM_##ID,
#include "base/pm.tbl.h"
	PM_COUNTERS
};
