/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule on a small trace that repeats, on both sides of its boundary, and what must hold of
 * any finding. */
#include <string.h>

#include "findkit.h"
#include "t.h"

#define NONE FAMILIES

/* A period of `us`, repeated `n` times. Times are microseconds. */
static const struct {
	const char *name, *text;
	uint64_t us;
	unsigned n;
	enum family want; /* the first finding */
} cases[] = {
	/* clang-format off */
	{ "short kernels, each launched when the last is long done", "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 6 5 1 gemm",
	  60, 50, FAMILY_LAUNCH },
	{ "the same, launched in time", "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 60 59 1 gemm",
	  60, 50, FAMILY_SATURATED },
	{ "a gap of a millisecond before each kernel", "op 1 0 900 0 tokenise;api 1 900 5 1 0 cudaLaunchKernel;kernel 0 7 910 90 1 gemm",
	  1000, 20, FAMILY_CPU },
	{ "a loader before each kernel", "step 1 0 1000 1;user 1 0 690 0 enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__;api 1 700 5 1 0 cudaLaunchKernel;kernel 0 7 710 280 1 gemm",
	  1000, 20, FAMILY_INPUT },
	{ "a loader on another thread, in time", "user 2 0 690 0 DataLoader;api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 985 1 gemm",
	  1000, 20, FAMILY_SATURATED },
	{ "a wait after each kernel", "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 290 1 gemm;sync 1 10 290 2 0 cudaStreamSynchronize",
	  500, 20, FAMILY_SYNC },
	{ "copies without kernels", "api 1 0 5 1 0 cudaMemcpyAsync;copy 0 7 0 900 1 9000000 1;api 1 0 5 2 0 cudaLaunchKernel;kernel 0 7 900 100 2 gemm",
	  1000, 20, FAMILY_COPY },
	{ "copies behind kernels", "copy 0 8 0 900 1 9000000 1;kernel 0 7 0 1000 2 gemm",
	  1000, 20, FAMILY_SATURATED },
	{ "allocations of 20 ms in each step are no first use", "step 1 0 30000 1;api 1 0 20000 9 0 cudaMalloc;api 1 20000 5 1 0 cudaLaunchKernel;kernel 0 7 20010 9000 1 gemm",
	  30000, 20, FAMILY_ALLOC },
	{ "the first call of a process sets the device up, whatever its name", "api 1 0 9000000 9 0 cudaDeviceGetStreamPriorityRange;api 1 9000000 5 1 0 cudaLaunchKernel;kernel 0 7 9000010 900 1 gemm",
	  10000000, 1, FAMILY_WARM_UP },
	{ "communication in the open", "kernel 0 7 0 500 1 gemm;kernel 0 8 500 500 2 ncclDevKernel_AllReduce",
	  1000, 20, FAMILY_COMM },
	{ "communication hidden", "kernel 0 7 0 1000 1 gemm;kernel 0 8 100 500 2 ncclDevKernel_AllReduce",
	  1000, 20, FAMILY_SATURATED },
	{ "communication that is not called nccl", "kernel 0 7 0 500 1 gemm;kernel 0 8 500 500 2 vllm::cross_device_reduce_2stage",
	  1000, 20, FAMILY_COMM },
	{ "work that waits with its launch long past", "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 600 400 1 gemm",
	  1000, 20, FAMILY_DEPENDENCY },
	{ "gaps without launches say nothing", "kernel 0 7 600 400 1 gemm",
	  1000, 20, NONE },
	{ "a gap below the boundary is no finding", "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 5 480 1 gemm;kernel 0 8 485 485 1 gemm",
	  1000, 20, FAMILY_SATURATED },
	{ "nothing", "", 1, 0, NONE },
	/* clang-format on */
};

static void check_case(size_t i)
{
	struct trace *t = kit_trace(cases[i].text);
	struct findings *fs;
	struct insight *in;
	enum family got;

	scale(t, cases[i].n, cases[i].us);
	fs = look(t, &in);
	got = fs->n ? fs->f[0].family : NONE;
	T_OK(got == cases[i].want, "%s: %s, got %s", cases[i].name,
	     cases[i].want == NONE ? "no finding" : family_table[cases[i].want].word,
	     got == NONE ? "none" : family_table[got].word);
	T_OK(in_bounds(fs, in), "%s: what it says holds", cases[i].name);
	done(fs, in, t);
}

