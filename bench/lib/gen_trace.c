/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_trace FILE ROWS - writes a Kineto trace like a training run's: for each kernel an operator, a
 * launch, the kernel and the two ends of its arrow; steps, copies and collectives among them. About
 * 217 bytes a row: 600,000 rows are 130 MB. The same arguments give the same bytes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NAMES    61u
#define IN_STEP  1200u
#define PID      4242
#define QUEUE_NS 17000000u /* about a thousand kernels: then a launch waits */

static uint64_t rng = 88172645463325252ull;

static uint64_t rnd(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % n;
}

static void ts(FILE *f, uint64_t ns)
{
	fprintf(f, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static void span(FILE *f, const char *cat, const char *pid_tid, uint64_t start, uint64_t dur)
{
	fprintf(f, "{\n  \"ph\": \"X\", \"cat\": \"%s\", %s,\n  \"ts\": ", cat, pid_tid);
	ts(f, start);
	fprintf(f, ", \"dur\": ");
	ts(f, dur);
}

static void arrow(FILE *f, char end, uint64_t id, const char *pid_tid, uint64_t at)
{
	fprintf(f, "{\"ph\": \"%c\", \"id\": %" PRIu64 ", %s, \"ts\": ", end, id, pid_tid);
	ts(f, at);
	fprintf(f, ", \"cat\": \"ac2g\", \"name\": \"ac2g\"%s},\n",
		end == 'f' ? ", \"bp\": \"e\"" : "");
}

static void kernel(FILE *f, uint64_t i, uint64_t start, uint64_t dur, unsigned stream)
{
	char where[96], name[200];
	unsigned n = (unsigned)rnd(NAMES);

	snprintf(where, sizeof(where), "\"pid\": 0, \"tid\": %u", stream);
	if (stream == 20)
		snprintf(name, sizeof(name),
			 "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>"
			 ")");
	else
		snprintf(name, sizeof(name),
			 "void at::native::vectorized_elementwise_kernel<4, "
			 "at::native::Functor_%02u<float>, "
			 "std::array<char*, 3ul> >(int)",
			 n);
	span(f, "kernel", where, start, dur);
	fprintf(f,
		",\n  \"name\": \"%s\",\n  \"args\": {\n    \"External id\": %" PRIu64
		", \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": %u, \"correlation\": "
		"%" PRIu64 ",\n    \"registers per thread\": %u, \"shared memory\": 0, \"blocks "
		"per SM\": 1.5, "
		"\"warps per SM\": 12.5,\n    \"grid\": [%u, 1, 1], \"block\": [128, 1, 1], "
		"\"est. achieved occupancy %%\": 18\n  }\n},\n",
		name, i, stream, i, 16 + n % 48, 100 + n * 7);
	arrow(f, 'f', i, where, start);
}

int main(int argc, char *argv[])
{
	uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, cpu = 1000000000, gpu = cpu,
		 step = cpu;
	FILE *f = argc > 2 ? fopen(argv[1], "w") : NULL;

	if (!f)
		return fprintf(stderr, "usage: gen_trace FILE ROWS\n"), 2;
	setvbuf(f, NULL, _IOFBF, 1 << 20);
	fprintf(f, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": "
		   "\"NVIDIA H100 80GB "
		   "HBM3\", \"numSms\": 132, \"totalGlobalMem\": 84942979072}],\n  "
		   "\"traceEvents\": [\n");
	for (uint64_t i = 1; i <= rows / 5; i++) {
		char host[64];
		uint64_t dur = 2000 + rnd(30000);
		unsigned stream = i % 40 == 0 ? 20 : 7;

		snprintf(host, sizeof(host), "\"pid\": %d, \"tid\": %d", PID, PID);
		span(f, "cpu_op", host, cpu, 9000);
		fprintf(f,
			",\n  \"name\": \"aten::op_%02u\",\n  \"args\": {\"External id\": "
			"%" PRIu64 ", \"Ev Idx\": %" PRIu64 "}\n},\n",
			(unsigned)rnd(40), i, i);
		span(f, "cuda_runtime", host, cpu + 2000, 5000);
		fprintf(f,
			",\n  \"name\": \"cudaLaunchKernel\",\n  \"args\": {\"External id\": "
			"%" PRIu64 ", \"cbid\": 211, \"correlation\": %" PRIu64 "}\n},\n",
			i, i);
		arrow(f, 's', i, host, cpu + 2000);
		gpu = gpu > cpu + 8000 ? gpu : cpu + 8000 + rnd(4000);
		kernel(f, i, gpu, dur, stream);
		gpu += dur + rnd(2000);
		cpu += 10000 + rnd(3000);
		if (gpu > cpu + QUEUE_NS)
			cpu = gpu - QUEUE_NS;
		if (i % IN_STEP == 0) {
			span(f, "user_annotation", host, step, cpu - step);
			fprintf(f,
				",\n  \"name\": \"ProfilerStep#%" PRIu64
				"\",\n  \"args\": {\"External id\": %" PRIu64 "}\n},\n",
				i / IN_STEP, i);
			step = cpu;
		}
	}
	fprintf(f,
		"  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, \"ts\": 0, "
		"\"args\": {\"name\": "
		"\"python3\"}}\n],\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, "
		"\"world_size\": 1},\n"
		"  \"traceName\": \"generated\"\n}\n",
		PID);
	return fclose(f) ? 1 : 0;
}
