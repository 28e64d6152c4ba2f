/* SPDX-License-Identifier: Apache-2.0 */
#include "theory/op_work.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "t.h"

static const struct {
	const char *text;
	int want;
	uint32_t ins, outs;
} text[] = {
	/* clang-format off */
	{ "",                                 0,       0, 0 },
	{ "[]t6",                             0,       1, 0 },
	{ "[8,16]t6 [16,32]t15 > [8,32]t6",   0,       2, 1 },
	{ "[8]t6 - > - [3]t6 -",              0,       2, 3 },
	{ "> [1,2,3,4,5,6]t6",                0,       0, 1 },
	{ "[1]t6 [1]t6 [1]t6 [1]t6 [1]t6",    -E2BIG,  0, 0 },
	{ "[1,2,3,4,5,6,7]t6",                -EINVAL, 0, 0 },
	{ "[8,16",                            -EINVAL, 0, 0 },
	{ "[8,16]",                           -EINVAL, 0, 0 },
	{ "[8,16]t",                          -EINVAL, 0, 0 },
	{ "[8]t6[8]t6",                       -EINVAL, 0, 0 },
	{ "[-8]t6",                           -EINVAL, 0, 0 },
	{ "[99999999999999999999]t6",         -EINVAL, 0, 0 },
	{ "[8]t999",                          -EINVAL, 0, 0 },
	{ "[8]t6 > [8]t6 > [8]t6",            -EINVAL, 0, 0 },
	{ "[8]t6 [8]t6 causal",               0,       2, 0 },
	{ "[8]t6 causality",                  -EINVAL, 0, 0 },
	{ "flops=1 bytes=2 type=6",           0,       0, 0 },
	{ "flops=1 bytes=2",                  -EINVAL, 0, 0 },
	{ "flops=1 bytes=2 type=256",         -EINVAL, 0, 0 },
	{ "flops=1 bytes=2 type=6 gemm=1x2x3", -EINVAL, 0, 0 },
	{ "flops=1 bytes=2 type=6 [8]t6",     -EINVAL, 0, 0 },
	{ "flops=99999999999999999999 bytes=2 type=6", -EINVAL, 0, 0 },
	/* clang-format on */
};

