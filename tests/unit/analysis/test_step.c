/* SPDX-License-Identifier: Apache-2.0 */
/* test_step.c - a transformer's step: parameters, operations, bubble and memory by hand. */
#include "theory/step.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "t.h"

static const struct gpu *h100;

static bool near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

static struct step train(const char *model)
{
	return (struct step){ .model = *step_model_find(model),
			      .mode = STEP_TRAIN,
			      .seq = 4096,
			      .batch = 8,
			      .type = GPU_BF16 };
}

static struct step_cost cost_on(const struct gpu *g, struct step s)
{
	struct step_cost c = { .ns = NAN };
	const char *why;

	step_cost(&c, &why, g, &s);
	return c;
}

/* As the weights that are published have them. */
static void test_params(void)
{
	/* clang-format off */
	static const struct { const char *name; double params, active; } of[] = {
		{ "llama2-7b",      6738415616.0,   6738415616.0 },
		{ "llama2-70b",    68976648192.0,  68976648192.0 },
		{ "llama3-8b",      8030261248.0,   8030261248.0 },
		{ "llama3-70b",    70553706496.0,  70553706496.0 },
		{ "llama3-405b",  405853388800.0, 405853388800.0 },
		{ "mixtral-8x7b",  46702792704.0,  12879925248.0 },
	};
	/* clang-format on */
	double active;

	for (size_t i = 0; i < T_LEN(of); i++) {
		const struct step_model *m = step_model_find(of[i].name);

		T_OK(m && step_params(m, &active) == of[i].params && active == of[i].active,
		     "%s has %.0f parameters, of which a token meets %.0f", of[i].name,
		     of[i].params, of[i].active);
	}
	T_OK(step_model_find("LLAMA2-7B") && !step_model_find("llama"),
	     "models are found by name in any case");
}

static void test_flops(void)
{
	struct step s = train("llama2-7b");
	struct step_cost c;
	/* Without the input embedding, which is a look-up: 6738415616 - 32000 x 4096. */
	double used = 6607343616.0, tokens = 8.0 * 4096;

	c = cost_on(h100, s);
	T_OK(near(c.flops, tokens * (6 * used + 12.0 * 32 * 4096 * 2048.5), 1e-12),
	     "6 N D, and of attention 12 l h s / 2");
	T_OK(near(c.mfu, c.flops / (c.ns * 1e-9 * 989.4e12), 1e-9) && c.mfu > 0.3 && c.mfu < 0.9,
	     "of the peak of one GPU it reaches %.2f", c.mfu);
	T_OK(near(c.tokens_per_s, tokens / (c.ns * 1e-9), 1e-9) && c.gpus == 1, "tokens by time");
	s.mode = STEP_PREFILL;
	c = cost_on(h100, s);
	T_OK(near(c.flops,
		  tokens * (2 * (used - 32000 * 4096.0) + 4.0 * 32 * 4096 * 2048.5) +
			  8 * 2 * 32000 * 4096.0,
		  1e-12),
	     "of a prompt only the last token is asked for the next word");
	s.mode = STEP_DECODE;
	s.seq = 1000;
	c = cost_on(h100, s);
	T_OK(near(c.flops, 8 * (2 * used + 4.0 * 32 * 4096 * 1000), 1e-12),
	     "2 N for each token decoded");
	T_OK(strcmp(c.limiter, "memory") == 0, "which memory limits");
	/* 13.2 GB of weights at 3352 GB/s are 3.94 ms. */
	T_OK(c.ns > 3.94e6 && c.ns < 8e6, "all weights are read for it: %.2f ms", c.ns / 1e6);
}

