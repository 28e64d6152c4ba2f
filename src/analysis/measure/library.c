/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see library.h. The declarations are those of cublas_v2.h and nccl.h, which are not needed to build. */
#include "measure/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define ROUNDS     5u
#define NCCL_TRIES 20u /* each takes a millisecond or two: on a busy host some are disturbed */
#define GEMM_BATCH 4u  /* products in a row, so that launching them is hidden */
#define NCCL_BYTES (256ull << 20)
#define BF16       14 /* CUDA_R_16BF */
#define IN_FP32    68 /* CUBLAS_COMPUTE_32F */

static void *open_one(const char *env, const char *const *name, char *why)
{
	const char *given = getenv(env);
	void *lib = NULL;

	if (given && *given)
		lib = dlopen(given, RTLD_NOW | RTLD_LOCAL);
	for (; !lib && !(given && *given) && *name; name++)
		lib = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		snprintf(why, BACKEND_WHY, "the library is not there; %s names one", env);
	return lib;
}

/* --- cuBLAS --- */

typedef int gemm_fn(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		    const void *a, int at, int lda, const void *b, int bt, int ldb,
		    const void *beta, void *c, int ct, int ldc, int compute, int algo);

struct cublas {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	gemm_fn *gemm;
	void *handle;
};

static int products(struct cublas *c, struct backend *b, uint32_t n, double *best)
{
	const char *a = (const char *)(uintptr_t)b->ops->address(b);
	float one = 1, zero = 0;
	size_t bytes = (size_t)n * n * 2;
	int err = 0, d = (int)n;

	for (uint32_t i = 0; i <= ROUNDS && !err; i++) {
		double from = (double)clock_mono_ns();

		for (uint32_t k = 0; k < GEMM_BATCH && !err; k++)
			err = c->gemm(c->handle, 0, 0, d, d, d, &one, a, BF16, d, a + bytes, BF16,
				      d, &zero, (void *)(uintptr_t)(a + 2 * bytes), BF16, d,
				      IN_FP32, -1);
		err = err ? err : b->ops->finish(b);
		if (i) /* the first chooses and loads its kernel */
			*best = fmin(*best, ((double)clock_mono_ns() - from) / GEMM_BATCH);
	}
	return err;
}

int cublas_gemm(struct backend *b, uint32_t n, double *flops, char *why)
{
	static const char *const names[] = { "libcublas.so.13", "libcublas.so.12",
					     "libcublas.so.11", NULL };
	void *lib = open_one("AON_CUBLAS", names, why);
	struct cublas c = { 0 };
	double best = INFINITY;
	int err;

	if (!lib)
		return -ENOENT;
	*(void **)&c.create = dlsym(lib, "cublasCreate_v2");
	*(void **)&c.destroy = dlsym(lib, "cublasDestroy_v2");
	*(void **)&c.gemm = dlsym(lib, "cublasGemmEx");
	err = c.create && c.destroy && c.gemm ? b->ops->buffer(b, 3ull * n * n * 2) : -ENOENT;
	if (err) {
		snprintf(why, BACKEND_WHY, "%s",
			 err == -ENOENT ? "libcublas lacks cublasGemmEx" : b->why);
		return err;
	}
	err = c.create(&c.handle);
	if (!err) {
		err = products(&c, b, n, &best);
		c.destroy(c.handle);
	}
	if (err) {
		snprintf(why, BACKEND_WHY, "cuBLAS: error %d", err);
		return -EIO;
	}
	*flops = 2.0 * n * n * n * 1e9 / best;
	return 0;
}

/* --- NCCL --- */

/* clang-format off */
#define CALLS(F) \
	F(ncclGetVersion,     int *version) \
	F(ncclCommInitAll,    void **comm, int n, const int *devices) \
	F(ncclCommDestroy,    void *comm) \
	F(ncclGroupStart,     void) \
	F(ncclGroupEnd,       void) \
	F(ncclAllReduce,      const void *from, void *to, size_t count, int type, int op, void *comm, void *stream)
/* clang-format on */
#define FLOAT32 7

struct nccl {
#define F(name, ...) int (*name)(__VA_ARGS__);
	CALLS(F)
#undef F
	void *comm[NCCL_RANKS];
	struct backend *const *b;
	uint32_t n;
};

