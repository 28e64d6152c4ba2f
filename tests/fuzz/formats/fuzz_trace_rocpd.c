/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace_rocpd.c - any bytes as rocprofv3's SQLite file. */
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_trace("fuzz.db", data, size);
}
