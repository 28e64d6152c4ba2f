/* SPDX-License-Identifier: Apache-2.0 */
/*
 * validate_measure.c - the quick tests of aon validate, each in a process of its own with a time
 * limit: the host's memory, each GPU through CUDA (without any, the first device of OpenCL), an
 * all-reduce among them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/node/validate.h"
#include "measure/host.h"
#include "measure/library.h"
#include "measure/measure.h"
#include "theory/collective.h"
#include "theory/gemm.h"
#include "validate/sandbox.h"
#include "validate/expect.h"

#define HOST_MS   30000u
#define DEVICE_MS 60000u
#define NCCL_MS   60000u
#define GEMM_N    8192u

struct test {
	uint32_t index;
	bool opencl, tty;
	double host_GBps; /* what the host's memory carries; 0: not known */
	struct sandbox *a;
};

/* On a terminal one line that changes; elsewhere nothing. */
static void progress(void *arg, const char *what)
{
	const struct test *t = arg;

	sandbox_at(t->a, "device %u: %s", t->index, what);
	if (t->tty)
		fprintf(stderr, "\r\033[Kmeasuring device %u: %s", t->index, what);
}

static void clear(bool tty)
{
	if (tty)
		fputs("\r\033[K", stderr);
}

static void put(struct sandbox *a, const struct test *t, const char *word, double v,
		const struct expect *e)
{
	char key[FACT_KEY];

	snprintf(key, sizeof(key), "measured/%u/%s", t->index, word);
	if (v <= 0)
		return;
	facts_set(&a->f, key, "%.4g", v);
	if (e)
		expect_set(&a->f, key, e);
}

/* --- the host's memory --- */

static void test_host(struct sandbox *a, void *arg)
{
	const struct test *t = arg;
	struct host_result r;

	sandbox_at(a, "the host's memory");
	if (t->tty)
		fputs("\r\033[Kmeasuring the host's memory", stderr);
	a->err = host_measure(&r);
	if (a->err)
		return;
	facts_set(&a->f, "measured/host/threads", "%u", r.threads);
	facts_set(&a->f, "measured/host/copy_GBps", "%.4g", r.copy_Bps / 1e9);
	facts_set(&a->f, "measured/host/triad_GBps", "%.4g", r.triad_Bps / 1e9);
}

/* --- a device --- */

/* What a GPU of the table reaches. */
static void of_gpu(struct sandbox *a, const struct test *t, const struct measure *m,
		   const struct gpu *g)
{
	put(a, t, "memory_GBps", m->gpu.memory_Bps / 1e9,
	    &(struct expect){ g->memory_Bps / 1e9, 80, 60, "table: memory of the device" });
	put(a, t, "fp32_GFLOPS", m->gpu.vector_flops[GPU_FP32] / 1e9,
	    &(struct expect){ g->vector_flops[GPU_FP32] / 1e9, 80, 60,
			      "table: fp32 without tensor cores" });
	put(a, t, "bf16_GFLOPS", m->gpu.tensor_flops[GPU_BF16] / 1e9,
	    &(struct expect){ g->tensor_flops[GPU_BF16] / 1e9, 70, 50,
			      "table: bf16 with tensor cores" });
	put(a, t, "from_host_GBps", m->gpu.pcie_Bps / 1e9,
	    &(struct expect){ g->pcie_Bps / 1e9, 70, 50, "table: the device's bus" });
	put(a, t, "to_host_GBps", m->out_Bps / 1e9,
	    &(struct expect){ g->pcie_Bps / 1e9, 70, 50, "table: the device's bus" });
	put(a, t, "own_gemm_GFLOPS", m->gemm_flops / 1e9,
	    &(struct expect){ g->vector_flops[GPU_FP32] / 1e9, 20, 8,
			      "table: fp32; a kernel that is not tuned" });
}

