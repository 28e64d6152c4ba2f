/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublas.c - a stand-in for libcublas.so with the public ABI of cublasGemmEx(), which only takes its time.
 *
 *	SIM_CUBLAS_TFLOPS=n	(500)
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define API __attribute__((visibility("default")))

API int cublasCreate_v2(void **handle);
API int cublasCreate_v2(void **handle)
{
	static int one;

	*handle = &one;
	return 0;
}

API int cublasDestroy_v2(void *handle);
API int cublasDestroy_v2(void *handle)
{
	return handle ? 0 : 1;
}

API int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		     const void *a, int at, int lda, const void *b, int bt, int ldb,
		     const void *beta, void *c, int ct, int ldc, int compute, int algo);
API int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
		     const void *a, int at, int lda, const void *b, int bt, int ldb,
		     const void *beta, void *c, int ct, int ldc, int compute, int algo)
{
	const char *v = getenv("SIM_CUBLAS_TFLOPS");
	double ns = 2.0 * m * n * k / ((v && *v ? atof(v) : 500) * 1e3);
	struct timespec t = { (time_t)(ns / 1e9), (long)((uint64_t)ns % 1000000000u) };

	if (!handle || !a || !b || !c || !alpha || !beta || ta || tb || at != 14 || bt != 14 ||
	    ct != 14 || compute != 68 || algo != -1 || lda < m || ldb < k || ldc < m)
		return 7; /* CUBLAS_STATUS_INVALID_VALUE */
	nanosleep(&t, NULL);
	return 0;
}
