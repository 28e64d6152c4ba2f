/* SPDX-License-Identifier: Apache-2.0 */
/* model_gemm.c - aon model gemm: how long a matrix product should take. */
#include <errno.h>
#include <math.h>

#include "cli/model/model.h"
#include "cli/model/nvmmh.h"
#include "theory/gemm.h"

/* What is asked, as it would take alone on an idle device, and among other kernels. */
struct answer {
	struct gemm x;
	struct gemm_time alone, busy;
	double roof_ns; /* the greater of operations at the peak and bytes at the bandwidth */
	struct nvmmh_time other; /* a second opinion; ns is 0 if none was asked for */
};

static const enum gpu_type out_of[GPU_TYPES] = {
	[GPU_FP64] = GPU_FP64, [GPU_FP32] = GPU_FP32, [GPU_TF32] = GPU_FP32, [GPU_FP16] = GPU_FP16,
	[GPU_BF16] = GPU_BF16, [GPU_FP8] = GPU_BF16,  [GPU_FP4] = GPU_BF16,  [GPU_INT8] = GPU_FP32,
};

static int read_options(struct gemm *x, const struct opts *o)
{
	const struct {
		enum opt_id id;
		uint64_t *to;
	} size[] = { { OPT_M, &x->m }, { OPT_N, &x->n }, { OPT_K, &x->k } };
	int rc = CLI_OK;

	for (size_t i = 0; i < sizeof(size) / sizeof(*size) && rc == CLI_OK; i++)
		rc = model_need(o, size[i].id, size[i].to);
	if (rc == CLI_OK)
		rc = model_size(o, OPT_BATCH, &x->batch);
	if (rc == CLI_OK)
		rc = model_type(o, OPT_DTYPE, &x->type);
	x->out = out_of[x->type];
	return rc == CLI_OK ? model_type(o, OPT_OUT, &x->out) : rc;
}

static void tile_json(struct json *j, uint32_t m, uint32_t n, uint32_t split_k)
{
	json_open(j, "tile", '[');
	json_u64(j, NULL, m);
	json_u64(j, NULL, n);
	json_close(j);
	json_u64(j, "split_k", split_k);
}

static void time_json(struct json *j, const struct gemm_time *t, double roof_ns)
{
	json_members(j, J_REAL("ns", t->ns), J_STR("limiter", t->limiter),
		     J_REAL("tflops", t->flops / t->ns / 1e3),
		     J_REAL("roof_fraction", roof_ns / t->ns));
	tile_json(j, t->tile_m, t->tile_n, t->split_k);
	json_members(j, J_REAL("waves", t->waves), J_REAL("wave_efficiency", t->wave_efficiency),
		     J_REAL("memory_bytes", t->bytes));
	json_object(j, "parts_ns", J_REAL("start", t->start_ns), J_REAL("tiles", t->tiles_ns),
		    J_REAL("memory", t->memory_ns), J_REAL("split", t->split_ns));
}

static void print_json(const struct answer *a, const struct gpu *g)
{
	struct json j;

	model_json(&j, "gemm", g);
	json_members(&j, J_U64("m", a->x.m), J_U64("n", a->x.n), J_U64("k", a->x.k),
		     J_U64("batch", a->x.batch), J_STR("dtype", gpu_type_word[a->x.type]),
		     J_STR("out", gpu_type_word[a->x.out]), J_REAL("flops", a->alone.flops),
		     J_REAL("roof_ns", a->roof_ns), J_STR("constants", a->alone.constants),
		     J_BOOL("fitted", a->alone.fitted));
	time_json(&j, &a->alone, a->roof_ns);
	json_open(&j, "busy", '{');
	time_json(&j, &a->busy, a->roof_ns);
	json_close(&j);
	if (a->other.ns > 0) {
		json_open(&j, "second_opinion", '{');
		json_members(&j, J_STR("source", nvmmh_version()), J_REAL("ns", a->other.ns));
		tile_json(&j, a->other.tile_m, a->other.tile_n, a->other.split_k);
	}
	json_end(&j);
}

/* Times of a model have no more than three digits that mean something. */
static const char *ns_text(const struct out *out, char buf[FMT_LEN], double ns)
{
	return out_time(out, buf, FMT_LEN, (uint64_t)llround(ns));
}

static void print_tile(const struct out *out, uint32_t m, uint32_t n, uint32_t split_k)
{
	if (split_k > 1)
		out_line(out, OUT_PLAIN, "                tiles of %u x %u, k in %u parts", m, n,
			 split_k);
	else
		out_line(out, OUT_PLAIN, "                tiles of %u x %u", m, n);
}

