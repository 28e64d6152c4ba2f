/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.h - the fast path from the arguments of an NVTX call to its name: inlined into the calls.
 * handle.c fills the tables.
 */
#pragma once

#include "probe/nvtx/nvtx.h"

#define STRINGS    (1u << 15)
#define HANDLES    (1u << 8) /* of domains: several may have one name */
#define PROBES     32u
#define SEEN_BITS  9
#define SEEN       (1u << SEEN_BITS)
#define SEEN_WORDS 11u

struct handle_slot {
	_Atomic(uintptr_t) key;  /* 0: free */
	_Atomic(uint32_t) value; /* written before the app gets the handle */
};

/*
 * A cache of texts by address: comparing with a copy is cheaper than looking a name up. An entry is
 * filled once and never changed; an address whose text has changed is looked up. Texts are compared
 * by words, through masks of the bytes that count; an address whose words would reach into the next
 * page is not cached.
 */
struct seen {
	_Atomic(const char *) at; /* B: stored after the rest, loaded before it; NULL: not there */
	uint32_t tag;             /* domain + 1 */
	uint32_t id;
	_Atomic(uint32_t) taken;  /* by the thread that fills it */
	uint32_t last;            /* number of the last word */
	uint64_t mask, mask_last; /* of the first and the last word; all others count whole */
	uint64_t word[SEEN_WORDS];
};

_Static_assert(sizeof(struct seen) == 128, "whole cache lines");

extern struct seen nvtx_seen[SEEN];
extern struct handle_slot nvtx_string_slot[STRINGS], nvtx_domain_slot[HANDLES];

/* The slot that a token of ours names; NULL: it is none. */
static inline struct handle_slot *own_slot(struct handle_slot *slots, uint32_t count,
					   const void *handle)
{
	uintptr_t off = (uintptr_t)handle - (uintptr_t)slots;

	return off < count * sizeof(*slots) ? &slots[off / sizeof(*slots)] : NULL;
}

static inline uint32_t value_of(struct handle_slot *s)
{
	return atomic_load_explicit(&s->value, memory_order_relaxed);
}

/* Bytes after a text's end may belong to another thread, or be unmapped. */
struct text_word {
	uint64_t v;
} __attribute__((packed, may_alias));

__attribute__((no_sanitize_address, no_sanitize_thread)) static inline uint64_t
word_at(const char *text, uint32_t i)
{
	return ((const struct text_word *)(const void *)text)[i].v;
}

static inline struct seen *seen_slot(uint32_t domain, const char *text)
{
	return &nvtx_seen[((uint32_t)(uintptr_t)text + domain) * 0x9e3779b1u >> (32 - SEEN_BITS)];
}

/* The entry of the text; NULL: look it up. */
static inline const struct seen *seen_text(uint32_t domain, const char *text)
{
	const struct seen *c = seen_slot(domain, text);

	if (atomic_load_explicit(&c->at, memory_order_acquire) != text /* B */ ||
	    c->tag != domain + 1 || ((word_at(text, 0) ^ c->word[0]) & c->mask))
		return NULL;
	for (uint32_t i = 1; __builtin_expect(i <= c->last, 0); i++)
		if ((word_at(text, i) ^ c->word[i]) & (i < c->last ? UINT64_MAX : c->mask_last))
			return NULL;
	return c;
}
