/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - an operation's name: "AllReduce bf16 RING LL", "Send f32 to 3". The words are NCCL's,
 * except for the types. NCCL's texts are read during the call only, and never kept.
 */
#include <string.h>

#include <aon/aon.h>

#include "probe/nccl/nccl.h"

#define TEXT_MAX 96u
#define WORD_MAX 31u

/*                size wide words  hash seq func count dtype chan algo proto  p2p: func count dtype peer chan */
/* clang-format off */
const struct nccl_layout nccl_layouts[NCCL_VERSIONS + 1] = {
	[1] = { 120, 0, 0,   32, 40, 48, 72, 84, 104, 106, 107,   40, 64, 56, 72,  0 },
	[2] = { 128, 0, 1,   32, 40, 48, 72, 88, 104, 112, 120,   40, 64, 56, 72,  0 },
	[3] = { 120, 0, 1,   32, 40, 48, 72, 88,  96, 104, 112,   40, 64, 56, 72,  0 },
	[4] = { 104, 0, 1,    0, 24, 32, 56, 72,  80,  88,  96,   24, 48, 40, 56, 60 },
	[5] = { 112, 1, 1,    0, 24, 32, 56, 72,  80,  88,  96,   24, 48, 40, 56, 60 },
	[6] = { 112, 1, 1,    0, 24, 32, 56, 72,  80,  88,  96,   24, 48, 40, 56, 60 },
};

/* Version 1 has numbers in their place. */
static const char *const funcs[] = { "Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce",
				     "SendRecv", "Send", "Recv" };
static const char *const algos[] = { "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
				     "NVLS_TREE", "PAT" };
static const char *const protos[] = { "LL", "LL128", "SIMPLE" };

/* By NCCL's number. */
static const struct {
	const char *theirs, *ours;
	uint32_t bytes;
} types[] = {
	{ "ncclInt8",       "i8",      1 },
	{ "ncclUint8",      "u8",      1 },
	{ "ncclInt32",      "i32",     4 },
	{ "ncclUint32",     "u32",     4 },
	{ "ncclInt64",      "i64",     8 },
	{ "ncclUint64",     "u64",     8 },
	{ "ncclFloat16",    "f16",     2 },
	{ "ncclFloat32",    "f32",     4 },
	{ "ncclFloat64",    "f64",     8 },
	{ "ncclBfloat16",   "bf16",    2 },
	{ "ncclFloat8e4m3", "f8e4m3",  1 },
	{ "ncclFloat8e5m2", "f8e5m2",  1 },
};
/* clang-format on */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

size_t nccl_append(char *out, size_t len, size_t cap, const char *text)
{
	for (size_t n = 0; text && n < WORD_MAX && text[n] && len + 1 < cap; n++)
		out[len++] = text[n];
	out[len] = '\0';
	return len;
}

size_t nccl_append_number(char *out, size_t len, size_t cap, uint32_t n)
{
	char digits[12];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	return nccl_append(out, len, cap, digits + at);
}

/* A word of a descriptor: a text, or in version 1 a number of `words`. */
static const char *word(const struct nccl_layout *l, const void *descr, uint8_t at,
			const char *const *words, size_t count)
{
	uint8_t n;

	if (l->words)
		return NCCL_GET(const char *, descr, at);
	n = NCCL_GET(uint8_t, descr, at);
	return n < count ? words[n] : NULL;
}

/* Appends the type's name; its size, or 0 when it is new to us. */
static uint32_t append_type(const struct nccl_layout *l, const void *descr, uint8_t at, char *out,
			    size_t *len)
{
	const char *text = l->words ? NCCL_GET(const char *, descr, at) : NULL;
	uint8_t number = l->words ? UINT8_MAX : NCCL_GET(uint8_t, descr, at);

	*len = nccl_append(out, *len, TEXT_MAX, " ");
	for (size_t i = 0; i < COUNT(types); i++)
		if (i == number || (text && !strncmp(text, types[i].theirs, WORD_MAX))) {
			*len = nccl_append(out, *len, TEXT_MAX, types[i].ours);
			return types[i].bytes;
		}
	*len = nccl_append(out, *len, TEXT_MAX, text ? text : "?");
	return 0;
}

