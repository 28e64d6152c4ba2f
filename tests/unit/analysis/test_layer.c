/* SPDX-License-Identifier: Apache-2.0 */
/* test_layer.c - what layers take: counts and limits by hand. */
#include "theory/layer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "t.h"
#include "theory/gemm.h"

static const struct gpu *h100, *a100;

static bool near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

static void test_passes(void)
{
	struct layer_time one, two, small, large;
	uint64_t n = 1ull << 30;

	T_OK(elementwise_time(&one, a100, n, 2, GPU_BF16) == 0 && one.bytes == 3.0 * 2 * 0x1p30 &&
		     one.flops == 0x1p30,
	     "a sum of two reads two and writes one, an operation each");
	elementwise_time(&two, a100, 2 * n, 2, GPU_BF16);
	/* 6.44 GB at 2039 GB/s are 3.16 ms; no kernel gets all of that. */
	T_OK(two.ns - one.ns > 3.159e6 && two.ns - one.ns < 3.159e6 / 0.9,
	     "and goes nearly as fast as memory: %.2f ms", (two.ns - one.ns) / 1e6);
	T_OK(strcmp(one.limiter, "memory") == 0, "which limits it");
	T_OK(elementwise_time(&one, a100, 1, 1, GPU_FP32) == 0 && one.bytes == 8 &&
		     strcmp(one.limiter, "launch") == 0 && one.ns > 1000 && one.ns < 10000,
	     "a copy of one number is a launch");
	T_OK(norm_time(&small, h100, 1024, 4096, GPU_FP16) == 0 &&
		     small.bytes == 2.0 * 1024 * 4096 * 2,
	     "a norm reads and writes");
	norm_time(&large, h100, 8 * 1024, 4096, GPU_FP16);
	T_OK(large.ns > 8 * small.ns, "rows that do not stay in the cache are read again");
	T_OK(pass_time(&one, h100, PASS_GATHER, 0x1p30) == 0 &&
		     pass_time(&two, h100, PASS_ROPE, 0x1p30) == 0 && one.ns > two.ns,
	     "rows from anywhere come slower than rows in turn");
}

static void test_attention(void)
{
	struct attention a = { .batch = 2,
			       .heads = 16,
			       .kv_heads = 16,
			       .head_dim = 128,
			       .q = 4096,
			       .kv = 4096,
			       .type = GPU_BF16 };
	struct layer_time t, causal, back;

	T_OK(attention_time(&t, h100, &a) == 0 && t.flops == 274877906944.0,
	     "4 b h q kv d operations");
	T_OK(t.bytes == 4.0 * 2 * 16 * 4096 * 128 * 2, "q, k, v and the result are moved once");
	T_OK(strcmp(t.limiter, "compute") == 0 && t.ns > t.flops / 989.4e3 &&
		     t.ns < 2.5 * t.flops / 989.4e3,
	     "a long prefill is compute bound");
	a.causal = true;
	attention_time(&causal, h100, &a);
	/* 4096 x 4096 - 4096 x 4095 / 2 scores of each of 32 heads, 512 operations each */
	T_OK(causal.flops == 137472507904.0, "the causal half counts its diagonal");
	a.backward = true;
	attention_time(&back, h100, &a);
	T_OK(back.flops == 2.5 * causal.flops && back.ns > 2.5 * causal.ns,
	     "backwards are five products, not two");

	a = (struct attention){ .batch = 64,
				.heads = 32,
				.kv_heads = 32,
				.head_dim = 128,
				.q = 1,
				.kv = 4096,
				.type = GPU_FP16 };
	attention_time(&t, h100, &a);
	T_OK(t.bytes == 4296015872.0 && strcmp(t.limiter, "memory") == 0,
	     "decoding reads the cache");
	/* 4.296 GB at 85 % of 3352 GB/s */
	T_OK(near(t.ns, 1.508e6, 0.01), "as fast as memory gives it: %.3f ms", t.ns / 1e6);
	a.kv_heads = 4;
	attention_time(&causal, h100, &a);
	T_OK(near(t.ns / causal.ns, 8, 0.05), "an eighth of the keys take an eighth");
	a = (struct attention){ 1, 1, 1, 64, 1, 1, true, false, GPU_FP16 };
	T_OK(attention_time(&t, h100, &a) == 0 && strcmp(t.limiter, "launch") == 0,
	     "one score is a launch");
}

