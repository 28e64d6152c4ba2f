/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count.h - aond's own counters. Each is written by one thread and read by any: relaxed
 * atomics are enough, no other data is reached through them.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum count_id {
#define COUNT(name, kind, help) COUNT_##name,
#include "daemon/core/count.tbl.h"
	COUNT_MAX,
};

enum count_kind { COUNT_SUM, COUNT_NOW };

struct count_row {
	const char *name;
	enum count_kind kind;
	const char *help;
};
extern const struct count_row count_table[COUNT_MAX];
extern _Atomic uint64_t count_value[COUNT_MAX];

static inline uint64_t count_get(enum count_id id)
{
	return atomic_load_explicit(&count_value[id], memory_order_relaxed);
}

static inline void count_add(enum count_id id, uint64_t n)
{
	/* One thread writes it: no read-modify-write needed. */
	atomic_store_explicit(&count_value[id], count_get(id) + n, memory_order_relaxed);
}

static inline void count_set(enum count_id id, uint64_t v)
{
	atomic_store_explicit(&count_value[id], v, memory_order_relaxed);
}

static inline void count_max(enum count_id id, uint64_t v)
{
	if (v > count_get(id))
		count_set(id, v);
}
