/* SPDX-License-Identifier: Apache-2.0 */
/* The work of OpenCL kernels from their text: cases counted by hand, and what is not understood. */
#include <string.h>

#include "theory/cl_source.h"
#include "t.h"
#include "theory/source_work.h"

#define K(params, body) "__kernel void k(" params ") { " body " }"
#define AB              "__global float *a, __global const float *restrict b"

static const struct {
	const char *name, *text, *want; /* want NULL: not understood */
} cases[] = {
	/* clang-format off */
	{ "a sum of two arrays", K(AB, "int i = get_global_id(0); a[i] = a[i] + b[i];"), "flops=1 type=6 mem=9:12" },
	{ "groups and items by themselves", K(AB, "*(a + get_group_id(1)) = b[get_local_id(2)];"), "flops=0 type=6 mem=2:4,20:4" },
	{ "a loop of constant length", K(AB, "float s = 0; for (int i = 0; i < 8; i++) { s += b[i] * 2.0f; } a[0] = s;"), "flops=16 type=6 mem=0:36" },
	{ "loops in loops, in steps", K(AB, "float s = 0; for (int i = 16; i > 0; i -= 4) for (int j = 1; j <= 3; ++j) s = s + b[j]; a[get_global_id(0)] = s;"), "flops=12 type=6 mem=0:12,9:4" },
	{ "vectors count each part", K("__global float4 *a", "int i = get_global_id(0); float4 v = a[i]; v.xy = v.xy * v.zw; a[i] = v * (float4)(1.0f,2.0f,3.0f,4.0f);"), "flops=6 type=6 mem=9:32" },
	{ "a cast of an address", K(AB, "float4 v = (*((__global float4*)((b+(get_group_id(0)<<2))))); a[get_group_id(0)] = v.x+v.y;"), "flops=1 type=6 mem=1:20" },
	{ "integers are no operations", K(AB, "int i = get_global_id(0) * 3 + 1; a[i] = b[i];"), "flops=0 type=6 mem=9:8" },
	{ "functions of OpenCL", K(AB, "int i = get_global_id(0); a[i] = native_exp(fma(b[i], 2.0f, 1.0f)) + convert_float(i);"), "flops=4 type=6 mem=9:8" },
	{ "loads of vectors", K(AB, "vstore4(vload4(get_global_id(0), b) * 2.0f, get_global_id(0), a);"), "flops=4 type=6 mem=9:32" },
	{ "what is shared or private is no memory", K(AB, "__local float t[16]; float r[4]; int l = get_local_id(0); t[l] = b[l]; r[0] = t[l]; barrier(CLK_LOCAL_MEM_FENCE); a[l] = r[0];"), "flops=0 type=6 mem=8:8" },
	{ "doubles", K("__global double *a", "a[get_global_id(0)] *= 2.0;"), "flops=1 type=7 mem=9:8" },
	{ "a branch: at most", K(AB ", int n", "int i = get_global_id(0); if (i < n) { a[i] = b[i] * 2.0f; } else a[i] = 1.0f;"), "flops=1 type=6 mem=9:12 at most" },
	{ "a choice is an operation", K(AB, "int i = get_global_id(0); a[i] = (b[i]<0.0f)?0.0f:b[i];"), "flops=2 type=6 mem=9:12" },
	{ "comments and pragmas", "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n/* { */ // }\n" K(AB, "a[0] /* = */ = 1.0f;"), "flops=0 type=6 mem=0:4" },
	{ "attributes", "__attribute__((reqd_work_group_size(8,1,1))) __kernel __attribute__((vec_type_hint(float))) void k(" AB ") { a[0] = 1.0f; }", "flops=0 type=6 mem=0:4" },
	{ "a loop to an argument", K(AB ", int n", "for (int i = 0; i < n; i++) a[i] = b[i];"), NULL },
	{ "a loop that never ends", K(AB, "for (;;) a[0] = 1.0f;"), NULL },
	{ "a loop whose end is behind it", K(AB, "for (int i = 0; i > 8; i++) a[0] = 1.0f;"), NULL },
	{ "a loop too long", K(AB, "for (long i = 0; i < 9000000000000000000; i++) a[0] = 1.0f;"), NULL },
	{ "while", K(AB, "while (a[0] < 1.0f) a[0] += 1.0f;"), NULL },
	{ "a function of its own", "float f(float x) { return x; } " K(AB, "a[0] = f(b[0]);"), NULL },
	{ "macros", "#define N 8\n" K(AB, "a[0] = N;"), NULL },
	{ "an unknown type", K("my_t *a", "a[0] = 1;"), NULL },
	{ "no end", "__kernel void k(__global float *a) { a[0] = 1.0f;", NULL },
	{ "", "", NULL },
	/* clang-format on */
};

