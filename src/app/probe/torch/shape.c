/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape.c - names of operators and texts of their shapes, each made once and then found by hash.
 *
 * "[32]t6 [8,16]t6 [16,32]t6 > [8,32]t6": arguments, then results; of each the first four tensors,
 * read through torch's C shims. theory/op_work.h parses it. The arguments are gone when an operator
 * ends, so their text is kept, and the results are appended.
 */
#include <string.h>

#include <aon/provider.h>

#include "probe/torch/torch.h"

#define NAMES      4096u
#define TENSORS    4u
#define DIMS       6u
#define TAG_TENSOR 1u
#define SHAPE_TEXT 160u
#define ARENA      (256u << 10) /* of texts of arguments */

static struct {
	_Atomic uint64_t hash; /* 0: free */
	_Atomic uint32_t id;   /* 0: not there yet */
} names[NAMES];

static char arena[ARENA];
static _Atomic uint32_t arena_used = 1; /* 0 stands for no text */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static uint64_t hash_text(const char *s)
{
	size_t n = strlen(s);
	uint64_t h = n + 1, v;

	for (; n >= 8; s += 8, n -= 8) {
		memcpy(&v, s, 8);
		h = mix(h, v);
	}
	v = 0;
	memcpy(&v, s, n);
	return mix(h, v) | 1;
}

/* The id that is kept for a hash, or 0 and where to keep it; -1: no room. */
static uint32_t id_find(uint64_t hash, int *at)
{
	for (uint32_t i = (uint32_t)(hash >> 40), tries = 0; tries < 16; i++, tries++) {
		uint64_t have = atomic_load_explicit(&names[i % NAMES].hash, memory_order_relaxed);

		*at = (int)(i % NAMES);
		if (have == hash)
			return atomic_load_explicit(&names[*at].id, memory_order_relaxed);
		if (!have)
			return 0;
	}
	*at = -1;
	return 0;
}

static uint32_t id_keep(uint64_t hash, int at, uint32_t id)
{
	uint64_t none = 0;

	if (at >= 0 &&
	    (atomic_compare_exchange_strong_explicit(&names[at].hash, &none, hash,
						     memory_order_relaxed, memory_order_relaxed) ||
	     none == hash))
		atomic_store_explicit(&names[at].id, id, memory_order_relaxed);
	return id;
}

uint32_t shape_name(const char *name)
{
	uint64_t hash = hash_text(name);
	int at;
	uint32_t id = id_find(hash, &at);

	return __builtin_expect(id != 0, 1) ? id : id_keep(hash, at, aon_name(name));
}

/* --- tensors --- */

struct ivalue {
	void *payload; /* of a tensor: the at::Tensor, by whose address it is a handle */
	uint32_t tag;
};

static size_t put_number(char *text, uint64_t v)
{
	char digits[24];
	size_t d = sizeof(digits);

	do
		digits[--d] = (char)('0' + v % 10);
	while (v /= 10);
	memcpy(text, digits + d, sizeof(digits) - d);
	return sizeof(digits) - d;
}

/* Without a text it only adds to the hash. */
static size_t put_tensor(const struct ivalue *v, char *text, size_t cap, uint64_t *hash)
{
	void *handle = (void *)(uintptr_t)&v->payload;
	int64_t dim = 0, *sizes = NULL;
	int32_t dtype = 0;
	size_t n = 0;

	if (v->payload == torch.undefined || torch.dim(handle, &dim) ||
	    torch.sizes(handle, &sizes) || torch.dtype(handle, &dtype)) {
		*hash = mix(*hash, 1);
		if (text)
			text[n++] = '-';
		return n;
	}
	*hash = mix(*hash, (uint64_t)dim << 32 | (uint32_t)dtype);
	for (int64_t i = 0; i < dim && i < (int64_t)DIMS; i++)
		*hash = mix(*hash, (uint64_t)sizes[i]);
	if (!text)
		return 0;
	text[n++] = '[';
	for (int64_t i = 0; i < dim && i < (int64_t)DIMS && n + 26 < cap; i++) {
		if (i)
			text[n++] = ',';
		n += put_number(text + n, (uint64_t)sizes[i]);
	}
	text[n++] = ']';
	text[n++] = 't';
	return n + put_number(text + n, (uint64_t)(uint32_t)dtype % 100);
}