static void test_parallel(void)
{
	struct step s = train("llama2-7b");
	struct step_cost one, c;
	double sum = 0, turn;

	s.batch = 32, s.pp = 4, s.micro = 8;
	c = cost_on(h100, s);
	for (int i = 0; i < STEP_PARTS; i++)
		sum += c.part_ns[i];
	T_OK(near(sum, c.ns, 1e-12), "the parts add up");
	turn = c.forward_ns + c.backward_ns;
	T_OK(near(c.part_ns[STEP_BUBBLE] / (c.part_ns[STEP_BUBBLE] + 8 * turn), 3 / 11.0, 1e-12),
	     "of 8 micro-batches on 4 stages 3/11 is bubble");
	T_OK(c.part_ns[STEP_PP] > 0 && c.part_ns[STEP_TP] == 0 && c.part_ns[STEP_DP] == 0 &&
		     c.part_ns[STEP_EP] == 0,
	     "stages send to one another, nobody else does");
	s.interleave = 4;
	one = cost_on(h100, s);
	T_OK(near(one.part_ns[STEP_BUBBLE] / (one.forward_ns + one.backward_ns), 3 / 4.0, 1e-12) &&
		     near(one.part_ns[STEP_PP], 4 * c.part_ns[STEP_PP], 1e-12),
	     "with four parts a stage a quarter of the bubble, four times the sends");
	s.interleave = 0, s.micro = 32;
	T_OK(cost_on(h100, s).ns < c.ns, "more micro-batches, less bubble");

	s = train("llama2-7b");
	one = cost_on(h100, s);
	T_OK(one.part_ns[STEP_PP] == 0 && one.part_ns[STEP_BUBBLE] == 0, "one GPU sends nothing");
	s.tp = 8;
	c = cost_on(h100, s);
	T_OK(c.part_ns[STEP_TP] > 0 && c.part_ns[STEP_GEMM] > one.part_ns[STEP_GEMM] / 8 &&
		     c.part_ns[STEP_GEMM] < one.part_ns[STEP_GEMM] / 6,
	     "eight share the matrices, and exchange");
	s.sequence = true;
	T_OK(cost_on(h100, s).part_ns[STEP_PASSES] < 0.6 * c.part_ns[STEP_PASSES] &&
		     near(cost_on(h100, s).part_ns[STEP_TP], c.part_ns[STEP_TP], 0.5),
	     "tokens shared between products are normed once");
	s.sequence = false, s.gpus_per_node = 4;
	T_OK(cost_on(h100, s).part_ns[STEP_TP] > 1.5 * c.part_ns[STEP_TP],
	     "which takes longer between nodes");
	s = train("llama2-7b");
	s.recompute = true;
	c = cost_on(h100, s);
	T_OK(near(c.backward_ns, one.backward_ns + one.forward_ns, 0.06) && c.flops == one.flops &&
		     c.mfu < one.mfu,
	     "what is computed again is no use");
	s = train("llama2-7b");
	s.dp = 8;
	c = cost_on(h100, s);
	T_OK(c.dp_ns > 0 && c.part_ns[STEP_DP] < c.dp_ns / 2,
	     "gradients are exchanged beside the backward pass");
	s = train("llama2-7b");
	s.type = GPU_FP8;
	c = cost_on(h100, s);
	T_OK(c.part_ns[STEP_GEMM] < 0.7 * one.part_ns[STEP_GEMM] &&
		     c.part_ns[STEP_PASSES] > one.part_ns[STEP_PASSES] &&
		     c.part_ns[STEP_ATTENTION] == one.part_ns[STEP_ATTENTION] &&
		     c.memory.weights == one.memory.weights,
	     "fp8 is for the products, which need what they read in it");
	s = train("mixtral-8x7b");
	s.dp = s.ep = 8;
	c = cost_on(h100, s);
	T_OK(c.part_ns[STEP_EP] > 0 && c.gpus == 8, "experts are sent to, on the same GPUs");
}

