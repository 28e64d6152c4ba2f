/* SPDX-License-Identifier: Apache-2.0 */
/* runkit.h - a training run, made up, with all that an insight joins: for tests. */
#ifndef AON_RUNKIT_H
#define AON_RUNKIT_H

#include "tracekit.h"

#define RUN_RANKS 2
#define RUN_STEPS 12

static uint64_t run_seed;

static inline uint32_t run_rnd(uint32_t below)
{
	run_seed = run_seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(run_seed >> 33) % below;
}

struct run_made {
	struct kit k;
	uint64_t now;           /* of the launching thread */
	uint64_t free_ns[2][3]; /* of each device's streams */
	uint32_t corr, sequence, ext;
};

static inline void run_host(struct run_made *m, uint64_t tid, uint32_t kind, uint64_t a, uint64_t b,
			    uint64_t start, uint64_t dur, uint32_t corr, const char *name)
{
	struct event e = { .start_ns = start,
			   .dur_ns = dur,
			   .a = a,
			   .b = b,
			   .corr = corr,
			   .kind = (uint8_t)kind,
			   .name = kit_name(&m->k, name) };

	kit_add(&m->k, &e, -1, tid);
}

/* Work begins when its stream is free, some time after the call; now and then its clock is off. */
static inline void run_work(struct run_made *m, uint32_t kind, uint32_t corr, uint64_t called,
			    const char *name)
{
	uint32_t device = run_rnd(8) ? 0 : 1, stream = run_rnd(3);
	uint64_t *last = &m->free_ns[device][stream];
	uint64_t start = called + (run_rnd(20) ? run_rnd(30000) : run_rnd(2000000));
	struct event e = { .corr = corr, .kind = (uint8_t)kind, .name = kit_name(&m->k, name) };

	if (start > 5000 && !run_rnd(30))
		start -= 5000;
	e.start_ns = start > *last ? start : *last;
	e.dur_ns = run_rnd(6) ? run_rnd(40000) : run_rnd(400000);
	*last = e.start_ns + e.dur_ns + (run_rnd(3) ? run_rnd(3000) : 0);
	if (kind == EVENT_COPY) {
		e.a = run_rnd(1u << 20);
		e.flags = (uint8_t)((1 + run_rnd(2)) << EVENT_COPY_SHIFT);
		e.b = run_rnd(2) ? TRACE_PAGEABLE : 0;
	}
	kit_add(&m->k, &e, (int)device, 7 + stream);
}

static inline void run_launch(struct run_made *m, uint64_t tid, const char *kernel)
{
	uint32_t corr = run_rnd(40) ? ++m->corr : 0;
	uint64_t dur = 2000 + run_rnd(6000);

	if (!run_rnd(12)) {
		run_host(m, tid, EVENT_API, 0, 0, m->now, dur, corr, "cudaGraphLaunch");
		for (uint32_t i = 0; i < 4; i++)
			run_work(m, EVENT_KERNEL, corr, m->now + dur, kernel);
	} else if (!run_rnd(10)) {
		run_host(m, tid, EVENT_API, 0, 0, m->now, dur, corr, "cudaMemcpyAsync");
		run_work(m, EVENT_COPY, corr, m->now + dur, "Memcpy HtoD");
	} else {
		run_host(m, tid, EVENT_API, 0, 0, m->now, dur, corr, "cudaLaunchKernel");
		if (!run_rnd(5)) /* the driver's call has the same id */
			run_host(m, tid, EVENT_API, 0, 0, m->now + 100, dur - 200, corr,
				 "cuLaunchKernel");
		if (run_rnd(50))
			run_work(m, EVENT_KERNEL, corr, m->now + dur, kernel);
	}
	m->now += dur + run_rnd(3000);
	if (!run_rnd(25)) {
		dur = run_rnd(500000);
		run_host(m, tid, EVENT_SYNC, 0, 0, m->now, dur, 0, "cudaStreamSynchronize");
		m->now += dur + run_rnd(20000);
	}
	if (!run_rnd(30))
		run_host(m, tid, EVENT_API, 0, 0, m->now++, 1, ++m->corr, "cudaMalloc");
}

