/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace_rocprof.c - any bytes as rocprofv3's JSON. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_trace("fuzz.json", data, size);
}
