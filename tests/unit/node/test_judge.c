/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that say what limits their kernels: judged, stored, read again; the node's GPUs. */
#include "daemon/stream/roofline_live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agg/roll.h"
#include "daemon/stream/shape_learner.h"
#include "model/event.h"
#include "store/store.h"
#include "t.h"
#include "theory/roofline.h"

#define MUL                                                                                   \
	"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, " \
	"float, "                                                                             \
	"float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)"

enum { NAME_MUL = 10, NAME_GEMM, NAME_NEW, NAME_HTOD, NAME_DTOH, NAME_OTHER, GEO_A = 20, GEO_B };

static struct rollup seen[8];
static uint32_t rows;

struct judging {
	struct judge *judge;
	struct store *store;
};

static void take(void *arg, const struct window *w)
{
	struct judging *x = arg;

	judge_window(x->judge, w);
	for (uint32_t i = 0; i < w->rows && rows < T_LEN(seen); i++) {
		seen[rows] = w->row[i];
		seen[rows++].sketch = (struct sketch){ 0 };
	}
	store_window(x->store, w);
}

static const struct rollup *row_of(uint32_t name)
{
	for (uint32_t i = 0; i < rows; i++)
		if (seen[i].name == name)
			return &seen[i];
	return NULL;
}

static struct event kernel(uint32_t name, uint32_t geo, uint64_t ns)
{
	static uint64_t at = 5 * WINDOW_NS;

	at += 2000;
	return (struct event){ .kind = EVENT_KERNEL,
			       .start_ns = at,
			       .dur_ns = ns,
			       .track = 1,
			       .name = name,
			       .a = geo };
}

static struct event copy(uint32_t name, uint64_t bytes, uint64_t ns)
{
	struct event e = kernel(name, 0, ns);

	e.kind = EVENT_COPY;
	e.a = bytes;
	return e;
}

static int see(void *arg, const struct window *w)
{
	uint32_t *with = arg;

	for (uint32_t i = 0; i < w->rows; i++)
		*with += w->row[i].verdict && w->row[i].name == NAME_MUL &&
			 rollup_limit(w->row[i].verdict) == ROOF_MEMORY;
	return 0;
}

/* 2^20 elements of fp32, read twice and written once, in 5 us of an H100: 12.6 MB at 3.352 TB/s
 * are 3.75 us. */
static void judged(const char *dir)
{
	struct geo a = { .grid = { 2048, 1, 1 }, .block = { 128, 1, 1 } }, b = a;
	const struct gpu *g = gpu_find("H100_SXM");
	struct judging x = { NULL, NULL };
	struct store_filter all = { 0 };
	const struct rollup *r;
	struct roll *roll;
	uint32_t with = 0;
	char path[300];

	snprintf(path, sizeof(path), "%s/store.db", dir);
	b.grid[0] = 1;
	T_OK(g && !judge_new(&x.judge, g) &&
		     !store_open_rw(&x.store, path, &(struct store_opts){ .create = true }, NULL),
	     "a judge of an H100");
	judge_name(x.judge, NAME_MUL, MUL);
	judge_name(x.judge, NAME_NEW, MUL);
	judge_name(x.judge, NAME_GEMM, "sm90_xmma_gemm_bf16bf16_tilesize128x128x64");
	judge_name(x.judge, NAME_HTOD, "Memcpy HtoD (Pinned -> Device)");
	judge_name(x.judge, NAME_DTOH, "Memcpy DtoH (Device -> Pageable)");
	judge_name(x.judge, NAME_OTHER, "Memcpy HtoH (Pinned -> Pinned)");
	judge_geo(x.judge, GEO_A, &a);
	judge_geo(x.judge, GEO_B, &b);
	roll_new(&roll, &(struct roll_opts){
				.process = 1, .rows_max = 64, .name_other = 1, .geos = true });
	for (int i = 0; i < 100; i++) {
		struct event e[] = { kernel(NAME_MUL, GEO_A, 4000 + 20 * (uint64_t)i),
				     kernel(NAME_GEMM, GEO_A, 5000),
				     kernel(NAME_NEW, i % 2 ? GEO_A : GEO_B, 5000),
				     copy(NAME_HTOD, 1000000, 40000),
				     copy(NAME_DTOH, 4, 1500),
				     copy(NAME_OTHER, 1000000, 40000) };

		roll_add(roll, e, T_LEN(e), take, &x);
	}
	roll_close(roll, UINT64_MAX, take, &x);
	r = row_of(NAME_MUL);
	T_OK(r && rollup_limit(r->verdict) == ROOF_MEMORY && rollup_how(r->verdict) == WORK_NAME &&
		     r->bytes == 0,
	     "an elementwise kernel near the memory's rate is limited by memory");
	T_OK(r && fabs(rollup_fraction(r->verdict) - 12582912 / g->memory_Bps * 1e9 / 4990) < 0.006,
	     "at its share of that rate");
	r = row_of(NAME_GEMM);
	T_OK(r && !r->verdict, "a product whose sums nobody says is not judged");
	r = row_of(NAME_NEW);
	T_OK(r && r->geo == ROLLUP_NO_GEO && !r->verdict, "nor is a name of several geometries");
	r = row_of(NAME_HTOD);
	T_OK(r && rollup_limit(r->verdict) == ROOF_LINK && rollup_how(r->verdict) == WORK_RECORD &&
		     fabs(rollup_fraction(r->verdict) - 25e9 / g->pcie_Bps) < 0.006,
	     "copies to the device are limited by its link, at their share of it");
	r = row_of(NAME_DTOH);
	T_OK(r && rollup_limit(r->verdict) == ROOF_LATENCY, "small ones by their latency");
	r = row_of(NAME_OTHER);
	T_OK(r && !r->verdict, "of the host's own nothing is said");
	store_commit(x.store, 0);
	T_OK(!store_each_window(x.store, &all, see, &with) && with == 1,
	     "what a window says of limits is in the store");
	roll_free(roll);
	judge_free(x.judge);
	store_close(x.store);
}

