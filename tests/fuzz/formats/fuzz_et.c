/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_et.c - any bytes as a PyTorch execution trace that is given after a trace of the profiler. */
#include "fuzz_trace.h"

#define OP(id, name)                                                                             \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" #id \
	",\"dur\":1,\"args\":{\"External id\":" #id "}},"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char kineto[] = "{\"traceEvents\":[" OP(1, "aten::mm") OP(2, "aten::conv2d")
		OP(2, "aten::add") "]}";
	struct import_opts o = { .window = 64 + (size ? data[size / 2] : 0) * 3u };
	struct import_why why = { "" };
	struct trace *t;

	if (trace_new(&t) < 0)
		return 0;
	if (import_bytes(t, "k.json", kineto, sizeof(kineto) - 1, &o, &why) < 0)
		abort();
	if (import_bytes(t, "et.json", data, size, &o, &why) < 0 && !*why.text)
		abort();
	for (size_t i = 0; i < t->events; i++)
		if (t->event[i].kind == EVENT_RANGE && trace_op_shapes(&t->event[i]) >= t->names)
			abort();
	if (trace_seal(t) < 0)
		abort();
	trace_free(t);
	return 0;
}
