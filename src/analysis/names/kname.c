/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kname.c - see kname.h; words are in kname.tbl.h.
 *
 * Tiles: "128x64_64x6" of cuBLAS, CUTLASS and nvjet is m x n, then k x stages; "tilesize128x64x64"
 * and "MT256x128x64" are m x n x k. Sizes that belong to an instruction are followed by "gemm".
 *
 * PyTorch's elementwise kernels: elementwise_kernel<threads, elements a thread, ...>, in others
 * the elements of a thread follow from the width of their loads. How many tensors: the length of
 * the array of pointers, else two of a functor of one argument, three of two.
 *
 * tinygrad: E_64_32_4 and r_32_4_3 list the sizes of all loops; r sums.
 */
#include "names/kname.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names/match.h"

#define TILE_MOST 1024u
#define LEN(a)    (sizeof(a) / sizeof((a)[0]))

struct knames {
	struct match *type, *unit;
};

static const struct match_rule type_rule[] = {
#define TYPE(T, words) { words, GPU_##T },
#include "names/kname.tbl.h"
};

static const struct match_rule unit_rule[] = {
#define UNIT(is, words) { words, is },
#include "names/kname.tbl.h"
};

int knames_new(struct knames **out)
{
	struct knames *k = calloc(1, sizeof(*k));

	if (!k || match_new(&k->type, type_rule, LEN(type_rule)) < 0 ||
	    match_new(&k->unit, unit_rule, LEN(unit_rule)) < 0) {
		knames_free(k);
		return -ENOMEM;
	}
	*out = k;
	return 0;
}

void knames_free(struct knames *k)
{
	if (!k)
		return;
	match_free(k->type);
	match_free(k->unit);
	free(k);
}

double type_bytes(enum gpu_type t)
{
	static const double bytes[GPU_TYPES] = {
		[GPU_FP64] = 8, [GPU_FP32] = 4, [GPU_TF32] = 4,  [GPU_FP16] = 2,
		[GPU_BF16] = 2, [GPU_FP8] = 1,  [GPU_FP4] = 0.5, [GPU_INT8] = 1,
	};

	return bytes[t];
}