/* In place, on each device's own stream. */
static int all_reduce(struct nccl *x, uint64_t bytes)
{
	int err = x->ncclGroupStart();

	for (uint32_t i = 0; i < x->n && !err; i++) {
		void *at = (void *)(uintptr_t)x->b[i]->ops->address(x->b[i]);

		err = x->ncclAllReduce(at, at, bytes / 4, FLOAT32, 0, x->comm[i], NULL);
	}
	err = err ? err : x->ncclGroupEnd();
	for (uint32_t i = 0; i < x->n && !err; i++) {
		x->b[i]->ops->address(x->b[i]);
		err = x->b[i]->ops->finish(x->b[i]);
	}
	return err;
}

/* Ones on each: their sum is how many there are. */
static int ones(struct nccl *x, uint64_t *wrong)
{
	uint64_t count = BACKEND_HOST / 4;
	int err = 0;

	for (uint32_t i = 0; i < x->n && !err; i++) {
		x->b[i]->ops->address(x->b[i]);
		err = x->b[i]->ops->copy_out(x->b[i], 0, BACKEND_HOST);
		for (uint64_t k = 0; k < count && !err; k++)
			((float *)x->b[i]->ops->host(x->b[i]))[k] = 1;
		err = err ? err : x->b[i]->ops->copy_in(x->b[i], BACKEND_HOST);
	}
	err = err ? err : all_reduce(x, BACKEND_HOST);
	for (uint32_t i = 0; i < x->n && !err; i++) {
		x->b[i]->ops->address(x->b[i]);
		err = x->b[i]->ops->copy_out(x->b[i], 0, BACKEND_HOST);
		for (uint64_t k = 0; k < count && !err; k++)
			*wrong += ((float *)x->b[i]->ops->host(x->b[i]))[k] != (float)x->n;
	}
	return err;
}

static int begin(struct nccl *x, char *why)
{
	static const char *const names[] = { "libnccl.so.2", "libnccl.so", NULL };
	void *lib = open_one("AON_NCCL", names, why);
	const char *missing = NULL;

	if (!lib)
		return -ENOENT;
#define F(name, ...)                            \
	*(void **)&x->name = dlsym(lib, #name); \
	missing = x->name ? missing : #name;
	CALLS(F)
#undef F
	if (missing)
		snprintf(why, BACKEND_WHY, "libnccl has no %s", missing);
	for (uint32_t i = 0; i < x->n && !missing; i++) {
		x->b[i]->ops->address(x->b[i]);
		if (x->b[i]->ops->buffer(x->b[i], NCCL_BYTES)) {
			snprintf(why, BACKEND_WHY, "GPU %u: %.480s", i, x->b[i]->why);
			return -ENOMEM;
		}
	}
	return missing ? -ENOENT : 0;
}

int nccl_all_reduce(struct nccl_result *out, struct backend *const *b, uint32_t n, char *why)
{
	struct nccl x = { .b = b, .n = n };
	struct nccl_result r = { .ranks = n, .bytes = NCCL_BYTES };
	double best = INFINITY;
	int device[NCCL_RANKS], version = 0,
				err = n < 2 || n > NCCL_RANKS ? -EINVAL : begin(&x, why);

	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		device[i] = (int)i;
	x.ncclGetVersion(&version);
	r.version = (uint32_t)version;
	err = x.ncclCommInitAll(x.comm, (int)n, device);
	if (!err) {
		err = ones(&x, &r.wrong);
		for (uint32_t i = 0; i <= NCCL_TRIES && !err; i++) {
			double from = (double)clock_mono_ns();

			err = all_reduce(&x, r.bytes);
			if (i)
				best = fmin(best, (double)clock_mono_ns() - from);
		}
		for (uint32_t i = 0; i < n; i++)
			x.ncclCommDestroy(x.comm[i]);
	}
	if (err) {
		snprintf(why, BACKEND_WHY, "NCCL %d: error %d", version, err);
		return -EIO;
	}
	r.bus_Bps = 2.0 * (n - 1) / n * (double)r.bytes * 1e9 / best;
	*out = r;
	return 0;
}
