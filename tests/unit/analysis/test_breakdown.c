/* SPDX-License-Identifier: Apache-2.0 */
/* Unions on small traces with known answers, and what must hold of any trace. */
#include <errno.h>

#include "insight/insight.h"
#include "insight/sweep.h"
#include "t.h"
#include "tracekit.h"

static const struct {
	const char *name, *text;
	uint64_t span, busy, compute, comm, memory, overlap, exposed, gaps;
} cases[] = {
	/* clang-format off */
	{ "one kernel", "kernel 0 7 100 50 1 gemm",
	  50, 50, 50, 0, 0, 0, 0, 0 },
	{ "a gap", "kernel 0 7 100 50 1 gemm;kernel 0 7 200 50 2 gemm",
	  150, 100, 100, 0, 0, 0, 0, 1 },
	{ "work that touches leaves no gap", "kernel 0 7 100 50 1 gemm;kernel 0 7 150 50 2 gemm",
	  100, 100, 100, 0, 0, 0, 0, 0 },
	{ "streams that overlap count once", "kernel 0 7 100 50 1 gemm;kernel 0 8 120 60 2 gemm",
	  80, 80, 80, 0, 0, 0, 0, 0 },
	{ "work inside other work", "kernel 0 7 100 90 1 gemm;kernel 0 8 120 10 2 gemm;kernel 0 8 140 10 3 gemm",
	  90, 90, 90, 0, 0, 0, 0, 0 },
	{ "comm hidden in part", "kernel 0 7 100 50 1 gemm;kernel 0 8 120 60 2 ncclDevKernel_AllReduce",
	  80, 80, 50, 60, 0, 30, 30, 0 },
	{ "comm hidden by two kernels", "kernel 0 8 0 100 9 ncclKernel;kernel 0 7 10 20 1 gemm;kernel 0 9 20 30 2 gemm;kernel 0 7 70 10 3 gemm",
	  100, 100, 50, 100, 0, 50, 50, 0 },
	{ "copies and memsets are memory", "copy 0 7 0 10 1 1024 1;memset 0 7 5 10 2 Memset;kernel 0 8 12 10 3 gemm",
	  22, 22, 10, 0, 15, 0, 0, 0 },
	{ "no length is no time but ends a span", "kernel 0 7 100 10 1 gemm;kernel 0 7 200 0 2 gemm",
	  100, 10, 10, 0, 0, 0, 0, 1 },
	{ "waits and annotations are no work", "kernel 0 7 100 10 1 gemm;wait 0 7 110 500 2 sync;gua 0 7 0 900 0 step",
	  10, 10, 10, 0, 0, 0, 0, 0 },
	{ "times near the end of time", "kernel 0 7 18446744073709551000 100 1 gemm;kernel 0 7 18446744073709551500 900 2 gemm",
	  615, 215, 215, 0, 0, 0, 0, 1 },
	/* clang-format on */
};

static void check_case(size_t i)
{
	struct trace *t = kit_trace(cases[i].text);
	const struct breakdown *b;
	struct insight *in;

	T_OK(insight_new(&in, t) == 0 && in->devices == 1, "%s: read", cases[i].name);
	b = &in->device[0].b;
	T_OK(b->span_ns == cases[i].span && b->busy_ns == cases[i].busy &&
		     b->idle_ns == cases[i].span - cases[i].busy && b->gaps == cases[i].gaps,
	     "%s: span, busy, idle, gaps", cases[i].name);
	T_OK(b->compute_ns == cases[i].compute && b->comm_ns == cases[i].comm &&
		     b->memory_ns == cases[i].memory && b->overlap_ns == cases[i].overlap &&
		     b->exposed_comm_ns == cases[i].exposed,
	     "%s: compute, comm, memory, overlap", cases[i].name);
	insight_free(in);
	trace_free(t);
}

