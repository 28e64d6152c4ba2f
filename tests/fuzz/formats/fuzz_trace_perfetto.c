/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace_perfetto.c - any bytes as a Perfetto trace. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_trace("fuzz.pftrace", data, size);
}