static struct cl_text s;

static void texts(void)
{
	char text[256];

	for (size_t i = 0; i < T_LEN(cases); i++) {
		bool is;

		cl_source_begin(&s, cases[i].text, strlen(cases[i].text));
		is = cl_source_next(&s);
		if (is)
			cl_source_text(text, sizeof(text), &s.k);
		T_OK(is == !!cases[i].want && (!is || !strcmp(text, cases[i].want)), "%s: %s",
		     cases[i].name, is ? text : "not known");
	}
	cl_source_begin(
		&s, "kernel void bad() { f(); } kernel void good(global int *a) { a[0] = 1; }", 73);
	T_OK(cl_source_next(&s) && !strcmp(s.k.name, "good") && !cl_source_next(&s),
	     "a kernel that is not understood does not hide the next");
	T_OK(!cl_source_text(text, 8, &s.k), "no room, no text");
}

static void deep(void)
{
	static char text[CL_SOURCE_TEXT + 100] = "__kernel void k(__global float *a) { a[0] = ";
	size_t at = strlen(text);

	memset(text + at, '(', sizeof(text) - at);
	cl_source_begin(&s, text, sizeof(text));
	T_OK(!cl_source_next(&s), "60,000 parentheses end it, not the stack");
}

static void works(void)
{
	static const struct geo g = { .grid = { 16, 2, 1 }, .block = { 32, 1, 1 } };
	struct source_works *w = NULL;
	struct roof_work is;

	T_OK(!source_works_new(&w), "a place for them");
	T_OK(source_works_add(w, "opencl work: k flops=3 type=6 mem=9:8,2:4 at most") == 1 &&
		     source_work(&is, w, source_kernel("k"), &g) && is.how == WORK_SOURCE &&
		     is.at_most && is.flops == 3 * 1024 && is.bytes == 8 * 512 + 4 * 2,
	     "the work of a launch");
	T_OK(source_works_add(w, "opencl work: k flops=3 type=6 mem=9:8,2:4 at most") == 0 &&
		     source_works_add(w, "opencl work: k flops=3 type=6 mem=9:9,2:4") == 1 &&
		     source_work(&is, w, source_kernel("k"), &g) && is.bytes == 9 * 512 + 4 * 2,
	     "of two texts that agree, the more");
	T_OK(source_works_add(w, "opencl work: k flops=9 type=6 mem=9:9,2:4") == 1 &&
		     !source_work(&is, w, source_kernel("k"), &g),
	     "of texts that do not agree, none");
	T_OK(!source_work(&is, w, source_kernel("other"), &g), "of another kernel, none");
	T_OK(!source_works_add(w, "opencl work: k flops= type=6 mem=") &&
		     !source_works_add(w, "opencl work: k flops=1 type=6 mem=99:1") &&
		     !source_works_add(w, "opencl work: k flops=1 type=6 mem=0:1 maybe") &&
		     !source_works_add(w, "opencl work: ") && !source_works_add(w, "a name"),
	     "what is not written so is none");
	source_works_free(w);
}

int main(void)
{
	texts();
	deep();
	works();
	return t_done();
}