/* A device that no table knows, a CPU with them: what it reached in one test against another. */
static void of_other(struct sandbox *a, const struct test *t, const struct measure *m, bool cpu)
{
	struct expect host = { t->host_GBps, 30, 10, "the host's memory in this run" };

	put(a, t, "memory_GBps", m->gpu.memory_Bps / 1e9, cpu ? &host : NULL);
	put(a, t, "fp32_GFLOPS", m->gpu.vector_flops[GPU_FP32] / 1e9, NULL);
	put(a, t, "bf16_GFLOPS", m->gpu.tensor_flops[GPU_BF16] / 1e9, NULL);
	put(a, t, "from_host_GBps", m->gpu.pcie_Bps / 1e9, NULL);
	put(a, t, "to_host_GBps", m->out_Bps / 1e9, NULL);
	put(a, t, "own_gemm_GFLOPS", m->gemm_flops / 1e9,
	    &(struct expect){ m->gpu.vector_flops[GPU_FP32] / 1e9, 20, 8,
			      "its own fp32 in this run; a kernel that is not tuned" });
}

/* A product by cuBLAS, where it is: the model knows what it takes. */
static void test_cublas(struct sandbox *a, struct test *t, struct backend *b, const struct gpu *g)
{
	struct gemm x = { GEMM_N, GEMM_N, GEMM_N, 1, GPU_BF16, GPU_BF16, false };
	char why[BACKEND_WHY] = "", by[160];
	struct gemm_time model;
	double flops;

	progress(t, "a product by cuBLAS");
	if (b->cpu || t->opencl || cublas_gemm(b, GEMM_N, &flops, why))
		return;
	put(a, t, "gemm_GFLOPS", flops / 1e9, NULL);
	if (!g || gemm_time(&model, g, &x))
		return;
	snprintf(by, sizeof(by), "model: %u x %u x %u in bf16 on %s, %s", GEMM_N, GEMM_N, GEMM_N,
		 g->key, model.limiter);
	put(a, t, "gemm_GFLOPS", flops / 1e9,
	    &(struct expect){ model.flops / model.ns, 75, 55, by });
}

static void test_device(struct sandbox *a, void *arg)
{
	struct test *t = arg;
	struct measure_opts how = { .quick = true, .progress = progress, .arg = t };
	char why[BACKEND_WHY] = "", key[FACT_KEY];
	const struct gpu *known;
	struct backend *b;
	struct measure m;

	t->a = a;
	sandbox_at(a, "opening device %u", t->index);
	a->err = t->opencl ? opencl_open(&b, t->index, why) : cuda_open(&b, t->index, why);
	if (a->err) {
		sandbox_at(a, "%s", why);
		return;
	}
	snprintf(key, sizeof(key), "measured/%u/device", t->index);
	facts_set(&a->f, key, "%.100s", b->name);
	a->err = measure_test(&m, b, &how);
	if (a->err) {
		sandbox_at(a, "%s: %s", b->name, b->why);
		a->err = -EIO;
		return;
	}
	known = b->cpu ? NULL : gpu_find(b->name);
	if (known)
		of_gpu(a, t, &m, known);
	else
		of_other(a, t, &m, b->cpu);
	put(a, t, "triad_GBps", m.triad_Bps / 1e9, NULL);
	snprintf(key, sizeof(key), "measured/%u/gemm_wrong", t->index);
	facts_set(&a->f, key, "%u", m.gemm_wrong);
	test_cublas(a, t, b, known);
	b->ops->close(b);
}

/* --- among devices --- */

