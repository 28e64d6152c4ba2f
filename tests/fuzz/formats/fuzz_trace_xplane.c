/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace_xplane.c - any bytes as XPlane. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_trace("fuzz.xplane.pb", data, size);
}