static inline void run_op(struct run_made *m, uint64_t tid, bool backward, const char *name,
			  uint32_t sequence)
{
	static const char *const kernel[] = { "gemm_a", "elementwise_b", "layer_norm_c",
					      "ncclDevKernel_AllReduce" };
	uint64_t from = m->now++;
	uint32_t n = run_rnd(4);

	for (uint32_t i = 0; i < n; i++)
		run_launch(m, tid, kernel[run_rnd(4)]);
	m->now += run_rnd(8000);
	run_host(m, tid, EVENT_RANGE, TRACE_OP, trace_op(backward, sequence, 0), from,
		 m->now - from, 0, name);
	m->now++;
}

static inline void run_forward(struct run_made *m, uint32_t *first)
{
	static const char *const module[] = { "net.a", "net.b", "net.c" };

	*first = m->sequence + 1;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t from = m->now++;
		uint32_t n = 1 + run_rnd(4);

		for (uint32_t k = 0; k < n; k++)
			run_op(m, 1, false, k % 2 ? "aten::mm" : "aten::add", ++m->sequence);
		run_host(m, 1, EVENT_RANGE, TRACE_MODULE, 0, from, m->now - from, 0, module[i]);
		m->now += run_rnd(30000);
	}
}

static inline void run_backward(struct run_made *m, uint32_t first)
{
	for (uint32_t s = m->sequence; s >= first; s--) {
		uint64_t from = m->now++;

		run_op(m, 2, true, "MmBackward0", s);
		if (run_rnd(2))
			run_launch(m, 2, "add_grad");
		run_host(m, 2, EVENT_RANGE, TRACE_OP, trace_op(true, 0, 0), from, m->now - from, 0,
			 "autograd::engine::evaluate_function: MmBackward0");
		m->now += run_rnd(5000);
	}
}

/* An operator of another thread that a launch names by its External id. */
static inline void run_external(struct run_made *m)
{
	uint32_t id = ++m->ext + 1000000;
	uint64_t dur = 2000 + run_rnd(100);

	run_host(m, 3, EVENT_RANGE, TRACE_OP, 0, m->now, 500, id, "aten::external");
	m->now += run_rnd(2) ? 600 : 3000000;
	run_host(m, 4, EVENT_API, 0, id, m->now, dur, ++m->corr, "cudaLaunchKernel");
	run_work(m, EVENT_KERNEL, m->corr, m->now + dur, "external_kernel");
	m->now += dur;
}

static inline void run_one_step(struct run_made *m, uint64_t number)
{
	uint64_t from = m->now, dur;
	uint32_t first;

	dur = run_rnd(3) ? run_rnd(50000) : run_rnd(3000000);
	run_host(m, 1, EVENT_RANGE, TRACE_USER, 0, m->now, dur, 0, "enumerate(DataLoader)#next");
	m->now += dur;
	if (!run_rnd(3)) {
		dur = run_rnd(1500000);
		run_host(m, 1, EVENT_RANGE, TRACE_USER, 0, m->now, dur, 0, "torch.compile f");
		m->now += dur;
	}
	run_forward(m, &first);
	if (run_rnd(2))
		run_external(m);
	run_backward(m, first);
	run_host(m, 1, EVENT_API, 0, 0, m->now, 3000, ++m->corr, "cudaLaunchKernel");
	run_work(m, EVENT_KERNEL, m->corr, m->now + 3000, "ncclDevKernel_ReduceScatter");
	m->now += 3000;
	run_host(m, 1, EVENT_COUNTER, number << 25, 0, m->now, 0, 0, "[memory] allocated");
	if (!run_rnd(4))
		m->now += run_rnd(9000000); /* the host does something that nobody recorded */
	if (run_rnd(6))
		run_host(m, 1, EVENT_STEP, number, 0, from, m->now - from, 0, "step");
	m->now += run_rnd(2) ? run_rnd(60000) : 1;
}

/* A run of RANKS ranks and STEPS steps each; sealed. The same number gives the same run. */
static inline struct trace *run_make(uint64_t with)
{
	struct run_made m = { .now = 0 };

	run_seed = with;
	kit_must(trace_new(&m.k.t) == 0, "trace");
	for (int r = 0; r < RUN_RANKS; r++) {
		kit_file(&m.k, r);
		memset(m.free_ns, 0, sizeof(m.free_ns));
		m.now = 5000000 + run_rnd(1000);
		m.corr = 0;
		for (uint64_t s = 0; s < RUN_STEPS; s++)
			run_one_step(&m, s + 1);
	}
	kit_must(trace_seal(m.k.t) == 0, "seal");
	return m.k.t;
}

#endif /* AON_RUNKIT_H */
