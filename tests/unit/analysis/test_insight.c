/* SPDX-License-Identifier: Apache-2.0 */
/* Joins, idle causes, steps and tables on small traces with known answers. */
#include <errno.h>

#include "insight/insight.h"
#include "t.h"
#include "tracekit.h"

static struct insight *read_text(const char *text)
{
	struct trace *t = kit_trace(text);
	struct insight *in;

	if (insight_new(&in, t) < 0)
		abort();
	return in;
}

static void done(struct insight *in)
{
	const struct trace *t = in->t;

	insight_free(in);
	trace_free((struct trace *)t);
}

static uint32_t find_event(const struct insight *in, uint8_t kind, uint32_t corr)
{
	for (size_t i = 0; i < in->t->events; i++)
		if (in->t->event[i].kind == kind && in->t->event[i].corr == corr)
			return (uint32_t)i;
	abort();
}

static const char *op_of(const struct insight *in, uint32_t corr)
{
	uint32_t op = insight_op(in, find_event(in, EVENT_KERNEL, corr));

	return op == NO_EVENT ? "none" : trace_text(in->t, in->t->event[op].name);
}

/* As the probe for PyTorch records it: a step begins within the range that ended the one before. */
static void check_overlap(void)
{
	struct insight *in = read_text("user 1 0 1010 0 Optimizer.step\n"
				       "step 1 1000 5000 2\n"
				       "api 1 3000 20 1 0 cudaLaunchKernel\n"
				       "kernel 0 7 3100 10 1 gemm\n");
	const struct insight_step *s = insight_step_of(in, find_event(in, EVENT_KERNEL, 1));

	T_OK(!strcmp(op_of(in, 1), "none"),
	     "a range that has ended encloses nothing in a later step");
	T_OK(s && s->number == 2, "a kernel's step is the one that launched it");
	done(in);
}

static void check_links(void)
{
	struct insight *in = read_text("user 1 0 5000 0 train\n"
				       "py 1 10 4000 0 nn.Module: Linear_0\n"
				       "op 1 100 500 11 aten::linear\n"
				       "op 1 150 300 12 aten::addmm\n"
				       "api 1 200 20 1 12 cudaLaunchKernel\n"
				       "api 1 205 10 1 12 cuFuncGetAttributes\n"
				       "api 2 700 20 2 11 cudaLaunchKernel\n"
				       "api 1 4500 20 3 0 cudaGraphLaunch\n"
				       "api 3 4500 20 5 0 cudaLaunchKernel\n"
				       "kernel 0 7 300 10 1 gemm\n"
				       "kernel 0 7 800 10 2 gemm\n"
				       "kernel 0 7 5000 10 3 gemm\n"
				       "kernel 0 7 5020 10 3 gemm\n"
				       "kernel 0 7 5040 10 4 gemm\n"
				       "kernel 0 7 5060 10 5 gemm\n"
				       "file 1\n"
				       "kernel 0 7 300 10 1 gemm\n");
	uint32_t k = find_event(in, EVENT_KERNEL, 1);

	T_OK(!strcmp(op_of(in, 1), "aten::addmm"), "the innermost op around the launch is the op");
	T_OK(!strcmp(op_of(in, 2), "aten::linear"), "on another thread the External id finds it");
	T_OK(!strcmp(op_of(in, 3), "train"), "an annotation stands in where there is no op");
	T_OK(!strcmp(op_of(in, 4), "none"), "a kernel without a launch has no op");
	T_OK(!strcmp(op_of(in, 5), "none"), "nor one whose launch nothing encloses");
	T_OK(insight_module(in, k) != NO_EVENT, "its module is known");
	T_OK(in->t->event[insight_launch(in, k)].dur_ns == 20,
	     "the call that launches is the launch");
	T_OK(in->device[0].b.kernels == 6 && in->device[0].b.attributed == 5,
	     "seen and attributed are counted apart");
	T_OK(in->devices == 2 && in->device[1].b.attributed == 0,
	     "an id of another rank's process launches nothing");
	T_OK(in->device[0].launch.calls == 4 && in->device[0].launch.launched == 5,
	     "a graph is one call");
	T_OK(insight_host_at(in, in->t->event[insight_launch(in, k)].track, 210) ==
		     find_event(in, EVENT_API, 1) + 1,
	     "the innermost host event of a moment is found");
	done(in);
}