/* An answer by another way: every nanosecond of a short trace is looked at. */
static void brute(const struct trace *t, struct names *n, struct breakdown *b, uint64_t end)
{
	for (uint64_t ns = 0; ns < end; ns++) {
		bool compute = false, comm = false, memory = false;

		for (size_t i = 0; i < t->events; i++) {
			const struct event *e = &t->event[i];
			uint32_t of = class_parts(event_class(n, t, i));

			if (!event_is_gpu(e) || ns < e->start_ns || ns >= event_end(e))
				continue;
			compute |= of == OF_COMPUTE;
			comm |= of == OF_COMM;
			memory |= of == OF_MEMORY;
		}
		b->busy_ns += compute || comm || memory;
		b->compute_ns += compute;
		b->comm_ns += comm;
		b->memory_ns += memory;
		b->overlap_ns += comm && compute;
		b->exposed_comm_ns += comm && !compute;
		b->exposed_copy_ns += memory && !compute && !comm;
	}
}

static bool parts_hold(const struct insight *in)
{
	for (size_t i = 0; i < in->devices; i++) {
		const struct insight_device *d = &in->device[i];
		uint64_t idle = 0;

		for (size_t c = 0; c < IDLE_CAUSES; c++)
			idle += d->idle_ns[c];
		if (idle != d->b.idle_ns || d->b.busy_ns + idle != d->b.span_ns ||
		    d->b.compute_ns + d->b.exposed_comm_ns + d->b.exposed_copy_ns != d->b.busy_ns ||
		    d->short_gap_ns + d->queued_gap_ns > d->b.idle_ns ||
		    d->b.attributed > d->b.kernels)
			return false;
	}
	for (size_t i = 0; i < in->steps; i++)
		if (in->step[i].b.busy_ns + in->step[i].b.idle_ns != in->step[i].dur_ns)
			return false;
	return true;
}

static void random_trace(unsigned seed, char *text, size_t cap)
{
	static const char *const name[] = { "gemm", "ncclDevKernel", "elementwise", "flash_fwd" };
	size_t used = 0;

	srand(seed);
	for (int i = 0; i < 30; i++) {
		int start = rand() % 1500, dur = rand() % 60, stream = rand() % 4;

		used += (size_t)snprintf(text + used, cap - used, "api %d %d %d %d 0 %s;",
					 rand() % 2, start > 40 ? start - rand() % 40 : 0,
					 rand() % 30, i + 1,
					 rand() % 4 ? "cudaLaunchKernel" : "cudaDeviceSynchronize");
		if (rand() % 4)
			used += (size_t)snprintf(text + used, cap - used,
						 "kernel 0 %d %d %d %d %s;", stream, start, dur,
						 rand() % 5 ? i + 1 : 77, name[rand() % 4]);
		else
			used += (size_t)snprintf(text + used, cap - used,
						 "copy 0 %d %d %d %d 64 1p;", stream, start, dur,
						 i + 1);
		if (i % 10 == 0)
			used += (size_t)snprintf(text + used, cap - used,
						 "step 0 %d 300 %d;user 0 %d 50 0 DataLoader;",
						 i * 50, i, rand() % 1000);
	}
}

static void check_random(void)
{
	bool same = true, parts = true;
	char text[16384];

	for (unsigned seed = 1; seed <= 100; seed++) {
		struct breakdown want = { 0 };
		const struct breakdown *b;
		struct insight *in;
		struct trace *t;

		random_trace(seed, text, sizeof(text));
		t = kit_trace(text);
		if (insight_new(&in, t) < 0)
			abort();
		brute(t, in->names, &want, 1600);
		b = &in->device[0].b;
		same &= b->busy_ns == want.busy_ns && b->compute_ns == want.compute_ns &&
			b->comm_ns == want.comm_ns && b->memory_ns == want.memory_ns &&
			b->overlap_ns == want.overlap_ns &&
			b->exposed_comm_ns == want.exposed_comm_ns &&
			b->exposed_copy_ns == want.exposed_copy_ns;
		parts &= parts_hold(in);
		insight_free(in);
		trace_free(t);
	}
	T_OK(same, "100 random traces agree with a look at every nanosecond");
	T_OK(parts, "their parts sum to their spans");
}

/* --- the same without events --- */

static bool same_times(const struct breakdown *a, struct breakdown b)
{
	b.attributed = a->attributed; /* launches are not looked at */
	return !memcmp(a, &b, sizeof(b));
}

