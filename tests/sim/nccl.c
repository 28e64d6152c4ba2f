/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - a stand-in for libnccl.so.2 with the public ABI, as far as an all-reduce in one process needs it. Memory
 * of the stand-in GPU is the host's: small sums are really made.
 *
 *	SIM_NCCL_GBPS=n		bytes by time of an all-reduce (100)
 *	SIM_NCCL_WRONG=1	the last GPU gets a sum that is not right
 *	SIM_NCCL_ERROR=n	every communicator is refused with it
 *	SIM_NCCL_HANG=1		no group ends
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define API   __attribute__((visibility("default")))
#define RANKS 64
#define SUMS  (8u << 20) /* floats that are summed up at most */

static struct {
	const float *from;
	float *to;
	size_t count;
} call[RANKS];
static int calls;

static double number(const char *name, double otherwise)
{
	const char *v = getenv(name);

	return v && *v ? atof(v) : otherwise;
}

API int ncclGetVersion(int *version);
API int ncclGetVersion(int *version)
{
	*version = 22703;
	return 0;
}

API int ncclCommInitAll(void **comm, int n, const int *devices);
API int ncclCommInitAll(void **comm, int n, const int *devices)
{
	for (int i = 0; i < n; i++)
		comm[i] = (void *)(uintptr_t)(devices[i] + 1);
	return (int)number("SIM_NCCL_ERROR", 0);
}

API int ncclCommDestroy(void *comm);
API int ncclCommDestroy(void *comm)
{
	return comm ? 0 : 4;
}

API int ncclGroupStart(void);
API int ncclGroupStart(void)
{
	calls = 0;
	return 0;
}

API int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm,
		      void *stream);
API int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, void *comm,
		      void *stream)
{
	(void)stream;
	if (type != 7 || op != 0 || !comm || !from || !to || calls == RANKS)
		return 4; /* ncclInvalidArgument */
	call[calls].from = from;
	call[calls].to = to;
	call[calls++].count = count;
	return 0;
}

static void sum_up(void)
{
	for (size_t i = 0; calls && call[0].count <= SUMS && i < call[0].count; i++) {
		float sum = 0;

		for (int k = 0; k < calls; k++)
			sum += call[k].from[i];
		for (int k = 0; k < calls; k++)
			call[k].to[i] = sum;
	}
	if (calls && number("SIM_NCCL_WRONG", 0) != 0)
		call[calls - 1].to[7] += 1;
}

API int ncclGroupEnd(void);
API int ncclGroupEnd(void)
{
	double ns = calls ? (double)call[0].count * 4 / number("SIM_NCCL_GBPS", 100) : 0;
	struct timespec t = { (time_t)(ns / 1e9), (long)((uint64_t)ns % 1000000000u) };

	if (number("SIM_NCCL_HANG", 0) != 0)
		sleep(600);
	sum_up();
	nanosleep(&t, NULL);
	calls = 0;
	return 0;
}
