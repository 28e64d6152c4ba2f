/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.c - names, domains and registered strings.
 *
 * Handles are keys of two tables of fixed size, filled with compare-and-swap and never emptied.
 * A token of ours is the address of its own slot. When a table is full the app gets the other
 * injection's handle or NULL: NVTX's default domain, and the name "(other)".
 */
#include "probe/nvtx/name.h"

#include <string.h>

#include <aon/aon.h>

#include "base/utf8.h"

#define PREFIX_MAX 120u
#define PAGE       4096u

struct table {
	struct handle_slot *slot;
	uint32_t count; /* a power of two */
	_Atomic(uint32_t) *next;
};

struct domain {
	_Atomic(uint32_t) ready; /* A: stored after the rest, loaded before it */
	uint32_t len;
	_Atomic(uintptr_t) token; /* ours; 0: none yet */
	char prefix[PREFIX_MAX];
};

struct seen nvtx_seen[SEEN];
struct handle_slot nvtx_string_slot[STRINGS], nvtx_domain_slot[HANDLES];
static _Atomic(uint32_t) string_next, domain_next;
static const struct table strings = { nvtx_string_slot, STRINGS, &string_next };
static const struct table handles = { nvtx_domain_slot, HANDLES, &domain_next };
static struct domain domains[NVTX_DOMAINS];
static _Atomic(uint32_t) domain_count = 1; /* 0 is the default one */

static struct handle_slot *probe(const struct table *t, uintptr_t at, uint32_t i)
{
	return &t->slot[(at + i) & (t->count - 1)];
}

static uintptr_t hash(uintptr_t key)
{
	return (key * 0x9e3779b97f4a7c15u) >> 40;
}

static void *table_put(const struct table *t, void *theirs, uint32_t value)
{
	uintptr_t at = theirs ? hash((uintptr_t)theirs)
			      : atomic_fetch_add_explicit(t->next, 1, memory_order_relaxed);

	for (uint32_t i = 0; i < PROBES; i++) {
		struct handle_slot *s = probe(t, at, i);
		uintptr_t key = theirs ? (uintptr_t)theirs : (uintptr_t)s, old = 0;

		/* Theirs may come again: they know a text already, or use a handle anew. */
		if (atomic_compare_exchange_strong_explicit(
			    &s->key, &old, key, memory_order_relaxed, memory_order_relaxed) ||
		    (theirs && old == key)) {
			atomic_store_explicit(&s->value, value, memory_order_relaxed);
			return (void *)key;
		}
	}
	return theirs;
}

/* 0 for what is not in the table. The app orders its own use of a handle after its making. */
static uint32_t table_get(const struct table *t, const void *handle)
{
	struct handle_slot *s = own_slot(t->slot, t->count, handle);
	uintptr_t at = hash((uintptr_t)handle), key;

	if (s)
		return value_of(s);
	for (uint32_t i = 0; handle && i < PROBES; i++) {
		s = probe(t, at, i);
		key = atomic_load_explicit(&s->key, memory_order_relaxed);
		if (key == (uintptr_t)handle)
			return value_of(s);
		if (!key)
			break;
	}
	return 0;
}

uint32_t nvtx_domain(const void *handle)
{
	return table_get(&handles, handle);
}

bool nvtx_is_ours(const void *handle)
{
	return own_slot(nvtx_string_slot, STRINGS, handle) ||
	       own_slot(nvtx_domain_slot, HANDLES, handle);
}

size_t nvtx_append(char *out, size_t len, size_t cap, struct nvtx_string s)
{
	char c[4];
	size_t n;

	if (s.ascii) {
		n = strnlen(s.ascii, cap - 1 - len);
		memcpy(out + len, s.ascii, n);
		len += n;
	}
	for (const wchar_t *w = s.wide; w && *w; w++) {
		n = utf8_put(c, (uint32_t)*w);
		if (len + n >= cap)
			break;
		memcpy(out + len, c, n);
		len += n;
	}
	out[len] = 0;
	return len;
}

