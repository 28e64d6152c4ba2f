/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - zeroed memory, resident only once touched: tables sized for the worst case. */
#pragma once

#include <stddef.h>
#include <sys/mman.h>

/* NULL when there is none. */
static inline void *pages_new(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline void pages_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}