static const struct {
	const char *name, *text;
	uint64_t want[IDLE_CAUSES]; /* us */
} idle[] = {
	/* clang-format off */
	/*                                                                   input sync host launch dep other */
	{ "a late call is the host's",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "api 1 500 5 2 0 cudaLaunchKernel;kernel 0 7 507 10 2 gemm",          { 0, 0, 390, 7, 0, 0 } },
	{ "from a call to the start is launching, as far as that takes",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "api 1 100 15 2 0 cudaLaunchKernel;kernel 0 7 300 10 2 gemm",         { 0, 0, 0, 25, 165, 0 } },
	{ "called long before: launching if short",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "api 1 20 5 2 0 cudaLaunchKernel;kernel 0 7 112 10 2 gemm",           { 0, 0, 0, 2, 0, 0 } },
	{ "called long before: a dependency if long",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "api 1 20 5 2 0 cudaLaunchKernel;kernel 0 7 410 10 2 gemm",           { 0, 0, 0, 20, 280, 0 } },
	{ "no call seen",
	  "kernel 0 7 10 100 1 gemm;kernel 0 7 410 10 2 gemm",                  { 0, 0, 0, 0, 0, 300 } },
	{ "fetching input",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "user 1 90 300 0 enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__;"
	  "user 1 95 200 0 dataset.fetch;"
	  "api 1 400 5 2 0 cudaLaunchKernel;kernel 0 7 405 10 2 gemm",          { 280, 0, 10, 5, 0, 0 } },
	{ "input on another thread is not what is waited for",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "user 2 90 300 0 DataLoader worker;"
	  "api 1 400 5 2 0 cudaLaunchKernel;kernel 0 7 405 10 2 gemm",          { 0, 0, 290, 5, 0, 0 } },
	{ "a wait that drained the GPU costs what it could have launched in",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "sync 1 20 92 3 0 cudaStreamSynchronize;"
	  "api 1 150 5 2 0 cudaLaunchKernel;kernel 0 7 155 10 2 gemm",          { 0, 45, 0, 0, 0, 0 } },
	{ "and no more than it waited",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "sync 1 80 32 3 0 cudaStreamSynchronize;"
	  "api 1 900 5 2 0 cudaLaunchKernel;kernel 0 7 905 10 2 gemm",          { 0, 30, 760, 5, 0, 0 } },
	{ "a wait on an idle GPU costs nothing",
	  "api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 100 1 gemm;"
	  "sync 1 200 5 3 0 cudaStreamSynchronize;"
	  "api 1 300 5 2 0 cudaLaunchKernel;kernel 0 7 305 10 2 gemm",          { 0, 0, 190, 5, 0, 0 } },
	/* clang-format on */
};

/* Times of `idle` are microseconds. */
static void check_idle(size_t i)
{
	struct trace *t = kit_trace(idle[i].text);
	struct insight *in;
	bool same = true;

	for (size_t k = 0; k < t->events; k++) {
		t->event[k].start_ns *= 1000;
		t->event[k].dur_ns *= 1000;
	}
	if (insight_new(&in, t) < 0)
		abort();
	for (size_t c = 0; c < IDLE_CAUSES; c++) {
		if (in->device[0].idle_ns[c] != 1000 * idle[i].want[c])
			printf("# %s: %" PRIu64 "\n", idle_word[c], in->device[0].idle_ns[c]);
		same &= in->device[0].idle_ns[c] == 1000 * idle[i].want[c];
	}
	T_OK(same, "%s", idle[i].name);
	done(in);
}

static void check_steps(void)
{
	struct insight *in = read_text("step 1 1000 100 5;step 1 1100 100 6;step 1 1150 20 99;"
				       "step 2 1000 50 1;"
				       "kernel 0 7 1050 80 1 gemm;kernel 0 8 1090 20 2 nccl;"
				       "kernel 1 7 1180 90 3 gemm");

	T_OK(in->steps == 2 && in->step[0].number == 5 && in->step[1].number == 6,
	     "steps are those of the thread that steps most, none inside another");
	T_OK(in->step[0].b.busy_ns == 50 && in->step[0].b.comm_ns == 10,
	     "work that reaches over a step's end is cut there");
	T_OK(in->step[1].b.busy_ns == 50 && in->step[1].b.compute_ns == 50,
	     "and its rest is the next step's, with all GPUs of the process");
	T_OK(in->device[0].steps == 2 && in->device[0].step_ns == 200, "a device knows its steps");
	done(in);
}

/* Steps of which nothing was recorded: what the GPU did in them is not known, and not idle. */
static void check_unsampled(void)
{
	struct trace *t = kit_trace("step 1 1000 1000 1\n"
				    "step 1 2000 1000 2\n"
				    "step 1 3000 1000 3\n"
				    "api 1 1100 20 1 0 cudaLaunchKernel\n"
				    "kernel 0 7 1200 600 1 gemm\n"
				    "api 1 3100 20 3 0 cudaLaunchKernel\n"
				    "kernel 0 7 3200 600 3 gemm\n");
	struct insight *in;

	for (size_t i = 0; i < t->events; i++)
		if (t->event[i].kind == EVENT_STEP && t->event[i].a == 2)
			t->event[i].flags |= EVENT_UNSAMPLED;
	if (insight_new(&in, t) < 0)
		abort();
	T_OK(in->steps == 2 && in->step[1].number == 3,
	     "a step that was left out is none to judge");
	T_OK(in->device[0].b.unseen_ns == 1200 && in->device[0].b.span_ns == 1400 &&
		     in->device[0].b.idle_ns == 200,
	     "its time is neither idle nor part of the span");
	T_OK(in->device[0].idle_ns[IDLE_HOST] == 100, "behind it idle time has its cause again");
	done(in);
}