/* What Python does to its own program is known by name, and has its own remedy. */
static void check_python(void)
{
	static const char *const of[][2] = { { "torch.compile f (a.py:3)", "mark_dynamic" },
					     { "Python GC", "gc.freeze()" } };

	for (size_t i = 0; i < 2; i++) {
		const struct finding *f;
		struct findings *fs;
		struct insight *in;
		struct trace *t;
		char text[256];

		snprintf(text, sizeof(text),
			 "user 1 0 900 0 %s;api 1 900 5 1 0 cudaLaunchKernel;"
			 "kernel 0 7 910 90 1 gemm",
			 of[i][0]);
		t = kit_trace(text);
		scale(t, 20, 1000);
		fs = look(t, &in);
		f = find(fs, i ? FAMILY_GC : FAMILY_COMPILING);
		T_OK(f && strstr(f->action, of[i][1]), "GPUs that wait for %s: what to do",
		     of[i][0]);
		done(fs, in, t);
	}
}

static void check_ranks(void)
{
	struct trace *t = kit_trace("file 0;kernel 0 7 0 500 1 gemm;kernel 0 8 500 500 2 ncclA;"
				    "file 1;kernel 0 7 0 500 1 gemm;kernel 0 8 500 480 2 ncclA;"
				    "file 2;kernel 0 7 0 980 1 gemm;kernel 0 8 980 20 2 ncclA");
	const struct finding *f;
	struct findings *fs;
	struct insight *in;

	scale(t, 10, 1000);
	fs = look(t, &in);
	f = find(fs, FAMILY_STRAGGLER);
	T_OK(f && f->rank == 2 && f->on->rank == 0, "who comes last is late, and is named");
	T_OK(f && f->cost_ns == 4800000, "its cost is what the rank waits that waits most");
	T_OK(f && strstr(f->action, "computes longer"), "that it computes longer is said");
	f = find(fs, FAMILY_IMBALANCE);
	T_OK(f && f->rank == 2 && f->cost_ns == 3200000, "unequal work is said, by how much");
	T_OK(fs->f[0].family == FAMILY_STRAGGLER && !find(fs, FAMILY_COMM),
	     "communication that only waits for that rank is its doing");
	T_OK(in_bounds(fs, in), "of ranks, what it says holds");
	done(fs, in, t);

	t = kit_trace("file 0;kernel 0 7 0 500 1 gemm;kernel 0 8 500 500 2 ncclA;"
		      "file 1;kernel 0 7 0 510 1 gemm;kernel 0 8 510 490 2 ncclA;"
		      "file 2;kernel 0 7 0 900 1 gemm;kernel 0 8 900 100 2 ncclA;"
		      "file 3;kernel 0 7 0 905 1 gemm;kernel 0 8 905 95 2 ncclA");
	scale(t, 10, 1000);
	fs = look(t, &in);
	f = find(fs, FAMILY_IMBALANCE);
	T_OK(f && f->cost_ns == 4000000 && strstr(f->title, "Ranks 2 to 3 compute longer"),
	     "half of the ranks that compute longer are named, and compared with the others: %s",
	     f ? f->title : "none");
	done(fs, in, t);

	t = kit_trace("file 0;kernel 0 8 0 500 2 ncclA;kernel 0 8 500 100 3 ncclB;"
		      "file 1;kernel 0 8 0 100 2 ncclA;kernel 0 8 500 500 3 ncclB");
	scale(t, 10, 1000);
	fs = look(t, &in);
	T_OK(in->waits.matched == 20 && in->waits.rank[0].last == 10, "each is late half the time");
	done(fs, in, t);

	t = kit_trace("file 0;kernel 0 8 0 500 2 ncclA;kernel 0 8 600 500 2 ncclA;"
		      "file 1;kernel 0 8 0 100 2 ncclA");
	fs = look(t, &in);
	T_OK(!in->waits.matched && !find(fs, FAMILY_STRAGGLER),
	     "collectives that cannot be matched blame nobody");
	done(fs, in, t);
}

