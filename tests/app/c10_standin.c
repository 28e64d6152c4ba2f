/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c10_standin.c - libc10_cuda.so for tests: it makes the calls by which torch's caching allocator (2.0 and later) reports
 * blocks of GPU 0, and has no GPU.
 */
#include <stdint.h>

#define DEVICE 0x0001 /* CUDA, index 0 */

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *at, int64_t bytes,
							   uint64_t allocated, uint64_t reserved,
							   uint16_t device);
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, uint64_t allocated,
							 uint64_t reserved, uint16_t device);
void standin_alloc(void *at, int64_t bytes);
void standin_refuse(int64_t bytes);

static uint64_t held;

void standin_alloc(void *at, int64_t bytes)
{
	held += (uint64_t)bytes;
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(at, bytes, held, held, DEVICE);
}

void standin_refuse(int64_t bytes)
{
	_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(bytes, held, held, DEVICE);
}