static void test_memory(void)
{
	struct step s = train("llama2-7b");
	struct step_cost c = cost_on(h100, s), z;
	double n = 6738415616.0 - 4096; /* the last norm is of no account */

	T_OK(near(c.memory.weights, 2 * n, 1e-3) && near(c.memory.gradients, 2 * n, 1e-3) &&
		     near(c.memory.optimizer, 12 * n, 1e-3),
	     "16 bytes a parameter: 2 + 2 + 12");
	/* A layer keeps 4 h + (4 h + 3 ffn) of each token: 65792 elements; and the logits in fp32. */
	T_OK(near(c.memory.activations, 8 * 4096 * (32.0 * 65792 * 2 + 32000 * 4.0), 1e-12),
	     "activations of all layers: %.1f GB", c.memory.activations / 1e9);
	T_OK(!c.fits, "which 80 GB do not hold");
	s.dp = 8;
	for (s.zero = 1; s.zero <= 3; s.zero++) {
		z = cost_on(h100, s);
		T_OK(near(z.memory.optimizer, 12 * n / 8, 1e-3) &&
			     near(z.memory.gradients, 2 * n / (s.zero >= 2 ? 8 : 1), 1e-3) &&
			     near(z.memory.weights, 2 * n / (s.zero >= 3 ? 8 : 1), 1e-3),
		     "zero %u shards what it says", s.zero);
	}
	s = train("llama2-7b");
	s.recompute = true;
	z = cost_on(h100, s);
	T_OK(near(z.memory.activations, 8 * 4096 * (32.0 * 4096 * 2 + 65792 * 2 + 32000 * 4.0),
		  1e-12),
	     "computing again keeps the inputs and one layer");
	s = train("llama2-7b");
	s.tp = 8, s.sequence = true;
	z = cost_on(h100, s);
	T_OK(near(z.memory.activations, 4096 * (32.0 * 65792 * 2 + 32000 * 4.0), 1e-12),
	     "tp and its tokens divide all of them");
	s = train("llama2-7b");
	s.mode = STEP_DECODE, s.seq = 1024;
	z = cost_on(h100, s);
	/* 2 x 32 layers x 4096 x 2 bytes are half a MiB a token. */
	T_OK(z.memory.kv_cache == 8 * 1024 * 524288.0 && z.memory.optimizer == 0 &&
		     z.memory.gradients == 0,
	     "decoding has a cache, no gradients");
	T_OK(z.fits && cost_on(gpu_find("L4"), s).fits, "24 GB hold 13.5 and 4.3");
	s.type = GPU_FP8;
	T_OK(near(cost_on(h100, s).memory.weights, n, 1e-3) &&
		     cost_on(h100, s).memory.kv_cache == z.memory.kv_cache,
	     "in fp8 the weights are half, the cache is not");
	s.type = GPU_BF16;
	s.batch = 32;
	T_OK(!cost_on(gpu_find("L4"), s).fits, "but not 13.5 and 17.2");
}

static void test_refused(void)
{
	struct step_cost c = { .ns = -1 };
	/* clang-format off */
	static const struct { struct step s; int err; const char *why; } of[] = {
		{ { .batch = 0 },                                    -EINVAL, "no tokens" },
		{ { .batch = 9, .dp = 2 },                           -EINVAL, "batch is no multiple" },
		{ { .batch = 8, .tp = 3 },                           -EINVAL, "heads or ffn" },
		{ { .batch = 8, .pp = 5 },                           -EINVAL, "layers" },
		{ { .batch = 8, .pp = 4, .interleave = 3 },          -EINVAL, "layers" },
		{ { .batch = 8, .pp = 4, .micro = 2, .interleave = 2 }, -EINVAL, "multiple of pp" },
		{ { .batch = 8, .dp = 8, .ep = 8 },                  -EINVAL, "experts" },
		{ { .batch = 8, .zero = 4 },                         -EINVAL, "zero" },
		{ { .batch = UINT64_MAX },                           -ERANGE, "2^32" },
		{ { .batch = 1ull << 31 },                           -ERANGE, "2^32" },
		{ { .batch = 8, .type = GPU_FP4 },                   -ENOTSUP, "device" },
	};
	/* clang-format on */
	const char *why;
	struct step s;

	for (size_t i = 0; i < T_LEN(of); i++) {
		s = of[i].s;
		s.model = *step_model_find("llama2-7b");
		s.seq = 4096;
		s.type = s.type == GPU_FP4 ? GPU_FP4 : GPU_BF16;
		T_OK(step_cost(&c, &why, h100, &s) == of[i].err && c.ns == -1 &&
			     strstr(why, of[i].why),
		     "refused: %s", why);
	}
	s = train("llama2-7b");
	s.model.heads = 0;
	T_OK(step_cost(&c, &why, h100, &s) == -EINVAL && strstr(why, "is 0"), "refused: %s", why);
	s.model.heads = 48;
	T_OK(step_cost(&c, &why, h100, &s) == -EINVAL && strstr(why, "hidden"), "refused: %s", why);
	s.model.heads = 32, s.model.kv_heads = 5;
	T_OK(step_cost(&c, &why, h100, &s) == -EINVAL && strstr(why, "kv heads"), "refused: %s",
	     why);
}

int main(void)
{
	h100 = gpu_find("H100_SXM");
	test_params();
	test_flops();
	test_parallel();
	test_memory();
	test_refused();
	return t_done();
}