/* Twelve kernels shorter than their launches, six that are longer, and a wait. Without waits the long
 * ones would still run while the next short ones are launched. */
static void check_drained(void)
{
	char text[4096];
	size_t used = 0;
	uint64_t end = 0;
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	for (unsigned i = 0; i < 18; i++) {
		uint64_t start = 20 * (i + 1) + 5 > end ? 20 * (i + 1) + 5 : end;

		end = start + (i < 12 ? 12 : 40);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "api 1 %u 20 %u 0 cudaLaunchKernel;"
					 "kernel 0 7 %" PRIu64 " %" PRIu64 " %u gemm;",
					 20 * i, i + 1, start, end - start, i + 1);
	}
	snprintf(text + used, sizeof(text) - used,
		 "sync 1 360 %" PRIu64 " 19 0 cudaStreamSynchronize", end - 360);
	t = kit_trace(text);
	scale(t, 50, end + 2); /* the host is back */
	fs = look(t, &in);
	T_OK(fs->n && fs->f[0].family == FAMILY_SYNC && !find(fs, FAMILY_LAUNCH) &&
		     in_bounds(fs, in),
	     "waits that empty the queue cost what is launched late behind them: %s",
	     fs->n ? fs->f[0].title : "none");
	done(fs, in, t);
}

/* The n-th collective of the group, at so many microseconds; us is 0: it was issued. */
static void put_collective(struct trace *t, uint32_t track, uint64_t n, uint64_t at, uint64_t us)
{
	struct trace_comm c = { .size = 3, .sequence = n };
	struct event e = {
		.kind = EVENT_COLLECTIVE, .track = track, .start_ns = at * 1000, .dur_ns = us * 1000
	};
	uint32_t id;

	if (trace_name(t, "all_reduce", 10, &e.name) < 0 ||
	    trace_name(t, "dp:0", 4, &c.group) < 0 || trace_comm_add(t, &c, &id) < 0 ||
	    trace_add(t, &e, id + 1) < 0)
		abort();
}

/* Three ranks, each with ten collectives that end. `late` issues one less, and what the others issued
 * last does not end until `until`. */
static struct findings *stop(int late, uint64_t until, struct trace **t, struct insight **in)
{
	*t = kit_trace("file 0;api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 880 1 gemm;"
		       "file 1;api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 880 1 gemm;"
		       "file 2;api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 880 1 gemm");
	for (size_t i = 0, n = (*t)->events; i < n; i++) {
		struct event *e = &(*t)->event[i];
		uint32_t file = (*t)->process[(*t)->track[e->track].process].file;
		struct event end = { .kind = EVENT_RANGE, .a = TRACE_USER, .track = e->track };

		e->start_ns *= 1000;
		e->dur_ns *= 1000;
		if (e->kind != EVENT_API)
			continue;
		for (unsigned k = 1; k <= 10; k++)
			put_collective(*t, end.track, k, 800 + 10 * k, 100);
		if ((int)file != late)
			put_collective(*t, end.track, 11, 1000, 0);
		end.start_ns = until * 1000;
		end.dur_ns = 1000;
		trace_add(*t, &end, 0);
	}
	trace_seal(*t);
	return look(*t, in);
}

static void check_stopped(void)
{
	struct findings *fs;
	struct insight *in;
	struct trace *t;

	fs = stop(1, 5000, &t, &in);
	T_OK(fs->n && fs->f[0].family == FAMILY_STOPPED && fs->f[0].rank == 1 &&
		     strstr(fs->f[0].title, "rank 1 never came to all_reduce"),
	     "who never came to a collective is first: %s", fs->n ? fs->f[0].title : "none");
	T_OK(fs->f[0].sure == SURE_HIGH && in_bounds(fs, in), "of a job that stopped that is sure");
	done(fs, in, t);
	fs = stop(-1, 5000, &t, &in);
	T_OK(fs->n && strstr(fs->f[0].title, "never ended"), "all came, and it never ended: %s",
	     fs->n ? fs->f[0].title : "none");
	done(fs, in, t);
	fs = stop(1, 1050, &t, &in);
	T_OK(!find(fs, FAMILY_STOPPED), "a recording that ends in a collective did not stop");
	done(fs, in, t);
}