static void test_nccl(struct sandbox *a, void *arg)
{
	struct test *t = arg;
	struct backend *b[NCCL_RANKS];
	char why[BACKEND_WHY] = "", by[160];
	struct nccl_result r;
	struct coll_cost model;
	const struct gpu *g;
	struct coll c;

	sandbox_at(a, "an all-reduce among %u GPUs", t->index);
	if (t->tty)
		fprintf(stderr, "\r\033[Kmeasuring an all-reduce among %u GPUs", t->index);
	for (uint32_t i = 0; i < t->index && !a->err; i++)
		a->err = cuda_open(&b[i], i, why);
	if (!a->err)
		a->err = nccl_all_reduce(&r, b, t->index, why);
	if (a->err) {
		sandbox_at(a, "all-reduce: %s", why);
		return;
	}
	facts_set(&a->f, "measured/nccl", "%u.%u.%u", r.version / 10000, r.version / 100 % 100,
		  r.version % 100);
	facts_set(&a->f, "measured/all_reduce_wrong", "%llu", (unsigned long long)r.wrong);
	facts_set(&a->f, "measured/all_reduce_GBps", "%.4g", r.bus_Bps / 1e9);
	g = gpu_find(b[0]->name);
	c = (struct coll){ .op = COLL_ALL_REDUCE, .bytes = r.bytes, .ranks = r.ranks };
	if (!g || coll_cost(&model, g, &c))
		return;
	snprintf(by, sizeof(by), "model: %s of %.0f MB, %u x %s, bus bandwidth", model.algorithm,
		 (double)r.bytes / 1e6, r.ranks, g->key);
	expect_set(&a->f, "measured/all_reduce_GBps",
		   &(struct expect){ model.bus_Bps / 1e9, 75, 55, by });
}

/* --- all of them --- */

/* What could not be measured: broken, if there should be a device; else it is only not known. */
static int say(struct validation *v, const char *id, int err, const char *at,
	       enum check_level level)
{
	struct check c = { .by = "measured",
			   .level = level,
			   .why = "the test did not end as it should",
			   .act = "look at the kernel log; reset the device or reboot" };

	snprintf(c.id, sizeof(c.id), "%s", id);
	snprintf(c.is, sizeof(c.is), "%s: %.200s",
		 err == -ETIMEDOUT ? "hangs"
		 : err == -ENOENT  ? "none"
				   : "fails",
		 at);
	snprintf(c.want, sizeof(c.want), "a result");
	return checks_add(&v->c, &c) ? cli_say(CLI_FAIL, "no memory") : CLI_OK;
}

static int all_reduce(struct validation *v, struct test *t, uint32_t gpus)
{
	char at[SANDBOX_AT] = "";
	int err;

	t->index = gpus;
	err = sandbox_run(&v->f, NCCL_MS, test_nccl, t, at);
	clear(t->tty);
	return err ? say(v, "measured/all_reduce", err, at,
			 err == -ENOENT ? CHECK_SKIP : CHECK_FAIL)
		   : CLI_OK;
}

static int devices(struct validation *v, struct test *t)
{
	char at[SANDBOX_AT] = "", first[SANDBOX_AT] = "", id[32];
	uint32_t n = 0;
	int err = 0, rc = CLI_OK;

	for (; rc == CLI_OK && n < NCCL_RANKS && err != -ENOENT; n++) {
		t->index = n;
		err = sandbox_run(&v->f, DEVICE_MS, test_device, t, at);
		clear(t->tty);
		snprintf(id, sizeof(id), "measured/%u", n);
		if (err && err != -ENOENT)
			rc = say(v, id, err, at, CHECK_FAIL);
	}
	n -= err == -ENOENT;
	if (n || rc != CLI_OK)
		return rc == CLI_OK && n > 1 ? all_reduce(v, t, n) : rc;
	memcpy(first, at, sizeof(first)); /* why there is none through CUDA */
	t->opencl = true;
	t->index = 0;
	err = sandbox_run(&v->f, DEVICE_MS, test_device, t, at);
	clear(t->tty);
	if (err == -ENOENT)
		return say(v, "measured/0", err, first,
			   facts_get(&v->f, "gpu/on_bus") ? CHECK_FAIL : CHECK_SKIP);
	return err ? say(v, "measured/0", err, at, CHECK_FAIL) : CLI_OK;
}

int validate_measure(struct validation *v)
{
	struct test t = { .tty = isatty(STDERR_FILENO) };
	char at[SANDBOX_AT] = "";
	int err = sandbox_run(&v->f, HOST_MS, test_host, &t, at), rc = CLI_OK;

	clear(t.tty);
	if (err)
		rc = say(v, "measured/host", err, at, CHECK_FAIL);
	facts_number(&v->f, "measured/host/triad_GBps", &t.host_GBps);
	return rc == CLI_OK ? devices(v, &t) : rc;
}
