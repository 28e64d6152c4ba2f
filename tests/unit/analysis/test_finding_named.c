/* SPDX-License-Identifier: Apache-2.0 */
/* What findings call by name: where a loader works, generated code, unfused attention, allocations
 * that were retried, unequal experts. */
#include "findkit.h"
#include "t.h"

/* The first finding of a period of so many microseconds that repeats; its texts go to `says`. */
static bool first_is(const char *text, unsigned n, uint64_t us, enum family k, const char *word,
		     char says[1024])
{
	struct trace *t = kit_trace(text);
	const struct finding *f;
	struct findings *fs;
	struct insight *in;
	bool is;

	scale(t, n, us);
	fs = look(t, &in);
	f = find(fs, k);
	snprintf(says, 1024, "%s", fs->n ? fs->f[0].title : "nothing");
	for (size_t i = 0; f && i < FINDING_SEEN; i++)
		snprintf(says + strlen(says), 1024 - strlen(says), "; %s", f->seen[i]);
	if (f)
		snprintf(says + strlen(says), 1024 - strlen(says), "; %s", f->action);
	is = f && f == &fs->f[0] && strstr(says, word) && in_bounds(fs, in);
	done(fs, in, t);
	return is;
}

/* What to do follows from where the loader works, whatever is around it. */
static void check_loaders(void)
{
	static const char *const of[][2] = {
		{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		  "load in other processes" },
		{ "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		  "workers are too slow" },
		{ "torch/utils/data/_utils/fetch.py(50): fetch", "load in other processes" },
		{ "torch/utils/data/dataloader.py(1120): _try_get_data", "workers are too slow" },
	};

	for (size_t i = 0; i < T_LEN(of); i++) {
		char text[512], says[1024];

		snprintf(text, sizeof(text),
			 "step 1 0 1000 1;py 1 0 690 0 train.py(3): next_batch;"
			 "py 1 2 680 0 torch/utils/data/dataloader.py(630): __next__;user 1 5 670 "
			 "0 %s;"
			 "api 1 700 5 1 0 cudaLaunchKernel;kernel 0 7 710 280 1 gemm",
			 of[i][0]);
		T_OK(first_is(text, 20, 1000, FAMILY_INPUT, of[i][1], says), "%s: %s", of[i][0],
		     says);
	}
}

/* Gaps on both sides of 200 us are one cause. */
static void check_mixture(void)
{
	char says[1024];

	T_OK(first_is("api 1 100 5 1 0 cudaLaunchKernel;kernel 0 7 110 20 1 gemm;"
		      "api 1 425 5 2 0 cudaLaunchKernel;kernel 0 7 435 20 2 gemm;"
		      "api 1 540 5 3 0 cudaLaunchKernel;kernel 0 7 550 50 3 gemm",
		      50, 600, FAMILY_LAUNCH, "(85 %", says),
	     "short gaps and long ones are one finding, and all of the cost: %s", says);
}

#define COMPILED "/tmp/torchinductor_me/ov/cov7.py(40): call"

/* What is named is of the user: not a file that a compiler wrote. */
static void check_compiled(void)
{
	char says[1024];
	bool is;

	is = first_is("module 1 0 900 0 nn.Module: Net_0;py 1 5 890 0 " COMPILED
		      ";api 1 880 5 1 0 cuLaunchKernel;"
		      "kernel 0 7 890 110 1 triton_poi_fused_add_relu_3",
		      20, 1000, FAMILY_CPU, "the compiled code of nn.Module: Net_0 (add, relu)",
		      says);
	T_OK(is && !strstr(says, "torchinductor"), "code of Inductor is called by its module: %s",
	     says);
	is = first_is("py 1 0 95 0 train.py(9): main;py 1 5 40 0 " COMPILED
		      ";api 1 40 5 1 0 cuLaunchKernel;kernel 0 7 50 6 1 triton_poi_fused_mul_0",
		      100, 100, FAMILY_LAUNCH, "launch less", says);
	T_OK(is, "code that a compiler generates launches, and is no culprit: %s", says);
}

/* Scores that go through memory, and products that are followed by a softmax that is none of attention. */
static void check_unfused(void)
{
	char says[1024];

	T_OK(first_is("kernel 0 7 0 30 1 bmm_kernel;kernel 0 7 30 20 2 scale_mul;"
		      "kernel 0 7 50 25 3 softmax_warp_forward;kernel 0 7 75 25 4 bmm_kernel",
		      50, 100, FAMILY_UNFUSED, "scaled_dot_product_attention", says),
	     "a softmax between two products is attention that is not fused: %s", says);
	T_OK(!first_is("kernel 0 7 0 30 1 gemm;kernel 0 7 30 20 2 log_softmax;"
		       "kernel 0 7 50 25 3 nll_loss;kernel 0 7 75 25 4 gemm",
		       50, 100, FAMILY_UNFUSED, "", says),
	     "a loss between two products is none");
	T_OK(!first_is("op 1 0 9 0 aten::addmm;api 1 1 5 1 0 cudaLaunchKernel;kernel 0 7 10 30 1 "
		       "gemm;"
		       "kernel 0 7 40 30 2 softmax_warp;kernel 0 7 70 30 3 gemm",
		       50, 100, FAMILY_UNFUSED, "", says),
	     "nor is what follows a product with weights");
}

/* The allocator frees what it had kept, and tries again: the GPU drains, and waits. */
static void check_retries(void)
{
	char says[1024];

	T_OK(first_is("step 1 0 1000 1;api 1 0 5 1 0 cudaLaunchKernel;kernel 0 7 10 300 1 gemm;"
		      "api 1 20 10 2 0 cudaMalloc;api 1 30 700 3 0 cudaFree;api 1 730 100 4 0 "
		      "cudaMalloc;"
		      "api 1 840 5 5 0 cudaLaunchKernel;kernel 0 7 850 150 5 gemm",
		      20, 1000, FAMILY_ALLOC, "20 times in all steps memory was freed", says),
	     "memory that is freed for an allocation is said, with what to do: %s", says);
}

/* Three ranks meet behind their experts; another one has most to do each time. */
static void check_experts(void)
{
	static const char *const two[][2] = { { "expert_gemm", "experts" },
					      { "gemm", "no experts" } };

	for (size_t i = 0; i < 2; i++) {
		struct findings *fs;
		struct insight *in;
		const struct finding *f;
		struct trace *t;
		char text[1024];
		size_t used = 0;

		for (int r = 0; r < 3; r++) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, "file %d;", r);
			for (int k = 0; k < 3; k++)
				used += (size_t)snprintf(
					text + used, sizeof(text) - used,
					"kernel 0 7 %d %d 1 %s;kernel 0 8 %d %d 2 ncclSendRecv;",
					1000 * k, k == r ? 900 : 200, two[i][0],
					1000 * k + (k == r ? 900 : 200), k == r ? 100 : 800);
		}
		t = kit_trace(text);
		scale(t, 10, 3000);
		fs = look(t, &in);
		f = find(fs, FAMILY_EXPERTS);
		T_OK((i ? !f : f != NULL) && (i || (f == &fs->f[0] && f->cost_ns == 14000000 &&
						    !find(fs, FAMILY_STRAGGLER))),
		     "ranks that wait for each other, %s: %s", two[i][1],
		     fs->n ? fs->f[0].title : "none");
		T_OK(in_bounds(fs, in), "of %s, what it says holds", two[i][1]);
		done(fs, in, t);
	}
}