static void print_time(const struct out *out, const char *where, const struct gemm_time *t,
		       double roof_ns)
{
	char a[FMT_LEN], b[FMT_LEN], c[FMT_LEN];

	out_line(out, OUT_BOLD, "  %-13s %s, limited by %s: %s TFLOPS, %s %% of the roofline bound",
		 where, ns_text(out, a, t->ns), t->limiter, fmt_value(b, t->flops / t->ns / 1e3, 2),
		 fmt_percent(c, roof_ns / t->ns));
	print_tile(out, t->tile_m, t->tile_n, t->split_k);
	out_line(out, OUT_PLAIN, "                %s waves, %s %% of the SMs' turns have a tile",
		 fmt_value(a, t->waves, 2), fmt_percent(b, t->wave_efficiency));
	out_line(out, OUT_PLAIN, "                start %s, tiles %s",
		 ns_text(out, a, t->start_ns + t->split_ns), ns_text(out, b, t->tiles_ns));
	if (t->bytes > 0)
		out_line(out, OUT_PLAIN, "                meanwhile memory %s for %s",
			 ns_text(out, a, t->memory_ns), fmt_bytes(b, (uint64_t)t->bytes));
}

static void print_text(const struct answer *a, const struct gpu *g, const struct opts *o)
{
	char batch[48] = "", time[FMT_LEN], flops[FMT_LEN];
	struct out out;

	out_init(&out, stdout, o);
	if (a->x.batch > 1)
		snprintf(batch, sizeof(batch), "%llu times ", (unsigned long long)a->x.batch);
	out_line(&out, OUT_PLAIN, "%s%llu x %llu x %llu, %s to %s, on %s", batch,
		 (unsigned long long)a->x.m, (unsigned long long)a->x.n, (unsigned long long)a->x.k,
		 gpu_type_word[a->x.type], gpu_type_word[a->x.out], g->name);
	print_time(&out, "alone", &a->alone, a->roof_ns);
	print_time(&out, "in a stream", &a->busy, a->roof_ns);
	if (a->other.ns > 0) {
		out_line(&out, OUT_BOLD, "  %-13s %s: %s TFLOPS", nvmmh_version(),
			 ns_text(&out, time, a->other.ns),
			 fmt_value(flops, a->alone.flops / a->other.ns / 1e3, 2));
		print_tile(&out, a->other.tile_m, a->other.tile_n, a->other.split_k);
	}
	if (!a->alone.fitted)
		out_line(&out, OUT_WARN,
			 "  Nothing was measured on this device and type: constants of %s.",
			 a->alone.constants);
}

static int ask_second(struct answer *a, const struct gpu *g)
{
	int err = nvmmh_open(NULL);

	if (err == -ENOENT)
		return cli_say(CLI_FAIL,
			       "no nvMatmulHeuristics is here. Install it (pip install "
			       "nvidia-matmul-heuristics), or set AON_NVMMH to its library");
	if (err < 0)
		return cli_say(CLI_FAIL,
			       "this nvMatmulHeuristics cannot be used: its version has to "
			       "be 0.1");
	err = nvmmh_gemm(&a->other, g, &a->x);
	if (err == -ENOTSUP)
		return cli_say(CLI_FAIL, "%s does not know %s of %s", nvmmh_version(),
			       gpu_type_word[a->x.type], g->key);
	if (err < 0)
		return cli_say(CLI_FAIL, "too large for %s", nvmmh_version());
	return CLI_OK;
}

static int answer(struct answer *a, const struct gpu *g, const struct opts *o)
{
	int err = gemm_time(&a->busy, g, &a->x);

	a->x.alone = true;
	err = err ? err : gemm_time(&a->alone, g, &a->x);
	if (err < 0)
		return model_failed(err, g, a->x.type);
	a->roof_ns = 1e9 * fmax(a->busy.flops / gpu_peak(g, a->x.type),
				gemm_bytes(&a->x) / g->memory_Bps);
	return o->val[OPT_SECOND] ? ask_second(a, g) : CLI_OK;
}

int model_gemm(const struct opts *o, const struct gpu *g)
{
	struct answer a = { .x = { .batch = 1, .type = GPU_BF16 } };
	int rc = read_options(&a.x, o);

	if (rc == CLI_OK)
		rc = answer(&a, g, o);
	if (rc == CLI_OK && o->val[OPT_JSON])
		print_json(&a, g);
	else if (rc == CLI_OK)
		print_text(&a, g, o);
	return rc;
}