static bool same_insight(const struct insight *a, const struct insight *b)
{
	bool same = a->devices == b->devices && a->streams == b->streams;

	for (size_t i = 0; same && i < a->devices; i++) {
		const struct insight_device *x = &a->device[i], *y = &b->device[i];

		same = x->device == y->device && x->rank == y->rank && x->streams == y->streams &&
		       x->stream_first == y->stream_first && same_times(&x->b, y->b) &&
		       !memcmp(x->class, y->class, sizeof(x->class));
	}
	for (size_t i = 0; same && i < a->streams; i++)
		same = a->stream[i].track == b->stream[i].track &&
		       same_times(&a->stream[i].b, b->stream[i].b);
	return same;
}

/* The events of `t` in an order of no meaning, if `stir`, give what insight gives. */
static bool swept_same(struct trace *t, bool stir)
{
	struct insight *in, *swept = NULL;
	struct sweep *s;
	bool same;

	if (insight_new_breakdown(&in, t) < 0 || sweep_new(&s, t) < 0)
		abort();
	for (size_t i = 0; i < t->events; i++) {
		const struct event *e = &t->event[stir ? i * 7919 % t->events : i];
		struct work w = { e->start_ns, e->dur_ns, e->track, e->name, e->kind, false };

		if (sweep_add(s, &w) < 0)
			abort();
	}
	same = sweep_end(s, &swept) == 0 && same_insight(in, swept);
	sweep_free(s);
	insight_free(swept);
	insight_free(in);
	return same;
}

/* Kernels, copies, memsets and collectives of two ranks; on some streams nothing lasts. */
static struct trace *many(unsigned seed)
{
	static const uint8_t kind[] = { EVENT_KERNEL,     EVENT_KERNEL, EVENT_COPY, EVENT_MEMSET,
					EVENT_COLLECTIVE, EVENT_GRAPH,  EVENT_SYNC };
	static const char *const name[] = { "gemm", "ncclDevKernel", "elementwise", "flash_fwd" };
	struct kit k = { 0 };

	srand(seed);
	if (trace_new(&k.t) < 0)
		abort();
	for (int rank = 0; rank < 2; rank++) {
		kit_file(&k, rank);
		for (int i = 0; i < 1000; i++) {
			int stream = rand() % 6;
			struct event e = { .kind = kind[(size_t)rand() % T_LEN(kind)],
					   .name = kit_name(&k, name[rand() % 4]),
					   .start_ns = (uint64_t)(rand() % 20000) << rand() % 30,
					   .dur_ns = (uint64_t)(rand() % 50) };

			if (stream == 5)
				e = (struct event){ .kind = EVENT_GRAPH, .start_ns = 7 };
			kit_add(&k, &e, stream == 4 ? -1 : stream / 2, (uint64_t)stream);
		}
	}
	if (trace_seal(k.t) < 0)
		abort();
	return k.t;
}

static void check_sweep(void)
{
	struct work over = { .dur_ns = UINT64_MAX >> 8, .kind = EVENT_KERNEL };
	bool in_order = true, stirred = true, cases_same = true;
	struct sweep *s;
	struct trace *t;

	for (unsigned seed = 1; seed <= 20; seed++) {
		t = many(seed);
		in_order &= swept_same(t, false);
		stirred &= swept_same(t, true);
		trace_free(t);
	}
	T_OK(in_order, "a sweep without events gives the same of 20 random traces");
	T_OK(stirred, "also in an order of no meaning");
	for (size_t i = 0; i < T_LEN(cases); i++) {
		t = kit_trace(cases[i].text);
		cases_same &= swept_same(t, true);
		trace_free(t);
	}
	T_OK(cases_same, "and of every case above");
	t = kit_trace(cases[0].text);
	if (sweep_new(&s, t) < 0)
		abort();
	T_OK(sweep_add(s, &over) == -ERANGE, "what is too long for it is refused");
	sweep_free(s);
	trace_free(t);
}

int main(void)
{
	for (size_t i = 0; i < T_LEN(cases); i++)
		check_case(i);
	check_random();
	check_sweep();
	return t_done();
}
