/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident.h - memory of the process, for probes that know its steps: a few times a second at most.
 *
 * An allocator of a framework does not count what Python, numpy or a library holds. What the kernel
 * counts includes that.
 */
#pragma once

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include <aon/provider.h>

#include "base/clock.h"

#define RESIDENT_NAME     "[memory] resident" /* bytes */
#define RESIDENT_EVERY_NS 200000000u

/* "123 45 ...": pages of address space, and of memory. 0: not known. */
static inline uint64_t resident_bytes(void)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text)), i = 0;
	uint64_t pages = 0;

	if (fd >= 0)
		close(fd);
	while (i < n && text[i] != ' ')
		i++;
	for (i++; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pages = 10 * pages + (uint64_t)(text[i] - '0');
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A step has ended. */
static inline void resident_step(void)
{
	static _Atomic uint64_t next_ns;
	uint64_t now = clock_mono_ns(), next = atomic_load_explicit(&next_ns, memory_order_relaxed);
	uint64_t bytes;

	if (now < next || !aon_wants(AON_WANT_COUNTER) ||
	    !atomic_compare_exchange_strong_explicit(&next_ns, &next, now + RESIDENT_EVERY_NS,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	bytes = resident_bytes();
	if (bytes)
		AON_COUNTER(RESIDENT_NAME, (int64_t)bytes);
}