/* --- what was seen --- */

struct learning {
	struct judge *judge;
	struct store *store;
	struct learn *learn;
	uint32_t mm, linear, shapes, other, op_track, call_track, gemm, tail;
	uint64_t at;
};

/* aten::linear around aten::mm, which launches two kernels; the longer is `gemm`. Kernels come
 * before their calls, and operators last, inner ones first. */
static void call_mm(struct learning *x, uint32_t shapes, uint32_t corr)
{
	uint64_t t = x->at += 100000;
	struct event e[] = {
		{ .kind = EVENT_KERNEL,
		  .start_ns = t + 9000,
		  .dur_ns = 2000,
		  .name = x->tail,
		  .a = GEO_A,
		  .corr = corr + 1 },
		{ .kind = EVENT_KERNEL,
		  .start_ns = t + 4000,
		  .dur_ns = 5000,
		  .name = x->gemm,
		  .a = GEO_A,
		  .corr = corr },
		{ .kind = EVENT_API,
		  .start_ns = t + 1200,
		  .dur_ns = 100,
		  .track = x->call_track,
		  .corr = corr },
		{ .kind = EVENT_API,
		  .start_ns = t + 1400,
		  .dur_ns = 100,
		  .track = x->call_track,
		  .corr = corr + 1 },
		{ .kind = EVENT_OP,
		  .start_ns = t + 1000,
		  .dur_ns = 1000,
		  .track = x->op_track,
		  .name = x->mm,
		  .a = (uint64_t)shapes << 1 },
		{ .kind = EVENT_OP,
		  .start_ns = t,
		  .dur_ns = 3000,
		  .track = x->op_track,
		  .name = x->linear,
		  .a = (uint64_t)x->other << 1 },
	};

	for (size_t i = 0; i < T_LEN(e); i++)
		learn_events(x->learn, &e[i], 1);
}

static uint32_t how_of(struct learning *x, uint32_t name, uint64_t ns)
{
	struct rollup r = {
		.kind = EVENT_KERNEL, .name = name, .geo = GEO_A, .count = 1, .total_ns = ns
	};
	struct window w = { .rows = 1, .row = &r };

	judge_window(x->judge, &w);
	return r.verdict;
}

static uint32_t named(struct learning *x, const char *text)
{
	uint32_t id = 0;

	store_name(x->store, text, strlen(text), &id);
	judge_name(x->judge, id, text);
	return id;
}