/* What is said of a recording that is too small, where that is said before any cause. */
static const struct {
	const char *name, *text;
	uint64_t us;
	unsigned n;
	bool little;
} few[] = {
	/* clang-format off */
	{ "four kernels", "op 1 0 900 0 tokenise;api 1 900 5 1 0 cudaLaunchKernel;kernel 0 7 910 90 1 gemm",
	  1000, 4, true },
	{ "nine kernels are enough", "op 1 0 900 0 tokenise;api 1 900 5 1 0 cudaLaunchKernel;kernel 0 7 910 90 1 gemm",
	  1000, 9, false },
	{ "four kernels of a GPU that always computes", "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 985 1 gemm",
	  1000, 4, false },
	{ "four kernels in the steps, and many before", "step 1 90000 10000 1;user 1 90000 9900 0 prepare;"
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 90 1 gemm;api 1 1000 5 2 0 cudaLaunchKernel;kernel 0 7 1010 90 2 gemm;"
	  "api 1 2000 5 3 0 cudaLaunchKernel;kernel 0 7 2010 90 3 gemm;api 1 3000 5 4 0 cudaLaunchKernel;kernel 0 7 3010 90 4 gemm;"
	  "api 1 4000 5 5 0 cudaLaunchKernel;kernel 0 7 4010 90 5 gemm;api 1 5000 5 6 0 cudaLaunchKernel;kernel 0 7 5010 90 6 gemm;"
	  "api 1 6000 5 7 0 cudaLaunchKernel;kernel 0 7 6010 90 7 gemm;api 1 7000 5 8 0 cudaLaunchKernel;kernel 0 7 7010 90 8 gemm;"
	  "api 1 8000 5 9 0 cudaLaunchKernel;kernel 0 7 8010 90 9 gemm;api 1 99900 5 10 0 cudaLaunchKernel;kernel 0 7 99910 80 10 gemm",
	  100000, 1, true },
	{ "much work, and launches of four", "kernel 0 7 0 5 0 gemm;kernel 0 7 200 5 0 gemm;kernel 0 7 400 5 0 gemm;api 1 900 5 1 0 cudaLaunchKernel;kernel 0 7 910 90 1 gemm",
	  1000, 4, true },
	{ "launches without work", "op 1 0 900 0 conv;api 1 10 800 1 0 cudaLaunchKernel",
	  1000, 20, true },
	{ "no launches and no work", "op 1 0 900 0 conv",
	  1000, 20, false },
	/* clang-format on */
};

static void check_few(void)
{
	for (size_t i = 0; i < T_LEN(few); i++) {
		struct trace *t = kit_trace(few[i].text);
		bool first, low = true;
		struct findings *fs;
		struct insight *in;

		scale(t, few[i].n, few[i].us);
		fs = look(t, &in);
		first = fs->n && fs->f[0].family == FAMILY_TOO_LITTLE;
		for (size_t k = 1; k < fs->n; k++)
			low &= fs->f[k].sure == SURE_LOW && !fs->f[k].gain_known;
		T_OK(first == few[i].little && !first == !find(fs, FAMILY_TOO_LITTLE), "%s: %s",
		     few[i].name, few[i].little ? "too little" : "no word of that");
		T_OK(!first || (in->devices == 0) || low, "%s: no cause is sure", few[i].name);
		T_OK(in_bounds(fs, in), "%s: what it says holds", few[i].name);
		done(fs, in, t);
	}
}

