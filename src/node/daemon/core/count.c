/* SPDX-License-Identifier: Apache-2.0 */
/* count.c - the table of aond's own counters. */
#include "daemon/core/count.h"

const struct count_row count_table[COUNT_MAX] = {
#define COUNT(name, kind, help) [COUNT_##name] = { #name, COUNT_##kind, help },
#include "daemon/core/count.tbl.h"
};

_Atomic uint64_t count_value[COUNT_MAX];