/* Not inlined: its buffer is no business of a call that needs none. */
static __attribute__((noinline)) uint32_t composed(uint32_t domain, struct nvtx_string s)
{
	const struct domain *d = &domains[domain % NVTX_DOMAINS];
	char text[NVTX_TEXT_MAX];
	size_t len = atomic_load_explicit(&d->ready, memory_order_acquire) ? d->len : 0; /* A */

	memcpy(text, d->prefix, len);
	nvtx_append(text, len, sizeof(text), s);
	return aon_name(text);
}

static void remember(uint32_t domain, const char *text, uint32_t id)
{
	struct seen *c = seen_slot(domain, text);
	size_t word = sizeof(c->word[0]), room = PAGE - (uintptr_t)text % PAGE;
	size_t bytes = strnlen(text, sizeof(c->word)) + 1, last = (bytes - 1) / word;
	uint32_t free = 0;

	if (bytes > sizeof(c->word) || (last + 1) * word > room ||
	    !atomic_compare_exchange_strong_explicit(&c->taken, &free, 1, memory_order_relaxed,
						     memory_order_relaxed))
		return;
	c->id = id;
	c->tag = domain + 1;
	c->last = (uint32_t)last;
	memcpy(c->word, text, bytes);
	memset(&c->mask, 0xff, last ? word : bytes);
	memset(&c->mask_last, 0xff, bytes - last * word);
	atomic_store_explicit(&c->at, text, memory_order_release); /* B */
}

uint32_t nvtx_name(uint32_t domain, struct nvtx_string s)
{
	const struct seen *c = s.ascii ? seen_text(domain, s.ascii) : NULL;
	uint32_t id;

	if (c)
		return c->id;
	if (!s.ascii && !s.wide)
		s.ascii = "(no name)";
	id = domain || s.wide ? composed(domain, s) : aon_name(s.ascii);
	if (id && s.ascii)
		remember(domain, s.ascii, id);
	return id;
}

uint32_t nvtx_event_name(uint32_t domain, const struct nvtx_event *e)
{
	struct nvtx_string s = { NULL, NULL };

	if (e && e->size >= sizeof(*e)) {
		if (e->text_type == NVTX_REGISTERED)
			return table_get(&strings, e->text.registered);
		if (e->text_type == NVTX_ASCII)
			s.ascii = e->text.ascii;
		if (e->text_type == NVTX_WIDE)
			s.wide = e->text.wide;
	}
	return nvtx_name(domain, s);
}

/* The domain of that prefix, made if it is new; 0 when there are too many. */
static uint32_t find_domain(const char *prefix, uint32_t len)
{
	uint32_t n = atomic_load_explicit(&domain_count, memory_order_relaxed);

	for (uint32_t i = 1; i < n; i++)
		if (atomic_load_explicit(&domains[i].ready, memory_order_acquire) /* A */ &&
		    domains[i].len == len && !memcmp(domains[i].prefix, prefix, len))
			return i;
	do {
		if (n == NVTX_DOMAINS)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(
		&domain_count, &n, n + 1, memory_order_relaxed, memory_order_relaxed));
	memcpy(domains[n].prefix, prefix, len);
	domains[n].len = len;
	atomic_store_explicit(&domains[n].ready, 1, memory_order_release); /* A */
	return n;
}

void *nvtx_domain_create(struct nvtx_string name, void *theirs)
{
	char prefix[PREFIX_MAX];
	size_t len = nvtx_append(prefix, 0, sizeof(prefix) - 2, name);
	uint32_t d = 0;
	uintptr_t token;

	if (len) {
		memcpy(prefix + len, ": ", 2);
		d = find_domain(prefix, (uint32_t)len + 2);
	}
	if (theirs || !d)
		return table_put(&handles, theirs, d);
	token = atomic_load_explicit(&domains[d].token, memory_order_relaxed);
	if (!token) {
		token = (uintptr_t)table_put(&handles, NULL, d);
		atomic_store_explicit(&domains[d].token, token, memory_order_relaxed);
	}
	return (void *)token;
}

void *nvtx_string_register(uint32_t domain, struct nvtx_string text, void *theirs)
{
	return table_put(&strings, theirs, nvtx_name(domain, text));
}
