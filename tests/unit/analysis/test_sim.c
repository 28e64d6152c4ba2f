/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/graph.h"
#include "sim/path.h"
#include "sim/whatif.h"
#include <errno.h>

#include "t.h"
#include "tracekit.h"

#define US 1000ll

struct lab {
	struct trace *t;
	struct sim_graph *g;
	bool *comm;
	float *scale;
};

static bool is_comm(const char *name)
{
	return strncmp(name, "nccl", 4) == 0;
}

static struct lab lab_new(const char *text)
{
	struct lab l = { .t = kit_trace(text) };
	int err;

	l.comm = calloc(l.t->names + 1, sizeof(*l.comm));
	l.scale = calloc(l.t->names + 1, sizeof(*l.scale));
	for (size_t i = 0; i < l.t->names; i++) {
		l.comm[i] = is_comm(trace_text(l.t, (uint32_t)i));
		l.scale[i] = 1.0f;
	}
	err = sim_graph_new(&l.g, l.t, l.comm);
	T_OK(err == 0, "a graph is made (%d)", err);
	return l;
}

static void lab_free(struct lab *l)
{
	sim_graph_free(l->g);
	trace_free(l->t);
	free(l->comm);
	free(l->scale);
}

static int64_t span(const struct lab *l)
{
	return sim_span(l->g, l->g->time);
}

static int64_t whatif(const struct lab *l, struct sim_change c)
{
	int64_t ns = -1;

	T_OK(sim_whatif(l->g, &c, &ns) == 0, "a change can be run");
	return ns;
}

static int64_t scaled_to(struct lab *l, const char *name, float by)
{
	int64_t ns;

	for (size_t i = 0; i < l->t->names; i++)
		l->scale[i] = strcmp(trace_text(l->t, (uint32_t)i), name) == 0 ? by : 1.0f;
	ns = whatif(l, (struct sim_change){ .work_scale = l->scale, .host_scale = l->scale });
	return ns;
}

/* Host and stream by turns: every launch waits for the program. */
static void launch_bound(void)
{
	struct lab l = lab_new("api 1 0 5000 1 0 cudaLaunchKernel\n"
			       "kernel 0 7 10000 10000 1 k\n"
			       "api 1 100000 5000 2 0 cudaLaunchKernel\n"
			       "kernel 0 7 110000 10000 2 k\n"
			       "api 1 200000 5000 3 0 cudaLaunchKernel\n"
			       "kernel 0 7 210000 10000 3 k\n");
	struct sim_path *p = NULL;

	T_OK(span(&l) == 220 * US, "the recording's span");
	T_OK(whatif(&l, (struct sim_change){ 0 }) == 220 * US, "no change gives it back");
	T_OK(scaled_to(&l, "k", 0.5f) == 215 * US,
	     "twice as fast kernels bring the last one's half");
	T_OK(whatif(&l, (struct sim_change){ .free_host = true }) == 40 * US,
	     "without the program's time calls and kernels are left");
	T_OK(sim_path_new(&p, l.g, NULL, NULL) == 0, "it has a critical path");
	T_OK(p->by_kind[SIM_HOST] == 190 * US && p->by_kind[SIM_COMPUTE] == 10 * US &&
		     p->by_kind[SIM_LAUNCH] == 10 * US && p->by_kind[SIM_CALL] == 10 * US,
	     "which is the program's time");
	T_OK(p->slack_ns[l.g->tasks - 1] == 0 && p->slack_ns[l.g->tasks - 2] == 90 * US,
	     "the last kernel has no slack, the one before until the last begins");
	sim_path_free(p);
	lab_free(&l);
}

/* Launched far ahead, and waited for at the end. */
static void gpu_bound(void)
{
	struct lab l = lab_new("api 1 0 5000 1 0 cudaLaunchKernel\n"
			       "api 1 6000 5000 2 0 cudaLaunchKernel\n"
			       "api 1 12000 5000 3 0 cudaLaunchKernel\n"
			       "kernel 0 7 10000 100000 1 a\n"
			       "kernel 0 7 111000 100000 2 b\n"
			       "kernel 0 7 212000 100000 3 a\n"
			       "api 1 18000 300000 4 0 cudaDeviceSynchronize\n"
			       "api 1 330000 5000 5 0 cudaLaunchKernel\n"
			       "kernel 0 7 340000 10000 5 c\n");

	T_OK(whatif(&l, (struct sim_change){ 0 }) == 350 * US,
	     "no change gives the recording back");
	T_OK(scaled_to(&l, "a", 0.5f) == 250 * US, "half of two kernels comes off the end");
	T_OK(scaled_to(&l, "a", 2.0f) == 550 * US, "and twice of them goes on top");
	T_OK(whatif(&l, (struct sim_change){ .no_sync = true }) < 335 * US,
	     "without the wait the last launch comes early");
	lab_free(&l);
}