static size_t append_word(char *out, size_t len, const char *text)
{
	if (!text || !*text)
		return len;
	return nccl_append(out, nccl_append(out, len, TEXT_MAX, " "), TEXT_MAX, text);
}

static void describe_coll(const struct nccl_layout *l, uint64_t type, const void *descr,
			  struct nccl_what *out)
{
	char text[TEXT_MAX] = "";
	size_t len =
		nccl_append(text, 0, sizeof(text), word(l, descr, l->func, funcs, COUNT(funcs)));
	uint32_t each = append_type(l, descr, l->dtype, text, &len);

	if (type == NCCL_CE_COLL) { /* by copy engines: no kernel, no protocol */
		len = append_word(text, len, "CE");
		append_word(text, len, NCCL_GET(const char *, descr, NCCL_AT_CE_SYNC));
	} else {
		len = append_word(text, len, word(l, descr, l->algo, algos, COUNT(algos)));
		append_word(text, len, word(l, descr, l->proto, protos, COUNT(protos)));
		out->channels = NCCL_GET(uint8_t, descr, l->channels);
	}
	out->name = aon_name(text);
	out->bytes = NCCL_GET(size_t, descr, l->count) * each;
	out->seq = NCCL_GET(uint64_t, descr, l->seq);
}

static void describe_p2p(const struct nccl_layout *l, const void *descr, struct nccl_what *out)
{
	const char *func = word(l, descr, l->p_func, funcs, COUNT(funcs));
	bool from = func && !strncmp(func, "Recv", WORD_MAX);
	char text[TEXT_MAX] = "";
	size_t len = nccl_append(text, 0, sizeof(text), func);
	uint32_t each = append_type(l, descr, l->p_dtype, text, &len);

	len = nccl_append(text, len, sizeof(text), from ? " from " : " to ");
	nccl_append_number(text, len, sizeof(text), (uint32_t)NCCL_GET(int, descr, l->p_peer));
	out->name = aon_name(text);
	out->bytes = NCCL_GET(size_t, descr, l->p_count) * each;
	out->channels = l->p_channels ? NCCL_GET(uint8_t, descr, l->p_channels) : 1;
}

void nccl_describe(uint32_t version, uint64_t type, const void *descr, struct nccl_what *out)
{
	const struct nccl_layout *l = &nccl_layouts[version];

	*out = (struct nccl_what){ .hash = l->hash ? NCCL_GET(uint64_t, descr, l->hash) : 0 };
	if (type == NCCL_P2P)
		describe_p2p(l, descr, out);
	else
		describe_coll(l, type, descr, out);
}

uint32_t nccl_api_name(uint64_t type, const void *descr)
{
	char text[TEXT_MAX] = "nccl";
	bool captured = false;
	size_t len;

	if (type == NCCL_GROUP)
		return aon_name("NCCL group");
	if (type == NCCL_KERNEL_LAUNCH)
		return aon_name("NCCL kernel launch");
	if (type == NCCL_GROUP_API) {
		len = nccl_append(text, 4, sizeof(text), "Group");
		captured = NCCL_GET(uint8_t, descr, NCCL_AT_API_FUNC);
	} else {
		len = nccl_append(text, 4, sizeof(text),
				  NCCL_GET(const char *, descr, NCCL_AT_API_FUNC));
		captured = NCCL_GET(uint8_t, descr,
				    type == NCCL_COLL_API ? NCCL_AT_COLL_CAPTURE
							  : NCCL_AT_P2P_CAPTURE);
	}
	nccl_append(text, len, sizeof(text), captured ? " (captured)" : "");
	return aon_name(text);
}