static const char *number(const char *s, uint32_t *out)
{
	uint64_t v = 0;
	const char *from = s;

	for (; *s >= '0' && *s <= '9'; s++)
		v = v < UINT32_MAX ? v * 10 + (uint64_t)(*s - '0') : v;
	*out = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	return s == from ? NULL : s;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* --- tiles --- */

/* Reads "128x64", "128x64x32" at s: how many sizes, and where they end. */
static uint32_t sizes_at(const char *s, uint32_t v[3], const char **end)
{
	uint32_t n = 0;

	for (; n < 3; s++) {
		const char *next = number(s, &v[n]);

		if (!next)
			break;
		n++;
		s = *end = next;
		if (*s != 'x')
			break;
	}
	return n;
}

static void find_tile(struct kname *out, const char *name)
{
	for (const char *s = name; *s; s++) {
		uint32_t v[3] = { 0 }, k[3] = { 0 }, n;
		const char *end = s, *more;

		if (!is_digit(*s) || (s > name && is_digit(s[-1])))
			continue;
		n = sizes_at(s, v, &end);
		if (n >= 2 && v[0] >= 16 && v[1] >= 8 && v[0] <= TILE_MOST && v[1] <= TILE_MOST &&
		    strncmp(end, "gemm", 4)) {
			out->tile_m = v[0];
			out->tile_n = v[1];
			out->tile_k = v[2];
			if (n == 2 && *end == '_' && sizes_at(end + 1, k, &more) == 2)
				out->tile_k = k[0];
			return;
		}
		s = end > s ? end - 1 : s;
	}
}

/* --- PyTorch's elementwise kernels --- */

static uint32_t pointers(const char *name)
{
	const char *s = strstr(name, "array<char*, ");
	uint32_t n = 0;

	if (!s)
		s = strstr(name, "Array<char*, ");
	if (s)
		number(s + strlen("array<char*, "), &n);
	else if (strstr(name, "BinaryFunctor") || strstr(name, "CUDAFunctor_add"))
		n = 3;
	else if (strstr(name, "FillFunctor"))
		n = 1;
	else
		n = 2;
	return n <= 16 ? n : 0;
}

static void find_elementwise(struct kname *out, const char *name)
{
	const char *s = strstr(name, "elementwise_kernel"), *open = s ? strchr(s, '<') : NULL;
	bool vectors = s && s - name >= 11 && !strncmp(s - 11, "vectorized_", 11);
	uint32_t a = 0, b = 0;

	if (!open)
		return;
	s = number(open + 1, &a);
	if (s && !strncmp(s, ", ", 2))
		number(s + 2, &b);
	if (!vectors && b) {
		out->threads = a;
		out->per_thread = b;
	} else {
		out->per_thread = a > 4 ? a : 4;
	}
	out->tensors = pointers(name);
	if (out->per_thread > 64 || out->threads > 1024)
		out->per_thread = out->threads = 0;
}

/* --- tinygrad --- */

static void find_loops(struct kname *out, const char *name)
{
	uint64_t loops = 1;
	const char *s = name + 1;
	uint32_t v;

	if ((*name != 'r' && *name != 'E') || *s != '_')
		return;
	while (*s == '_' && is_digit(s[1])) {
		s = number(s + 1, &v);
		if (!v || __builtin_mul_overflow(loops, v, &loops))
			return;
	}
	if (*s == 'n' && is_digit(s[1])) /* the n-th kernel of that name */
		s = number(s + 1, &v);
	if (*s)
		return;
	out->loops = loops;
	out->sums = *name == 'r';
}

void kname_of(struct kname *out, const struct knames *k, const char *name)
{
	size_t len = strlen(name);
	uint8_t type = match_find(k->type, name, len, MATCH_NONE);
	uint8_t unit = match_find(k->unit, name, len, MATCH_NONE);

	*out = (struct kname){ .typed = type != MATCH_NONE,
			       .type = type != MATCH_NONE ? (enum gpu_type)type : GPU_FP32,
			       .tensor = unit != MATCH_NONE ? unit : -1 };
	find_elementwise(out, name);
	if (!out->per_thread)
		find_tile(out, name);
	find_loops(out, name);
}

/* --- work --- */

static double product(const uint32_t v[3])
{
	return (double)v[0] * v[1] * v[2];
}

bool kname_work(struct roof_work *out, const struct kname *n, const struct geo *g)
{
	struct roof_work w = { .how = WORK_NAME, .type = n->type };
	double elements;

	if (n->loops) {
		w.flops = (double)n->loops * (n->sums ? 2 : 1);
		if (!n->sums) /* one read and one written, at least */
			w.bytes = 2 * (double)n->loops * type_bytes(n->type);
	} else if (n->per_thread && n->typed && n->tensors && product(g->grid) > 0) {
		elements = product(g->grid) * (n->threads ? n->threads : product(g->block)) *
			   n->per_thread;
		w.flops = elements;
		w.bytes = elements * n->tensors * type_bytes(n->type);
	} else {
		return false;
	}
	*out = w;
	return true;
}

enum gpu_type kname_type(const struct kname *n, uint32_t scalar)
{
	static const uint8_t by_scalar[] = {
		[1] = GPU_INT8, [5] = GPU_FP16,  [6] = GPU_FP32,  [7] = GPU_FP64,
		[9] = GPU_FP32, [10] = GPU_FP64, [15] = GPU_BF16, [23] = GPU_FP8,
		[24] = GPU_FP8, [25] = GPU_FP8,  [26] = GPU_FP8,
	};
	enum gpu_type t = GPU_FP32;

	if (scalar < sizeof(by_scalar) && by_scalar[scalar])
		t = (enum gpu_type)by_scalar[scalar];
	/* Products of fp32 may be of tensor cores: their kernel's name says it. */
	return t == GPU_FP32 && n->typed && n->type == GPU_TF32 ? GPU_TF32 : t;
}

bool kname_on_tensor_cores(const struct kname *n, bool matrix, enum gpu_type type)
{
	if (n->tensor >= 0)
		return n->tensor;
	return matrix && type != GPU_FP32 && type != GPU_FP64;
}
