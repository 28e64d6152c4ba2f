/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace_nsys.c - any bytes as a sqlite export of Nsight Systems. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_trace("fuzz.sqlite", data, size);
}
