/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - see gpu.h; the numbers and where they come from are in gpu_spec.tbl.h. */
#include "theory/gpu.h"

#include <ctype.h>
#include <errno.h>

#include "base/json.h"

const char *const gpu_type_word[GPU_TYPES] = { "fp64", "fp32", "tf32", "fp16",
					       "bf16", "fp8",  "fp4",  "int8" };

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The table is read for its numbers, then for where they come from. */
#define NUMBER(letter, v) (v)
#define ALIAS(of, text)
#define SOURCE(letter, text)
/* clang-format off */
static const struct gpu table[] = {
#define GPU(is, says, capability, units, mhz, mem_mhz, mem_gib, mem_gb, l2_mib, l2_gb, links, host, launch, \
	    v64, v32, v16, vb16, t64, t32, tt32, t16, tb16, t8, t4, ti8) \
	{ .key = #is, .name = says, .cc = capability, .sms = units, .clock_mhz = mhz, \
	  .memory_mhz = mem_mhz, .memory_Bps = (mem_gb)*1e9, .memory_bytes = (uint64_t)(mem_gib) << 30, \
	  .l2_bytes = (uint64_t)((l2_mib)*1048576.0), .l2_Bps = (l2_gb)*1e9, .link_Bps = (links)*1e9, .pcie_Bps = (host)*1e9, \
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
#define GPU(is, says, capability, units, mhz, mem_mhz, mem_gib, mem_gb, l2_mib, l2_gb, links, host, launch_, \
	    v64, v32, v16, vb16, t64, t32, tt32, t16, tb16, t8, t4, ti8) \
	{ .sms = units, .clock = mhz, .memory_clock = mem_mhz, .memory = mem_gib, .memory_rate = mem_gb, \
	  .l2 = l2_mib, .l2_rate = l2_gb, .link = links, .pcie = host, .launch = launch_, \
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

static struct gpu added[GPU_ADDED];
static size_t added_n;

static const struct gpu *find_in(const struct gpu *list, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (same(text, list[i].key) || same(text, list[i].name))
			return &list[i];
	return NULL;
}

const struct gpu *gpu_find(const char *text)
{
	const struct gpu *g = find_in(added, added_n, text);

	if (!g)
		g = find_in(table, LEN(table), text);
	for (size_t i = 0; !g && i < LEN(alias); i++)
		if (same(text, alias[i].text))
			g = &table[alias[i].at];
	return g;
}

#define SIZE_OFF 0.06 /* of memory: drivers keep some, and say it in other units */

/* But for fp64, which devices for export lack. */
static bool computes_alike(const struct gpu *a, const struct gpu *b)
{
	bool is = a->memory_Bps == b->memory_Bps;

	for (int t = GPU_FP64 + 1; t < GPU_TYPES; t++)
		is &= a->tensor_flops[t] == b->tensor_flops[t] &&
		      a->vector_flops[t] == b->vector_flops[t];
	return is;
}

const struct gpu *gpu_by_size(uint32_t sms, uint64_t memory_bytes)
{
	const struct gpu *is = NULL;

	for (size_t i = 0; sms && memory_bytes && i < LEN(table); i++) {
		const struct gpu *g = &table[i];
		double off = (double)memory_bytes / (double)g->memory_bytes - 1;

		if (g->sms != sms || off > SIZE_OFF || off < -SIZE_OFF)
			continue;
		if (is && !computes_alike(is, g))
			return NULL;
		is = is ? is : g;
	}
	return is;
}

const struct gpu *gpu_at(size_t i)
{
	if (i < LEN(table))
		return &table[i];
	return i - LEN(table) < added_n ? &added[i - LEN(table)] : NULL;
}

int gpu_add(const struct gpu *g)
{
	size_t i = 0;

	while (i < added_n && !same(added[i].key, g->key))
		i++;
	if (i == GPU_ADDED)
		return -ENOSPC;
	added[i] = *g;
	added_n += i == added_n;
	return 0;
}

static const struct gpu *assumed;

void gpu_assume(const struct gpu *g)
{
	assumed = g;
}

const struct gpu *gpu_assumed(void)
{
	return assumed;
}

double gpu_peak(const struct gpu *g, enum gpu_type t)
{
	return g->tensor_flops[t] > g->vector_flops[t] ? g->tensor_flops[t] : g->vector_flops[t];
}

const struct gpu_source *gpu_source(const struct gpu *g)
{
	return g >= table && g < table + LEN(table) ? &source[g - table] : NULL;
}

static void peaks_json(struct json *j, const char *key, const double flops[GPU_TYPES])
{
	json_open(j, key, '{');
	for (int t = 0; t < GPU_TYPES; t++)
		if (flops[t] > 0)
			json_double(j, gpu_type_word[t], flops[t]);
	json_close(j);
}

void gpu_json(struct json *j, const struct gpu *g)
{
	json_members(j, J_STR("key", g->key), J_STR("name", g->name));
#define FIELD(name, type, most) \
	if (g->name > 0)        \
		json_double(j, #name, (double)g->name);
#include "theory/gpu_field.tbl.h"
	peaks_json(j, "vector_flops", g->vector_flops);
	peaks_json(j, "tensor_flops", g->tensor_flops);
	json_bool(j, "measured", g->measured);
}