/* Of one rank it is not known how long its collectives should take: that is not "0 %". */
static void check_unknown(void)
{
	struct trace *t =
		kit_trace("kernel 0 7 0 500 1 gemm;kernel 0 8 500 500 2 ncclDevKernel_AllReduce");
	struct findings *fs;
	struct insight *in;
	bool small = false;

	scale(t, 20, 1000);
	fs = look(t, &in);
	for (size_t i = 0; i < fs->n; i++)
		small |= strstr(fs->f[i].ruled_out, family_table[FAMILY_SLOW_LINKS].looked) != NULL;
	T_OK(fs->n && !fs->checked[FAMILY_SLOW_LINKS].could && !small,
	     "what cannot be known of one rank is not called small");
	done(fs, in, t);
}

/* Kernels of no known class, and a job of several ranks without communication, are told. */
static void check_unclassified(void)
{
	struct trace *t = kit_trace("kernel 0 7 0 700 1 gemm;kernel 0 7 700 300 2 qqq_zzz");
	struct findings *fs;
	struct insight *in;

	scale(t, 20, 1000);
	t->file[0].world = 8;
	fs = look(t, &in);
	T_OK(fs->n && fs->f[0].family == FAMILY_SATURATED && fs->f[0].sure < SURE_HIGH &&
		     strstr(fs->f[0].seen[2],
			    "kernels of no known kind take 30 % of that time, such as qqq") &&
		     strstr(fs->f[0].seen[3], "8 ranks, and no communication"),
	     "what classes do not tell is said: %s; %s", fs->f[0].seen[2], fs->f[0].seen[3]);
	done(fs, in, t);
}

/* Of a long path the middle goes. */
static void check_cut(void)
{
	char out[NAME_LEN];

	finding_name(
		"/home/me/a/very/long/path/of/some/folders/and/more/of/them/models/train.py(12): "
		"log_metrics",
		out);
	T_OK(!strcmp(out, "models/train.py(12): log_metrics"),
	     "file, line and function of a long path stay: %s", out);
}

int main(void)
{
	check_unknown();
	check_cut();
	check_unclassified();
	check_loaders();
	check_mixture();
	check_compiled();
	check_unfused();
	check_retries();
	check_experts();
	return t_done();
}