static void check_memory(void)
{
	struct trace *t = kit_trace("kernel 0 7 0 100 1 gemm;counter 1 0 33554432 Total Allocated;"
				    "counter 1 50 335544320 Total Allocated");
	const struct finding *f;
	struct findings *fs;
	struct insight *in;

	scale(t, 40, 1000);
	fs = look(t, &in);
	f = find(fs, FAMILY_MEMORY);
	T_OK(f && f->fact[1].n > f->fact[0].n && !f->cost_ns, "memory that grows is found");
	done(fs, in, t);
	t = kit_trace("kernel 0 7 0 100 1 gemm;counter 1 0 33554432 Total Allocated");
	for (size_t i = 0; i < 40; i++) {
		struct event e = t->event[0].kind == EVENT_COUNTER ? t->event[0] : t->event[1];

		e.start_ns = i * 1000;
		e.a = i % 2 ? 33554432 : 335544320;
		trace_add(t, &e, 0);
	}
	trace_seal(t);
	fs = look(t, &in);
	T_OK(!find(fs, FAMILY_MEMORY), "memory that comes and goes is not");
	T_OK(in->memory[0].peak == 335544320 && in->memory[0].samples == 41,
	     "its timeline is known");
	done(fs, in, t);
}

static void check_compile(void)
{
	static const char again[] = "step 1 0 1000 1;user 1 0 300 0 jax compile: train;"
				    "api 1 310 5 1 0 cudaLaunchKernel;kernel 0 7 320 600 1 gemm";
	struct trace *t = kit_trace(again);
	const struct finding *f;
	struct findings *fs;
	struct insight *in;

	scale(t, 20, 1000);
	fs = look(t, &in);
	f = find(fs, FAMILY_COMPILE);
	T_OK(f && f->cost_ns == 19 * 300000 &&
		     strstr(f->seen[1], "train, 19 times more in 20 steps"),
	     "a function that is compiled in every step; its first time is none of the cost");
	done(fs, in, t);
	t = kit_trace(again);
	scale(t, 1, 1000);
	fs = look(t, &in);
	T_OK(!find(fs, FAMILY_COMPILE), "once is how often it must be");
	done(fs, in, t);
}

static void check_random(void)
{
	static const char *const name[] = { "gemm", "ncclDevKernel", "elementwise", "flash_fwd" };
	bool ok = true;

	for (unsigned seed = 1; seed <= 200; seed++) {
		struct kit k = { 0 };
		struct findings *fs;
		struct insight *in;
		char line[256];

		srand(seed);
		trace_new(&k.t);
		for (int i = 0; i < 120; i++) {
			int at = rand() % 100000, dur = rand() % (seed % 2 ? 200 : 5000);

			if (i % 40 == 0)
				kit_file(&k, i / 40);
			snprintf(line, sizeof(line), "%s %d %d %d %d 0 %s", i % 7 ? "api" : "sync",
				 rand() % 2, at, rand() % 400, i + 1,
				 i % 7 ? "cudaLaunchKernel" : "cudaDeviceSynchronize");
			kit_line(&k, line);
			if (i % 9)
				snprintf(line, sizeof(line), "kernel %d %d %d %d %d %s", rand() % 2,
					 rand() % 3, at + rand() % 300, dur, i + 1,
					 name[rand() % 4]);
			else
				snprintf(line, sizeof(line), "copy 0 %d %d %d %d 4096 %dp",
					 rand() % 3, at, dur, i + 1, rand() % 6);
			kit_line(&k, line);
			snprintf(line, sizeof(line), "user %d %d %d 0 %s", rand() % 2, at, dur,
				 i % 5 ? "aten::mm" : "DataLoader");
			kit_line(&k, line);
			snprintf(line, sizeof(line), "step 0 %d 900 %d", i * 1000, i);
			if (seed % 3)
				kit_line(&k, line);
		}
		trace_seal(k.t);
		fs = look(k.t, &in);
		ok &= in_bounds(fs, in);
		done(fs, in, k.t);
	}
	T_OK(ok, "of 200 random traces no finding contradicts its numbers");
}

int main(void)
{
	for (size_t i = 0; i < T_LEN(cases); i++)
		check_case(i);
	check_python();
	check_ranks();
	check_few();
	check_stopped();
	check_drained();
	check_memory();
	check_compile();
	check_random();
	return t_done();
}