/* The first tensors of some values: how many, and their text's length in *used. */
static size_t put_values(const struct ivalue *v, size_t count, char *text, size_t *used,
			 uint64_t *hash)
{
	size_t tensors = 0;

	for (size_t i = 0; v && i < count && i < 32 && tensors < TENSORS; i++) {
		if (v[i].tag != TAG_TENSOR || !v[i].payload)
			continue;
		if (text && *used)
			text[(*used)++] = ' ';
		*used += put_tensor(&v[i], text ? text + *used : NULL, SHAPE_TEXT / TENSORS, hash);
		tensors++;
	}
	return tensors;
}

static bool can(void)
{
	return torch.seq_off && torch.dim && torch.sizes && torch.dtype;
}

/* --- arguments --- */

static uint32_t arena_put(const char *text, size_t len)
{
	uint32_t at =
		atomic_fetch_add_explicit(&arena_used, (uint32_t)len + 1, memory_order_relaxed);

	if (at > ARENA - len - 1) {
		atomic_store_explicit(&arena_used, ARENA, memory_order_relaxed);
		return 0;
	}
	memcpy(arena + at, text, len + 1);
	return at;
}

/* Where their text is, or 0: none, or no room. */
uint32_t shape_arguments(const struct record_function *rf)
{
	const uint8_t *from = (const uint8_t *)rf + torch.seq_off + 8;
	char text[2 * SHAPE_TEXT];
	uint64_t hash = 0x5ba9e5, again = 0;
	const struct ivalue *v;
	size_t count, used = 0;
	uint32_t id;
	int at;

	if (!can())
		return 0;
	memcpy(&v, from, sizeof(v));
	memcpy(&count, from + 8, sizeof(count));
	if (!put_values(v, count, NULL, &used, &hash))
		return 0;
	id = id_find(hash | 1, &at);
	if (id)
		return id;
	put_values(v, count, text, &used, &again);
	text[used] = '\0';
	return id_keep(hash | 1, at, arena_put(text, used));
}

/* --- with results --- */

/* std::vector<IValue>; wherever it is not what it should be, there are none. */
static const struct ivalue *results(const struct record_function *rf, size_t *count)
{
	const uint8_t *from = (const uint8_t *)rf + torch.seq_off + torch.results;
	const struct ivalue *v[3];

	*count = 0;
	if (!torch.results || !can())
		return NULL;
	memcpy(v, from, sizeof(v));
	if (!v[0] || (uintptr_t)v[0] % 16 || v[1] < v[0] || v[2] < v[1] || v[1] - v[0] > 8)
		return NULL;
	*count = (size_t)(v[1] - v[0]);
	return v[0];
}

/* The id of the whole text, which begins with that of the arguments. */
uint32_t shape_id(const struct record_function *rf, uint32_t arguments)
{
	uint64_t hash = mix(0xf1a7, arguments), again = 0;
	char text[5 * SHAPE_TEXT];
	const struct ivalue *v;
	size_t count, used = 0, more = 0;
	uint32_t id;
	int at;

	v = results(rf, &count);
	if (!put_values(v, count, NULL, &used, &hash) && !arguments)
		return 0;
	id = id_find(hash | 1, &at);
	if (id)
		return id;
	used = strlen(arena + arguments);
	memcpy(text, arena + arguments, used);
	memcpy(text + used, " > ", 3);
	if (put_values(v, count, text + used + 3, &more, &again))
		used += 3 + more;
	text[used] = '\0';
	return id_keep(hash | 1, at, aon_name(text));
}
