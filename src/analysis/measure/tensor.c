/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.c - see tensor.h. As PTX in CUDA C++: there is no other way to these instructions.
 *
 *	wgmma    (9.0a)   each of a block's two groups of four warps multiplies 64 x k by k x 256, from
 *	                  shared memory into its registers, over and over
 *	tcgen05  (10.xa)  one thread has the SM multiply 128 x k by k x 256, from shared memory into the
 *	                  tensor memory; a barrier wakes whoever waits
 *
 * Operands are zeros, which clocks may like better than numbers: what is measured is an upper bound. A
 * descriptor of a matrix says where it lies: rows of 16 bytes, eight of them together, the next eight
 * along k behind 128 bytes, along m or n behind 256.
 */
#include "measure/tensor.h"

#include <stdarg.h>
#include <stdio.h>

#include "measure/kernels.h"

#define MMAS    (KERNEL_CHAINS * KERNEL_STEPS) /* a round of the loop, as of the other kernels */
#define SUMS    128u                           /* of a thread of a group of warps: 64 x 256 / 128 */
#define A_BYTES "4096"
#define BYTES   "12288" /* 128 and 256 rows of 32 bytes */

static const struct form {
	enum gpu_type type;
	const char *wgmma, *flags; /* the instruction's types, and the flags behind its operands */
	const char *tcgen05;       /* the other's kind */
	uint32_t k, from, to;      /* numbers of types in the other's descriptor: operands, sums */
	uint32_t last_cc;          /* that has it */
} forms[] = {
	/* clang-format off */
	{ GPU_FP16, "k16.f32.f16.f16",   "p, 1, 1, 0, 0", "f16",    16, 0, 1, 119 },
	{ GPU_BF16, "k16.f32.bf16.bf16", "p, 1, 1, 0, 0", "f16",    16, 1, 1, 119 },
	{ GPU_TF32, "k8.f32.tf32.tf32",  "p, 1, 1",       "tf32",    8, 2, 1, 119 },
	{ GPU_FP8,  "k32.f32.e4m3.e4m3", "p, 1, 1",       "f8f6f4", 32, 0, 1, 119 },
	{ GPU_INT8, "k32.s32.s8.s8",     "p",             "i8",     32, 1, 2, 100 },
	/* clang-format on */
};

static char text[16384];
static size_t used;

static void __attribute__((format(printf, 1, 2))) put(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	used += (size_t)vsnprintf(text + used, sizeof(text) - used, fmt, ap);
	va_end(ap);
}

/* Zeros to multiply, and the two descriptors without what a device adds. */
static const char head[] =
	"extern \"C\" __global__ void count(float4 *p, unsigned n, unsigned reps, unsigned zero)\n"
	"{\n"
	"	__shared__ __align__(1024) unsigned char s[" BYTES "];\n"
	"	unsigned at = (unsigned)__cvta_generic_to_shared(s);\n"
	"	unsigned long long far = 128ull >> 4 << 16 | 256ull >> 4 << 32;\n"
	"	unsigned long long a = far | at >> 4, b = far | (at + " A_BYTES ") >> 4;\n"
	"	for (unsigned i = threadIdx.x; i < " BYTES " / 4; i += blockDim.x)\n"
	"		((unsigned *)s)[i] = zero;\n"
	"	asm volatile(\"fence.proxy.async.shared::cta;\");\n";