static void check_tables(void)
{
	struct insight *in = read_text("api 1 0 1 1 0 cudaLaunchKernel;"
				       "kernel 0 7 10 1 1 gemm;kernel 0 7 20 9 2 gemm;"
				       "kernel 0 7 30 5 3 gemm;kernel 0 7 40 3 4 gemm;"
				       "kernel 0 7 50 100 5 flash_fwd;copy 0 7 200 10 6 4096 1;"
				       "file 1;kernel 0 7 10 7 1 gemm");
	const struct insight_table *k = &in->roll[ROLL_KERNEL];

	T_OK(k->rows == 4, "a row for each name of each rank");
	T_OK(k->row[0].class == CLASS_ATTENTION && k->row[0].total_ns == 100, "longest first");
	T_OK(k->row[1].count == 4 && k->row[1].total_ns == 18 && k->row[1].min_ns == 1 &&
		     k->row[1].max_ns == 9 && k->row[1].p50_ns == 3 && k->row[1].p99_ns == 9,
	     "counts, sums, extremes and quantiles are exact");
	T_OK(k->row[2].class == CLASS_COPY && k->row[2].bytes == 4096, "copies are among them");
	T_OK(k->row[3].rank == 1 && k->row[3].total_ns == 7, "ranks are kept apart");
	done(in);
}

static void check_queue(void)
{
	struct insight *in =
		read_text("api 1 0 2 1 0 cudaLaunchKernel;api 1 5 2 2 0 cudaLaunchKernel;"
			  "api 1 10 2 3 0 cudaLaunchKernel;api 1 500 2 4 0 cudaLaunchKernel;"
			  "kernel 0 7 20 100 1 gemm;kernel 0 7 120 100 2 gemm;"
			  "kernel 0 7 220 100 3 gemm;kernel 0 7 501 100 4 gemm");
	const struct insight_launch *l = &in->device[0].launch;

	T_OK(l->depth_max == 3, "three were called before the first began");
	T_OK(l->queued_ns == 20 + 115 + 210 + 1, "time in the queue is summed");
	T_OK(l->call_ns == 8 && l->calls == 4, "as is the time of calls");
	T_OK(sketch_quantile(&l->delay, 0) == 0, "work that starts within its call has no delay");
	done(in);
}

/* Two ranks of which one was cut off after its second of a kind; another kind that only one has. */
static void check_cut_off(void)
{
	struct wait_share s[] = {
		{ .rank = 0, .name = 1, .start_ns = 10, .dur_ns = 5 },
		{ .rank = 0, .name = 1, .start_ns = 20, .dur_ns = 9 },
		{ .rank = 0, .name = 1, .start_ns = 30, .dur_ns = 5 },
		{ .rank = 1, .name = 1, .start_ns = 11, .dur_ns = 4 },
		{ .rank = 1, .name = 1, .start_ns = 21, .dur_ns = 2 },
		{ .rank = 1, .name = 2, .start_ns = 25, .dur_ns = 2 },
	};
	struct rank_wait rank[2] = { { .file = 0 } };
	struct waits w = { .rank = rank, .ranks = 2 };
	size_t n;

	waits_match(&w, (struct wait_share[6]){ s[0], s[1], s[2], s[3], s[4], s[5] }, 6);
	T_OK(!w.matched, "collectives that ranks ran a different number of times are left out");
	n = waits_trim(s, T_LEN(s));
	waits_match(&w, s, n);
	T_OK(n == 5 && w.matched == 2 && w.total_ns == 8 && rank[0].waited_ns == 8,
	     "of those that were cut off, the first that all have are told");
}

int main(void)
{
	struct trace *t;
	struct insight *in;

	trace_new(&t);
	T_OK(insight_new(&in, t) == -EINVAL, "a trace must be sealed");
	trace_seal(t);
	T_OK(insight_new(&in, t) == 0 && !in->devices, "nothing is nothing");
	insight_free(in);
	trace_free(t);
	check_links();
	check_overlap();
	for (size_t i = 0; i < T_LEN(idle); i++)
		check_idle(i);
	check_steps();
	check_unsampled();
	check_tables();
	check_queue();
	check_cut_off();
	return t_done();
}