/* FlashAttention-3 on H100, 16 heads of 128, 16,384 tokens in all: pytorch/benchmark 2391. */
static void test_published(void)
{
	static const struct {
		uint64_t batch, q;
		double tflops;
	} of[] = { { 32, 512, 430.3 }, { 16, 1024, 517.1 }, { 8, 2048, 565.5 },
		   { 4, 4096, 590.2 }, { 2, 8192, 614.2 },  { 1, 16384, 620.7 } };

	for (size_t i = 0; i < T_LEN(of); i++) {
		struct attention a = { of[i].batch, 16,    16,    128,     of[i].q,
				       of[i].q,     false, false, GPU_FP16 };
		struct layer_time t;

		attention_time(&t, h100, &a);
		T_OK(near(t.flops / t.ns / 1e3, of[i].tflops, 0.06),
		     "%llu keys: %.0f TFLOPS, measured %.0f", (unsigned long long)of[i].q,
		     t.flops / t.ns / 1e3, of[i].tflops);
	}
}

static void test_conv(void)
{
	const struct gpu *v100 = gpu_find("V100_SXM");
	struct conv c = { .n = 32,
			  .c = 64,
			  .h = 56,
			  .w = 56,
			  .k = 64,
			  .r = 3,
			  .s = 3,
			  .stride = 1,
			  .pad = 1,
			  .dilation = 1,
			  .groups = 1,
			  .type = GPU_FP16 };
	struct gemm x = {
		.m = 32 * 56 * 56, .n = 256, .k = 64, .batch = 1, .type = GPU_FP16, .out = GPU_FP16
	};
	struct gemm_time g;
	struct layer_time t, deep;
	uint64_t p, q;

	T_OK(conv_time(&t, h100, &c) == 0 && t.flops == 7398752256.0, "2 n p q k c r s operations");
	T_OK(t.bytes == 2.0 * (32 * 64 * 56 * 56 * 2 + 64 * 64 * 9),
	     "images, filters and result are moved once");
	c.r = c.s = 1, c.pad = 0, c.k = 256;
	conv_time(&t, h100, &c);
	gemm_time(&g, h100, &x);
	T_OK(near(t.ns, g.ns, 0.1), "filters of one pixel are a matrix product");
	c.k = 64, c.r = c.s = 3, c.pad = 1, c.groups = 64;
	T_OK(conv_time(&deep, h100, &c) == 0 && deep.flops == 7398752256.0 / 64,
	     "groups divide the work");
	/* Of 128 channels and filters, 32 images of 28 x 28: 36 products of 1,568 x 128 x 128 (1.85 GFLOP,
	 * a quarter), and 83.5 MB over memory: each of 12.8 MB and its spread of 28.9 MB, twice. */
	c = (struct conv){ 32, 128, 28, 28, 128, 3, 3, 1, 1, 1, 1, GPU_FP32 };
	x = (struct gemm){
		.m = 1568, .n = 128, .k = 128, .batch = 36, .type = GPU_FP32, .out = GPU_FP32
	};
	T_OK(conv_time(&t, v100, &c) == 0 && gemm_time(&g, v100, &x) == 0 &&
		     fabs(t.ns - g.ns - 2 * v100->launch_ns -
			  83.492864e6 / (0.85 * v100->memory_Bps) * 1e9) < 1 &&
		     t.flops == 7398752256.0,
	     "3 x 3 in fp32 is taken Winograd's way: %.0f us", t.ns / 1e3);
	c.stride = 2;
	c.h = c.w = 56;
	T_OK(conv_time(&deep, v100, &c) == 0 && deep.ns > 1.8 * t.ns && deep.flops == t.flops,
	     "with a stride the same operations take as long as their product");
	c = (struct conv){ 1, 3, 224, 200, 64, 7, 7, 2, 3, 1, 1, GPU_FP16 };
	T_OK(conv_out(&p, &q, &c) == 0 && p == 112 && q == 100,
	     "7 x 7 by steps of two halve 224 and 200");
	c.dilation = 2;
	T_OK(conv_out(&p, &q, &c) == 0 && p == 109, "spread filters reach further");
}