static void learnt(const char *dir)
{
	struct track op = { .process = 1, .device = TRACK_HOST, .stream = 77 }, api = op;
	struct geo a = { .grid = { 64, 1, 1 }, .block = { 128, 1, 1 } };
	struct learning x = { .at = 1000000000 };
	uint32_t v, longer;
	char path[300];

	snprintf(path, sizeof(path), "%s/learn.db", dir);
	api.context = 1; /* another track of the same thread */
	T_OK(!judge_new(&x.judge, gpu_find("H100_SXM")) &&
		     !store_open_rw(&x.store, path, &(struct store_opts){ .create = true }, NULL) &&
		     !learn_new(&x.learn, x.judge, x.store),
	     "a node that learns");
	judge_geo(x.judge, GEO_A, &a);
	x.mm = named(&x, "aten::mm");
	x.linear = named(&x, "aten::linear");
	x.shapes = named(&x, "[4096,1024]t15 [1024,512]t15 > [4096,512]t15");
	longer = named(&x, "[4096,8192]t15 [8192,512]t15 > [4096,512]t15");
	x.other = named(&x, "[512,1024]t15");
	x.gemm = named(&x, "sm90_xmma_gemm_bf16bf16_tilesize128x128x64");
	x.tail = named(&x, "splitKreduce_kernel");
	store_track(x.store, &op, &x.op_track);
	store_track(x.store, &api, &x.call_track);
	T_OK(!how_of(&x, x.gemm, 20000), "at first a product is not judged");
	for (uint32_t i = 0; i < 40; i++)
		call_mm(&x, x.shapes, 100 + 2 * i);
	learn_settle(x.learn, true);
	v = how_of(&x, x.gemm, 20000);
	/* 4.3 GFLOP at 989 TFLOP/s are 4.3 us, 13.6 MB at 3.352 TB/s 4.07: of 20 us. */
	T_OK(rollup_how(v) == WORK_SEEN && fabs(rollup_fraction(v) - 0.217) < 0.01,
	     "then by the shapes that it was seen with, on tensor cores: %g", rollup_fraction(v));
	T_OK(!how_of(&x, x.tail, 20000),
	     "the shorter kernel of the same operator has not its work");
	for (uint32_t i = 0; i < 100; i++)
		call_mm(&x, i % 2 ? x.shapes : longer, 1000 + 2 * i);
	learn_settle(x.learn, true);
	T_OK(!how_of(&x, x.gemm, 20000),
	     "seen with other sums and the same geometry, it is unknown again");
	learn_free(x.learn);
	judge_free(x.judge);
	store_close(x.store);
}

static void describe(const char *dir, const char *gpu, const char *text)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, gpu);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/information", dir, gpu);
	f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void node(const char *dir)
{
	const struct gpu *h = gpu_find("H100_SXM");
	uint32_t gpus = 7;

	T_OK(!judge_node("/nonexistent/gpus", &gpus) && !gpus && !judge_node(dir, &gpus) && !gpus,
	     "a node without GPUs has none");
	describe(dir, "0000:1a:00.0", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 82\n");
	T_OK(h && judge_node(dir, &gpus) == h, "the driver's model is known");
	describe(dir, "0000:1b:00.0", "Model: \t\t NVIDIA H100 80GB HBM3\n");
	T_OK(judge_node(dir, &gpus) == h && gpus == 2, "two of one kind are one");
	describe(dir, "0000:1c:00.0", "IRQ: 7\n");
	T_OK(judge_node(dir, &gpus) == h, "what has no model does not count");
	describe(dir, "0000:1d:00.0", "Model: Tesla T4\n");
	T_OK(!judge_node(dir, &gpus) && gpus == 3, "two kinds are not judged, but counted");
	describe(dir, "0000:1d:00.0", "Model: a device of tomorrow\n");
	T_OK(!judge_node(dir, &gpus), "nor is one that is not known");
}

int main(void)
{
	char dir[] = "/tmp/aon-judge-XXXXXX", cmd[300];

	if (!mkdtemp(dir))
		t_skip_all("no directory for temporary files");
	node(dir);
	judged(dir);
	learnt(dir);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	if (system(cmd))
		fprintf(stderr, "%s stays\n", dir);
	return t_done();
}
