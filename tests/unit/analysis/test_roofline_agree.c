/* SPDX-License-Identifier: Apache-2.0 */
/* What aond says of a kernel while it runs and what a trace of it says afterwards: the same. */
#include <math.h>
#include <string.h>

#include "daemon/stream/roofline_live.h"
#include "insight/insight.h"
#include "t.h"
#include "tracekit.h"

#define DEVICE "NVIDIA H100 80GB HBM3"
#define MUL                                                                                   \
	"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, " \
	"float, float, at::native::binary_internal::MulFunctor<float> >, "                    \
	"std::array<char*, 3ul> >(int)"

enum { NAME = 10, GEO = 20, CALLS = 8 };

static const struct {
	const char *what, *kernel, *op, *shapes;
	uint64_t ns;
	uint32_t blocks;
} cases[] = {
	/* clang-format off */
	{ "a product on tensor cores", "sm90_xmma_gemm_bf16bf16_tilesize128x128x64", "aten::mm",
	  "[4096,1024]t15 [1024,512]t15 > [4096,512]t15", 20000, 128 },
	{ "one near its roof", "sm90_xmma_gemm_bf16bf16_tilesize128x128x64", "aten::mm",
	  "[8192,8192]t15 [8192,8192]t15 > [8192,8192]t15", 1400000, 4096 },
	{ "one with small tiles",
	  "sm90_xmma_gemm_bf16bf16_tilesize16x16x64", "aten::mm",
	  "[4096,4096]t15 [4096,4096]t15 > [4096,4096]t15", 200000, 65536 },
	{ "a product whose name says no type", "gemm_kernel", "aten::mm",
	  "[512,512]t5 [512,512]t5 > [512,512]t5", 8000, 64 },
	{ "an attention, no product", "flash_fwd_kernel", "aten::_scaled_dot_product_flash_attention",
	  "[4,16,1024,64]t15 [4,16,1024,64]t15 [4,16,1024,64]t15 > [4,16,1024,64]t15", 60000, 512 },
	{ "an operator of memory alone", MUL, "aten::mul",
	  "[1048576]t6 [1048576]t6 > [1048576]t6", 5000, 2048 },
	{ "a kernel whose name tells its work", MUL, NULL, NULL, 5000, 2048 },
	{ "a product by its loops", "r_32_32_8_8_128_4", NULL, NULL, 9000, 1024 },
	{ "one that nothing is known of", "mystery", NULL, NULL, 9000, 1024 },
	/* clang-format on */
};

static struct geo geo_of(size_t i)
{
	return (struct geo){ .grid = { cases[i].blocks, 1, 1 }, .block = { 128, 1, 1 } };
}

static uint32_t live(size_t i)
{
	struct rollup r = { .kind = EVENT_KERNEL,
			    .name = NAME,
			    .geo = GEO,
			    .count = CALLS,
			    .total_ns = CALLS * cases[i].ns };
	struct window w = { .rows = 1, .row = &r };
	struct geo g = geo_of(i);
	struct op_known o;
	struct judge *j;

	kit_must(judge_new(&j, gpu_find(DEVICE)) == 0, "judge");
	judge_name(j, NAME, cases[i].kernel);
	judge_geo(j, GEO, &g);
	for (int k = 0; k < CALLS && cases[i].op; k++) {
		kit_must(op_known(&o, cases[i].op, cases[i].shapes) == 0, "a formula");
		judge_learn(j, NAME, GEO, &o);
	}
	judge_window(j, &w);
	judge_free(j);
	return r.verdict;
}

static struct insight *after(struct kit *kit, size_t i)
{
	struct geo g = geo_of(i);
	struct insight *in;
	uint32_t geo;

	kit_must(trace_new(&kit->t) == 0 && trace_geo(kit->t, &g, &geo) == 0, "trace");
	kit_file(kit, 0);
	for (uint32_t k = 0; k < CALLS; k++) {
		uint64_t at = 1000 + k * 10 * cases[i].ns;
		struct event api = { .kind = EVENT_API,
				     .start_ns = at + 10,
				     .dur_ns = 5,
				     .corr = k + 1,
				     .name = kit_name(kit, "cuLaunchKernel") };
		struct event kernel = { .kind = EVENT_KERNEL,
					.start_ns = at + 100,
					.dur_ns = cases[i].ns,
					.corr = k + 1,
					.a = geo,
					.name = kit_name(kit, cases[i].kernel) };

		if (cases[i].op) {
			struct event op = { .kind = EVENT_RANGE,
					    .a = TRACE_OP,
					    .b = trace_op(false, 0, kit_name(kit, cases[i].shapes)),
					    .start_ns = at,
					    .dur_ns = 50,
					    .name = kit_name(kit, cases[i].op) };

			kit_add(kit, &op, -1, 1);
		}
		kit_add(kit, &api, -1, 1);
		kit_add(kit, &kernel, 0, 7);
	}
	kit->t->device[0].name = kit_name(kit, DEVICE);
	kit_must(trace_seal(kit->t) == 0 && insight_new(&in, kit->t) == 0, "insight");
	return in;
}

int main(void)
{
	for (size_t i = 0; i < T_LEN(cases); i++) {
		struct kit kit = { 0 };
		struct insight *in = after(&kit, i);
		const struct roof_row *r = &in->roofs.row[0];
		uint32_t v = live(i), how = r->work.how == WORK_SHAPES ? WORK_SEEN : r->work.how;
		bool unknown = !v && r->is.limit == ROOF_UNKNOWN;

		T_OK(in->roofs.rows == 1 &&
			     (unknown || v == rollup_verdict(r->is.limit, how, r->is.fraction)),
		     "%s: %s at %g, by %s", cases[i].what, roof_limit_word[r->is.limit],
		     r->is.fraction, work_how_word[r->work.how]);
		insight_free(in);
		trace_free(kit.t);
	}
	return t_done();
}