static void test_refused(void)
{
	struct layer_time t = { .ns = -1 };
	struct gpu none = *h100;
	/* clang-format off */
	static const struct attention bad[] = {
		{ 0, 8, 8, 128, 1, 1, false, false, GPU_FP16 }, { 1, 0, 8, 128, 1, 1, false, false, GPU_FP16 },
		{ 1, 8, 0, 128, 1, 1, false, false, GPU_FP16 }, { 1, 8, 3, 128, 1, 1, false, false, GPU_FP16 },
		{ 1, 8, 8, 0, 1, 1, false, false, GPU_FP16 },   { 1, 8, 8, 128, 2, 1, true, false, GPU_FP16 },
	};
	static const struct conv worse[] = {
		{ 0, 3, 8, 8, 8, 3, 3, 1, 0, 1, 1, GPU_FP16 }, { 1, 3, 8, 8, 8, 3, 3, 0, 0, 1, 1, GPU_FP16 },
		{ 1, 3, 8, 8, 8, 9, 3, 1, 0, 1, 1, GPU_FP16 }, { 1, 3, 8, 8, 8, 3, 3, 1, 0, 1, 2, GPU_FP16 },
	};
	/* clang-format on */
	for (size_t i = 0; i < T_LEN(bad); i++)
		T_OK(attention_time(&t, h100, &bad[i]) == -EINVAL && t.ns == -1,
		     "attention %zu that cannot be", i);
	for (size_t i = 0; i < T_LEN(worse); i++)
		T_OK(conv_time(&t, h100, &worse[i]) == -EINVAL && t.ns == -1,
		     "convolution %zu that cannot be", i);
	T_OK(attention_time(&t, h100,
			    &(struct attention){ 1ull << 40, 1, 1, 1ull << 40, 1, 1, false, false,
						 GPU_FP16 }) == -ERANGE,
	     "attention beyond all memory");
	T_OK(conv_time(&t, h100,
		       &(struct conv){ 1ull << 60, 3, 64, 64, 8, 3, 3, 1, 0, 1, 1, GPU_FP16 }) ==
			     -ERANGE &&
		     conv_time(&t, h100,
			       &(struct conv){ 1, 3, 64, 64, 8, 3, 3, 1, UINT64_MAX, 1, 1,
					       GPU_FP16 }) == -ERANGE,
	     "convolutions that overflow");
	T_OK(elementwise_time(&t, h100, 0, 1, GPU_FP16) == -EINVAL &&
		     elementwise_time(&t, h100, 1, 0, GPU_FP16) == -EINVAL &&
		     norm_time(&t, h100, 1, 0, GPU_FP16) == -EINVAL &&
		     pass_time(&t, h100, PASS_KINDS, 1) == -EINVAL,
	     "passes over nothing");
	T_OK(norm_time(&t, h100, UINT64_MAX, UINT64_MAX, GPU_FP16) == -ERANGE,
	     "more bytes than there are");
	T_OK(attention_time(&t, a100,
			    &(struct attention){ 1, 1, 1, 64, 1, 1, false, false, GPU_FP8 }) ==
		     -ENOTSUP,
	     "a type that the device lacks");
	none.memory_Bps = 0;
	T_OK(norm_time(&t, &none, 1, 1, GPU_FP16) == -ENOTSUP && t.ns == -1,
	     "a device whose memory is not known");
}

int main(void)
{
	h100 = gpu_find("H100_SXM");
	a100 = gpu_find("A100_SXM_80");
	test_passes();
	test_attention();
	test_published();
	test_conv();
	test_refused();
	return t_done();
}