/* Two streams: the second's kernel begins when the first's ends, long after its launch. */
static void streams(void)
{
	struct lab l = lab_new("api 1 0 5000 1 0 cudaLaunchKernel\n"
			       "api 1 6000 5000 2 0 cudaLaunchKernel\n"
			       "kernel 0 7 10000 200000 1 a\n"
			       "kernel 0 8 212000 50000 2 b\n");

	T_OK(scaled_to(&l, "a", 0.5f) == 162 * US, "what waited for another stream moves with it");
	lab_free(&l);
}

/* The first thread is silent while the second works, and goes on when that one stops. */
static void threads(void)
{
	struct lab l = lab_new("op 1 0 50000 0 forward\n"
			       "op 2 60000 10000 0 backward\n"
			       "api 2 62000 5000 1 0 cudaLaunchKernel\n"
			       "op 2 80000 100000 0 backward\n"
			       "api 2 170000 5000 2 0 cudaLaunchKernel\n"
			       "op 1 190000 20000 0 optimizer\n"
			       "api 1 200000 5000 3 0 cudaLaunchKernel\n"
			       "op 1 400000 10000 0 next\n"
			       "op 2 420000 10000 0 backward\n"
			       "kernel 0 7 210000 5000 3 k\n");
	int64_t base = span(&l), fast;

	T_OK(base == 430 * US, "the recording's span");
	T_OK(whatif(&l, (struct sim_change){ 0 }) == base, "no change gives it back");
	fast = scaled_to(&l, "backward", 0.0f);
	T_OK(fast <= base - 80 * US, "a thread that is released earlier goes on earlier (%lld us)",
	     (long long)(fast / US));
	lab_free(&l);
}

/* Rank 1 computes longer, rank 0 waits in the collective; their clocks differ by 7 ms. */
static void ranks(void)
{
	struct lab l = lab_new("file 0\n"
			       "kernel 0 7 0 100000 0 gemm\n"
			       "kernel 0 7 100000 110000 0 ncclAllReduce\n"
			       "kernel 0 7 210000 100000 0 gemm\n"
			       "kernel 0 7 310000 10000 0 ncclAllReduce\n"
			       "file 1\n"
			       "kernel 1 7 7000000 200000 0 gemm_slow\n"
			       "kernel 1 7 7200000 10000 0 ncclAllReduce\n"
			       "kernel 1 7 7210000 100000 0 gemm_slow\n"
			       "kernel 1 7 7310000 10000 0 ncclAllReduce\n");

	T_OK(l.g->meetings == 2, "both collectives of both ranks are matched");
	T_OK(span(&l) == 320 * US, "clocks are aligned by the ends of collectives");
	T_OK(whatif(&l, (struct sim_change){ 0 }) == 320 * US, "no change gives it back");
	T_OK(scaled_to(&l, "gemm_slow", 0.5f) == 220 * US,
	     "a faster slow rank lets the other one go, until that one is the slow one");
	T_OK(scaled_to(&l, "gemm", 0.1f) == 320 * US, "a faster fast rank brings nothing");
	T_OK(whatif(&l, (struct sim_change){ .overlap_comm = true }) == 310 * US,
	     "hidden communication: the first rank's work does not wait, the slow one's is the "
	     "span");
	lab_free(&l);
}

static unsigned long rnd(unsigned long below)
{
	static uint64_t seed = 42;

	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned long)(seed >> 33) % below;
}

/* 200 launches of three threads onto four streams, some calls that wait: no rhyme in it. */
static const char *random_text(void)
{
	static char text[50000];
	size_t n = 0;

	for (int i = 1; i < 200; i++) {
		unsigned long at = rnd(2000000), tid = rnd(3), stream = rnd(4), late = rnd(100000);

		n += (size_t)snprintf(text + n, sizeof(text) - n, "api %lu %lu %lu %d 0 %s\n", tid,
				      at, rnd(30000), i,
				      i % 9 ? "cudaLaunchKernel" : "cudaStreamSynchronize");
		n += (size_t)snprintf(text + n, sizeof(text) - n, "kernel 0 %lu %lu %lu %d k%d\n",
				      stream, at + late, rnd(50000), i, i % 5);
	}
	return text;
}

/* Any recording is given back to the nanosecond, and faster work never makes it longer. */
static void anything(void)
{
	int exact = 0, monotone = 0;

	for (int round = 0; round < 20; round++) {
		struct lab l = lab_new(random_text());
		int64_t last = INT64_MIN;
		bool ok = true;

		exact += whatif(&l, (struct sim_change){ 0 }) == span(&l);
		for (int k = 0; k <= 5; k++) {
			int64_t ns = scaled_to(&l, "k1", 0.4f * (float)k);

			ok = ok && ns >= last;
			last = ns;
		}
		monotone += ok;
		lab_free(&l);
	}
	T_OK(exact == 20, "any recording is given back exactly (%d of 20)", exact);
	T_OK(monotone == 20, "and more work never takes less time (%d of 20)", monotone);
}

int main(void)
{
	struct trace *t = kit_trace("counter 1 0 5 x\n");
	struct sim_graph *g = NULL;

	T_OK(sim_graph_new(&g, t, NULL) == -ENODATA && !g, "nothing to replay is said");
	trace_free(t);
	launch_bound();
	gpu_bound();
	streams();
	threads();
	ranks();
	anything();
	return t_done();
}
