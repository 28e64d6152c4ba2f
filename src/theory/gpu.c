/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - see gpu.h; the numbers and where they come from are in gpu_spec.tbl.h. */
#include "theory/gpu.h"

#include <ctype.h>

const char *const gpu_type_word[GPU_TYPES] = { "fp64", "fp32", "tf32", "fp16",
					       "bf16", "fp8",  "fp4",  "int8" };

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The table is read for its numbers, then for where they come from. */
#define NUMBER(letter, v) (v)
#define ALIAS(of, text)
#define SOURCE(letter, text)
/* clang-format off */
static const struct gpu table[] = {
#define GPU(is, says, capability, units, mhz, mem_mhz, mem_gib, mem_gb, l2_mib, links, host, launch, \
	    v64, v32, v16, vb16, t64, t32, tt32, t16, tb16, t8, t4, ti8) \
	{ .key = #is, .name = says, .cc = capability, .sms = units, .clock_mhz = mhz, \
	  .memory_mhz = mem_mhz, .memory_Bps = (mem_gb)*1e9, .memory_bytes = (uint64_t)(mem_gib) << 30, \
	  .l2_bytes = (uint64_t)((l2_mib)*1048576.0), .link_Bps = (links)*1e9, .pcie_Bps = (host)*1e9, \
	  .launch_ns = launch, \
	  .vector_flops = { [GPU_FP64] = (v64)*1e12, [GPU_FP32] = (v32)*1e12, [GPU_FP16] = (v16)*1e12, \
			    [GPU_BF16] = (vb16)*1e12 }, \
	  .tensor_flops = { [GPU_FP64] = (t64)*1e12, [GPU_FP32] = (t32)*1e12, [GPU_TF32] = (tt32)*1e12, \
			    [GPU_FP16] = (t16)*1e12, [GPU_BF16] = (tb16)*1e12, [GPU_FP8] = (t8)*1e12, \
			    [GPU_FP4] = (t4)*1e12, [GPU_INT8] = (ti8)*1e12 } },
#include "theory/gpu_spec.tbl.h"
};

#define NUMBER(letter, v) (letter)
#define ALIAS(of, text)
#define SOURCE(letter, text)
static const struct gpu_source source[LEN(table)] = {
#define GPU(is, says, capability, units, mhz, mem_mhz, mem_gib, mem_gb, l2_mib, links, host, launch_, \
	    v64, v32, v16, vb16, t64, t32, tt32, t16, tb16, t8, t4, ti8) \
	{ .sms = units, .clock = mhz, .memory_clock = mem_mhz, .memory = mem_gib, .memory_rate = mem_gb, \
	  .l2 = l2_mib, .link = links, .pcie = host, .launch = launch_, \
	  .vector = { [GPU_FP64] = v64, [GPU_FP32] = v32, [GPU_FP16] = v16, [GPU_BF16] = vb16 }, \
	  .tensor = { [GPU_FP64] = t64, [GPU_FP32] = t32, [GPU_TF32] = tt32, [GPU_FP16] = t16, \
		      [GPU_BF16] = tb16, [GPU_FP8] = t8, [GPU_FP4] = t4, [GPU_INT8] = ti8 } },
#include "theory/gpu_spec.tbl.h"
};

enum place {
#define NUMBER(letter, v)
#define GPU(is, ...) AT_##is,
#define ALIAS(of, text)
#define SOURCE(letter, text)
#include "theory/gpu_spec.tbl.h"
};

static const struct alias {
	const char *text;
	enum place at;
} alias[] = {
#define NUMBER(letter, v)
#define GPU(is, ...)
#define ALIAS(of, text) { text, AT_##of },
#define SOURCE(letter, text)
#include "theory/gpu_spec.tbl.h"
};

const char *gpu_source_text(char letter)
{
	switch (letter) {
#define NUMBER(letter, v)
#define GPU(is, ...)
#define ALIAS(of, text)
#define SOURCE(letter, text) case letter: return text;
#include "theory/gpu_spec.tbl.h"
	}
	return NULL;
}
/* clang-format on */

/* In any case; space, hyphen and underscore are one. */
static int folded(char c)
{
	return c == ' ' || c == '-' ? '_' : tolower((unsigned char)c);
}

static bool same(const char *a, const char *b)
{
	for (; *a && folded(*a) == folded(*b); a++)
		b++;
	return !*a && !*b;
}

const struct gpu *gpu_find(const char *text)
{
	for (size_t i = 0; i < LEN(table); i++)
		if (same(text, table[i].key) || same(text, table[i].name))
			return &table[i];
	for (size_t i = 0; i < LEN(alias); i++)
		if (same(text, alias[i].text))
			return &table[alias[i].at];
	return NULL;
}

const struct gpu *gpu_at(size_t i)
{
	return i < LEN(table) ? &table[i] : NULL;
}

double gpu_peak(const struct gpu *g, enum gpu_type t)
{
	return g->tensor_flops[t] > g->vector_flops[t] ? g->tensor_flops[t] : g->vector_flops[t];
}

const struct gpu_source *gpu_source(const struct gpu *g)
{
	return g >= table && g < table + LEN(table) ? &source[g - table] : NULL;
}
