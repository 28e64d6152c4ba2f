/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the kernels that are run to measure, once for OpenCL C and CUDA C++. A backend's
 * prologue defines
 *
 *	KERNEL(name)  the head of a kernel      GLOBAL  the space of buffers
 *	ITEM ITEMS    place in a group, of how many      GROUP GROUPS  of groups
 *	T SET(u) MAD(x, a, b) ADD(x, y)         the type that counts
 *	V VZERO VADD(x, y) VMAD(s, a, x)        the type that is read, of `word` bytes: floats
 *
 * Every kernel has the arguments (GLOBAL V *p, unsigned n, unsigned reps, unsigned zero). The last
 * is 0, which compilers cannot know: nothing can be moved out of the loops. Results are written
 * behind the n * GROUPS words at p, so that compilers cannot drop the loops.
 */
#pragma once

#define KERNEL_CHAINS 10u /* independent sums of a work-item: they hide the latency of a MAD */
#define KERNEL_STEPS  8u  /* MADs of each in a round of the loop */
#define KERNEL_ROWS   8u  /* of a product that a work-item has */

static const char kernels_source[] =
	"#define ARGS (GLOBAL V *p, unsigned n, unsigned reps, unsigned zero)\n"
	"#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9)\n"
	"#define INIT(i) T x##i = SET(ITEM + i);\n"
	"#define STEP(i) x##i = MAD(x##i, a, b);\n"
	"#define SUM(i) sum = ADD(sum, x##i);\n"
	"#define STEPS EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)\n"
	"KERNEL(empty) ARGS { }\n"
	"KERNEL(count) ARGS\n"
	"{\n"
	"	T a = SET(1 + zero), b = SET(zero), sum = SET(0);\n"
	"	EACH(INIT)\n"
	"	for (unsigned r = 0; r < reps; r++) { STEPS STEPS }\n"
	"	EACH(SUM)\n"
	"	((GLOBAL T *)p)[GROUP * ITEMS + ITEM] = sum;\n"
	"}\n"
	"KERNEL(read) ARGS\n"
	"{\n"
	"	GLOBAL V *q = p + (size_t)GROUP * n;\n"
	"	V s0 = VZERO, s1 = VZERO, s2 = VZERO, s3 = VZERO;\n"
	"	for (unsigned r = 0; r < reps; r++, q += zero)\n"
	"		for (unsigned i = ITEM; i < n; i += 4 * ITEMS) {\n"
	"			s0 = VADD(s0, q[i]); s1 = VADD(s1, q[i + ITEMS]);\n"
	"			s2 = VADD(s2, q[i + 2 * ITEMS]); s3 = VADD(s3, q[i + 3 * ITEMS]);\n"
	"		}\n"
	"	p[(size_t)GROUPS * n + GROUP * ITEMS + ITEM] = VADD(VADD(s0, s1), VADD(s2, s3));\n"
	"}\n"
	"KERNEL(triad) ARGS\n"
	"{\n"
	"	size_t third = (size_t)GROUPS * n;\n"
	"	GLOBAL V *a = p + (size_t)GROUP * n, *b = a + third, *c = b + third;\n"
	"	for (unsigned r = 0; r < reps; r++, a += zero)\n"
	"		for (unsigned i = ITEM; i < n; i += ITEMS)\n"
	"			a[i] = VADD(b[i], c[i]);\n"
	"}\n"
	/* Two matrices of n x n floats, 1 or 2 by whether row and column are both odd or even; the third is their
	 * product: 5/2 n or 2 n. A work-item has KERNEL_ROWS rows of one V. */
	"KERNEL(fill) ARGS\n"
	"{\n"
	"	for (unsigned i = GROUP * ITEMS + ITEM; i < 2 * n * n; i += GROUPS * ITEMS)\n"
	"		((GLOBAL float *)p)[i] = 1 + ((i / n ^ i) & 1);\n"
	"}\n"
	"#define ROWS(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)\n"
	"#define ZERO(i) V s##i = VZERO;\n"
	"#define MORE(i) s##i = VMAD(s##i, a[i * n + k], x);\n"
	"#define LAST(i) c[i * w] = s##i;\n"
	"KERNEL(gemm) ARGS\n"
	"{\n"
	"	unsigned w = n / (sizeof(V) / sizeof(float)), item = GROUP * ITEMS + ITEM;\n"
	"	unsigned col = item % w, row = item / w * 8;\n"
	"	GLOBAL float *a = (GLOBAL float *)p + (size_t)row * n;\n"
	"	GLOBAL V *b = p + (size_t)n * w + col, *c = p + (size_t)2 * n * w + (size_t)row * "
	"w + col;\n"
	"	for (unsigned r = 0; r < reps; r++, a += zero) {\n"
	"		ROWS(ZERO)\n"
	"		for (unsigned k = 0; k < n; k++) { V x = b[(size_t)k * w]; ROWS(MORE) }\n"
	"		ROWS(LAST)\n"
	"	}\n"
	"}\n";