static const struct {
	const char *name, *shapes;
	int want;
	uint64_t flops, bytes;
} work[] = {
	/* clang-format off */
	{ "aten::mm",      "[8,16]t6 [16,32]t6 > [8,32]t6",           0, 8192, 4 * (128 + 512 + 256) },
	{ "aten::addmm",   "[32]t6 [8,16]t6 [16,32]t6 > [8,32]t6",    0, 8192, 4 * (32 + 128 + 512 + 256) },
	{ "aten::addmm_",  "[8,32]t6 [8,16]t6 [16,32]t6 > [8,32]t6",  0, 8192, 4 * (256 + 128 + 512 + 256) },
	{ "aten::bmm",     "[4,8,16]t5 [4,16,2]t5 > [4,8,2]t5",       0, 2048, 2 * (512 + 128 + 64) },
	{ "aten::mm",      "[8,16]t6 [17,32]t6",                      -EINVAL, 0, 0 },
	{ "jit_f/dot.1",   "flops=8192 bytes=3584 type=6 gemm=8x32x16x1", 0, 8192, 3584 },
	{ "aten::mm",      "[8,16]t6",                                -EINVAL, 0, 0 },
	{ "aten::convolution", "[2,3,8,8]t6 [4,3,3,3]t6 [4]t6 > [2,4,6,6]t6", 0, 2 * 2 * 36 * 108, 4 * (384 + 108 + 4 + 288) },
	/* transposed: each point of x meets the whole weight */
	{ "aten::convolution", "[2,3,4,4]t6 [3,5,2,2]t6 > [2,5,8,8]t6", 0, 2 * 2 * 16 * 60, 4 * (96 + 60 + 640) },
	{ "aten::convolution_backward", "[2,4,6,6]t6 [2,3,8,8]t6 [4,3,3,3]t6 > [2,3,8,8]t6 [4,3,3,3]t6 [4]t6",
	  0, 2 * (2 * 2 * 36 * 108), 4 * (288 + 384 + 108 + 384 + 108 + 4) },
	{ "aten::convolution_backward", "[2,4,6,6]t6 [2,3,8,8]t6 [4,3,3,3]t6 > - [4,3,3,3]t6 [4]t6",
	  0, 2 * 2 * 36 * 108, 4 * (288 + 384 + 108 + 108 + 4) },
	{ "aten::convolution", "[2,3,8,8]t6 [4,3,3,3]t6",             -EINVAL, 0, 0 },
	{ "aten::_scaled_dot_product_flash_attention_for_cpu", "[1,2,10,8]t6 [1,2,12,8]t6 [1,2,12,6]t6 > [1,2,10,6]t6",
	  0, 2 * 2 * 10 * 12 * (8 + 6), 4 * (160 + 192 + 144 + 120) },
	{ "aten::_scaled_dot_product_flash_attention_for_cpu_backward", "[1,2,10,6]t6 [1,2,10,8]t6 [1,2,12,8]t6 [1,2,12,6]t6",
	  0, 2 * 2 * 10 * 12 * (3 * 8 + 2 * 6), 4 * (120 + 160 + 192 + 144) },
	{ "aten::add",     "[4,1]t6 [4,8]t6 > [4,8]t6",               0, 32, 4 * (4 + 32 + 32) },
	{ "aten::mul_",    "[10]t4 []t4 > [10]t4",                    0, 0, 8 * 21 },
	{ "aten::relu",    "[10]t15",                                 0, 10, 40 },
	{ "aten::sum",     "[10,10]t6 > []t6",                        0, 100, 404 },
	{ "aten::native_layer_norm", "[2,16]t6 [16]t6 [16]t6 > [2,16]t6 [2,1]t6 [2,1]t6", 0, 256, 4 * (64 + 32 + 4) },
	{ "aten::embedding", "[50000,64]t6 [8]t4 > [8,64]t6",         0, 0, 2 * 4 * 512 + 64 },
	/* of a trace that says no results */
	{ "aten::addmm",   "[768]t15 [788,768]t15 [768,768]t15",      0, 2ull * 788 * 768 * 768, 3601920 },
	{ "aten::bmm",     "[4,8,16]t5 [4,16,2]t5",                   0, 2048, 2 * (512 + 128 + 64) },
	{ "aten::mul",     "[4,8]t6 [4,1]t6",                         0, 32, 4 * (32 + 4 + 32) },
	{ "aten::mul",     "[8]t6 [4,8]t6",                           0, 32, 4 * (8 + 32 + 32) },
	{ "aten::mul",     "[4,8]t6 []t7 [4,8]t6",                    0, 32, 4 * 64 + 8 },
	{ "aten::clamp_min", "[4,8]t6 [4,8]t6",                       0, 32, 4 * 64 },
	{ "aten::mm",      "[8,16]t6 [16,32]t6 [8,32]t6",             0, 8192, 4 * (128 + 512 + 256) },
	{ "aten::mul",     "[4,8]t6 [4,8]t6",                         0, 32, 4 * 96 },
	{ "aten::copy_",   "[10]t15 [10]t6",                          0, 0, 20 + 40 },
	{ "aten::embedding", "[50000,64]t6 [8]t4",                    0, 0, 2 * 4 * 512 + 64 },
	{ "aten::_scaled_dot_product_flash_attention", "[16,16,559,64]t15 [16,16,559,64]t15 [16,16,559,64]t15 causal",
	  0, 10239377408, 4 * 2 * 9158656 },
	{ "aten::view",    "[8]t6 > [8]t6",                           -ENOENT, 0, 0 },
	{ "mm",            "[8,16]t6 [16,32]t6",                      -ENOENT, 0, 0 },
	{ "aten::mm",      "[4294967296,4294967296]t6 [4294967296,2]t6", -ERANGE, 0, 0 },
	{ "aten::mm",      "[0,16]t6 [16,32]t6 > [0,32]t6",           0, 0, 2048 },
	/* clang-format on */
};

int main(void)
{
	struct op_shapes s;
	struct op_work w;
	char again[OP_COUNTED_MAX];
	struct op_gemm g;
	int err;

	for (size_t i = 0; i < T_LEN(text); i++) {
		err = op_shapes_parse(&s, text[i].text);
		T_OK(err == text[i].want &&
			     (err || (s.ins == text[i].ins && s.outs == text[i].outs)),
		     "shapes '%s' are %s", text[i].text, text[i].want ? "refused" : "read");
	}
	for (size_t i = 0; i < T_LEN(work); i++) {
		op_shapes_parse(&s, work[i].shapes);
		err = op_work(&w, work[i].name, &s);
		T_OK(err == work[i].want &&
			     (err || (w.flops == work[i].flops && w.bytes == work[i].bytes)),
		     "%s of %s", work[i].name, work[i].shapes);
		if (!err)
			printf("# %" PRIu64 " operations, %" PRIu64 " bytes\n", w.flops, w.bytes);
	}
	T_OK(!op_shapes_parse(&s, "[4]t15 [3,8,16]t15 [3,16,4]t15") &&
		     !op_gemm(&g, "aten::baddbmm", &s) && g.m == 8 && g.n == 4 && g.k == 16 &&
		     g.batch == 3 && g.type == 15,
	     "a product's sizes are told");
	T_OK(op_gemm(&g, "aten::add", &s) == -ENOENT, "a sum is no product");
	T_OK(!op_shapes_parse(&s, "flops=8192 bytes=9 type=15 gemm=8x32x16x1") &&
		     !op_gemm(&g, "jit_f/dot.1", &s) && g.m == 8 && g.n == 32 && g.k == 16 &&
		     g.batch == 1 && g.type == 15,
	     "a product that a compiler has counted");
	op_counted_text(again, &s.work, &s.gemm);
	T_OK(!strcmp(again, "flops=8192 bytes=9 type=15 gemm=8x32x16x1"),
	     "is written as it is read");
	return t_done();
}