/* Each sum is a register of its own, so the loop is in PTX, too. */
static void put_wgmma(const struct form *f)
{
	put("#define SUMS ");
	for (uint32_t i = 0; i < SUMS; i++)
		put("\"d%u%s\"", i, i + 1 < SUMS ? "," : "");
	put("\n#define ZEROS ");
	for (uint32_t i = 0; i < SUMS; i++)
		put("\"mov.b32 d%u, 0;\"", i);
	put("\n#define MMA \"wgmma.mma_async.sync.aligned.m64n256%s {\" SUMS \"}, %%1, %%2, "
	    "%s;\\n\"\n",
	    f->wgmma, f->flags);
	put("%s	__syncthreads();\n	a += threadIdx.x / 128 * 128;\n	unsigned sum;\n"
	    "	asm volatile(\"{\\n.reg .b32 d<%u>;\\n.reg .pred p, q;\\n.reg .u32 i;\\n"
	    "setp.eq.u32 p, %%4, 0;\\nmov.u32 i, %%3;\\n\" ZEROS\n"
	    "	\"again:\\nwgmma.fence.sync.aligned;\\n\" MMA MMA MMA MMA\n",
	    head, SUMS);
	put("	\"wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;\\n"
	    "sub.u32 i, i, 1;\\nsetp.ne.u32 q, i, 0;\\n@q bra again;\\n"
	    "xor.b32 d0, d0, d%u;\\nmov.b32 %%0, d0;\\n}\"\n"
	    "	: \"=r\"(sum) : \"l\"(a), \"l\"(b), \"r\"(reps * %u), \"r\"(zero) : \"memory\");\n"
	    "	((unsigned *)p)[blockIdx.x * blockDim.x + threadIdx.x] = sum;\n}\n",
	    SUMS - 1, MMAS / 4);
}

_Static_assert(MMAS % 4 == 0, "so many are written above: more take seconds to compile");

static void put_tcgen05(const struct form *f)
{
	/* 128 rows, 256 columns */
	uint32_t what =
		f->to << 4 | f->from << 7 | f->from << 10 | 256u >> 3 << 17 | 128u >> 4 << 24;

	put("%s	__shared__ __align__(8) unsigned long long done;\n"
	    "	__shared__ unsigned tensor;\n"
	    "	unsigned bar = (unsigned)__cvta_generic_to_shared(&done);\n"
	    "	unsigned to = (unsigned)__cvta_generic_to_shared(&tensor);\n"
	    "	a |= 1ull << 46, b |= 1ull << 46;\n"
	    "	if (threadIdx.x < 32)\n"
	    "		asm volatile(\"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 "
	    "[%%0], "
	    "256;\" :: \"r\"(to) : \"memory\");\n"
	    "	if (threadIdx.x == 0)\n"
	    "		asm volatile(\"mbarrier.init.shared::cta.b64 [%%0], 1;\" :: \"r\"(bar) : "
	    "\"memory\");\n"
	    "	__syncthreads();\n	asm volatile(\"tcgen05.fence::after_thread_sync;\");\n",
	    head);
	put("	for (unsigned r = 0; r < reps && threadIdx.x == 0; r++) {\n"
	    "		for (int i = 0; i < %u; i++)\n"
	    "			asm volatile(\"{\\n.reg .pred p;\\nsetp.eq.u32 p, %%4, 0;\\n"
	    "tcgen05.mma.cta_group::1.kind::%s [%%0], %%1, %%2, %%3, p;\\n}\"\n"
	    "			:: \"r\"(tensor), \"l\"(a), \"l\"(b), \"r\"(%uu), \"r\"(zero) : "
	    "\"memory\");\n",
	    MMAS, f->tcgen05, what);
	put("		asm volatile(\"tcgen05.commit.cta_group::1.mbarrier::arrive::one."
	    "shared::cluster.b64 [%%0];\" :: \"r\"(bar) : \"memory\");\n"
	    "		asm volatile(\"{\\n.reg .pred p;\\nagain:\\n"
	    "mbarrier.try_wait.parity.shared::cta.b64 p, [%%0], %%1;\\n@!p bra again;\\n}\"\n"
	    "		:: \"r\"(bar), \"r\"(r & 1) : \"memory\");\n	}\n"
	    "	__syncthreads();\n	if (threadIdx.x < 32)\n"
	    "		asm "
	    "volatile(\"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\\n"
	    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%0, 256;\" :: \"r\"(tensor) : "
	    "\"memory\");\n}\n");
}

bool tensor_variant(uint32_t cc, enum gpu_type t, struct variant *out)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];

		if (f->type != t || cc < 90 || cc > f->last_cc || (cc > 90 && cc < 100))
			continue;
		used = 0;
		if (cc == 90)
			put_wgmma(f);
		else
			put_tcgen05(f);
		/* 128 x 256 x k of a block: two groups of warps, or one thread for all */
		*out = (struct variant){ .text = text,
					 .flops = 2 * 128 * 256 * f->k / TENSOR_THREADS };
		return used < sizeof(text);
	}
	return false;
}

bool tensor_is_whole(const struct variant *v)
{
	return v->text == text;
}
