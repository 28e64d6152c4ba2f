/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c - see symbols.h. */
#include "stacks/symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef AON_LZMA
#include <lzma.h>
#endif

#include "base/vec.h"

#define BATCH     1024u /* symbols of one read */
#define DIGIT     11u   /* bits: three digits of an address, so what is sorted is a new array */
#define ALIASES   16u   /* of one address, or one in the other */
#define NO_SIZE   64u   /* bytes that a function without a size has at most: _init */
#define MINI      0x80000000u   /* its name is in the packed table */
#define MINI_MAX  (4u << 20)    /* bytes of that table, unpacked */
#define NAMES_MAX (32ull << 20) /* bytes of names that symbols_find() looks at */

/* --- reading --- */

typedef int symbol_fn(void *arg, const Elf64_Sym *s);

static int each(const struct image *i, const struct image_symbols *from, symbol_fn *fn, void *arg)
{
	Elf64_Sym sym[BATCH];
	uint64_t left = from->table.size / sizeof(sym[0]), at = from->table.offset;
	int err = 0;

	while (left && !err) {
		size_t n = left < BATCH ? (size_t)left : BATCH;

		err = image_read(i, at, sym, n * sizeof(sym[0]));
		for (size_t k = 0; k < n && !err; k++)
			err = fn(arg, &sym[k]);
		at += n * sizeof(sym[0]);
		left -= n;
	}
	return err;
}

struct adding {
	struct symbols *to;
	uint32_t from; /* MINI, or 0 */
};

static int add(void *arg, const Elf64_Sym *s)
{
	struct adding *a = arg;
	struct symbols *to = a->to;
	unsigned int type = ELF64_ST_TYPE(s->st_info);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s->st_shndx == SHN_UNDEF ||
	    !s->st_value || s->st_value > UINT32_MAX || s->st_name >= MINI)
		return 0;
	if (to->n == SYMBOLS_MAX)
		return -E2BIG;
	if (vec_room(&to->row, &to->cap, to->n + 1, sizeof(*to->row)))
		return -ENOMEM;
	to->row[to->n++] = (struct symbol){
		.at = (uint32_t)s->st_value,
		.size = s->st_size > UINT32_MAX ? 0 : (uint32_t)s->st_size,
		.name = s->st_name | a->from,
	};
	return 0;
}

/*
 * By address, a digit at a time; those of one address stay in the order of the file. libtorch has 400,000:
 * comparing them would cost as much as ten thousand samples.
 */
static int sort(struct symbols *s)
{
	struct symbol *from = s->row, *to = malloc(s->n * sizeof(*to)), *swap;

	if (!to)
		return -ENOMEM;
	for (uint32_t shift = 0; shift < 32; shift += DIGIT) {
		size_t at[1u << DIGIT] = { 0 }, sum = 0;

		for (size_t i = 0; i < s->n; i++)
			at[from[i].at >> shift & ((1u << DIGIT) - 1)]++;
		for (size_t d = 0; d < 1u << DIGIT; d++) {
			size_t n = at[d];

			at[d] = sum;
			sum += n;
		}
		for (size_t i = 0; i < s->n; i++)
			to[at[from[i].at >> shift & ((1u << DIGIT) - 1)]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	free(to);
	s->row = from;
	s->cap = s->n;
	return 0;
}

#ifdef AON_LZMA
static int unpack(struct image *out, const struct image *i)
{
	uint64_t limit = 64u << 20;
	size_t in_at = 0, out_at = 0, in_n = (size_t)i->mini.size;
	unsigned char *in, *mem = NULL;
	int err = -ENOEXEC;

	if (!in_n || i->mini.size > MINI_MAX)
		return -ENOENT;
	in = malloc(in_n);
	mem = malloc(MINI_MAX);
	if (in && mem && !image_read(i, i->mini.offset, in, in_n) &&
	    lzma_stream_buffer_decode(&limit, 0, NULL, in, &in_at, in_n, mem, &out_at, MINI_MAX) ==
		    LZMA_OK) {
		vec_resize(&mem, out_at ? out_at : 1, 1); /* it shrinks, or stays */
		err = image_wrap(out, mem, out_at);
	}
	free(in);
	if (err)
		free(mem);
	return err;
}
#else
static int unpack(struct image *out, const struct image *i)
{
	(void)out, (void)i;
	return -ENOENT;
}
#endif

int symbols_read(struct symbols *out, const struct image *i)
{
	struct symbols s = { .mini = { .fd = -1 } };
	struct adding a = { .to = &s };
	int err = each(i, i->full.table.size ? &i->full : &i->dynamic, add, &a);

	if (!err && !i->full.table.size && !unpack(&s.mini, i)) {
		a.from = MINI;
		err = each(&s.mini, &s.mini.full, add, &a);
	}
	if (!err && s.n)
		err = sort(&s);
	if (err) {
		symbols_fini(&s);
		return err;
	}
	*out = s;
	return 0;
}

void symbols_fini(struct symbols *s)
{
	free(s->row);
	if (s->mini.mem)
		image_fini(&s->mini);
	*s = (struct symbols){ .mini = { .fd = -1 } };
}

/* --- looking up --- */

static int text_at(const struct image *i, const struct image_symbols *from, uint64_t name,
		   char *out, size_t cap)
{
	uint64_t left = name < from->text.size ? from->text.size - name : 0;
	size_t n = left < cap ? (size_t)left : cap;
	int err = n ? image_read(i, from->text.offset + name, out, n) : -ENOEXEC;

	if (err)
		return err;
	out[n - 1] = '\0';
	return *out ? 0 : -ENOENT;
}

static int name_of(const struct symbols *s, const struct image *i, uint32_t name, char *out,
		   size_t cap)
{
	if (name & MINI)
		return text_at(&s->mini, &s->mini.full, name & ~MINI, out, cap);
	return text_at(i, i->full.table.size ? &i->full : &i->dynamic, name, out, cap);
}

/* Of several names for one function the one that people use has fewer underscores before it. */
static size_t underscores(const char *name)
{
	return !strncmp(name, "_Z", 2) ? 0 : strspn(name, "_") + (strstr(name, "_GI_") ? 8 : 0);
}

static bool covers(const struct symbols *s, size_t k, uint64_t vaddr)
{
	const struct symbol *r = &s->row[k];
	uint64_t size = r->size;

	if (!size) {
		size_t next = k + 1;

		while (next < s->n && s->row[next].at == r->at)
			next++;
		size = next < s->n ? s->row[next].at - r->at : NO_SIZE;
		size = size < NO_SIZE ? size : NO_SIZE;
	}
	return vaddr - r->at < size;
}

int symbols_name(const struct symbols *s, const struct image *i, uint64_t vaddr, char *out,
		 size_t cap)
{
	size_t low = 0, high = s->n, best = SIZE_MAX;
	uint64_t at = UINT64_MAX;
	char head[32];

	while (low < high) { /* the first that begins behind the address */
		size_t mid = low + (high - low) / 2;

		if (s->row[mid].at <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t k = low, tries = 0; k-- > 0 && tries < ALIASES; tries++) {
		if (at != UINT64_MAX && s->row[k].at != at)
			break;
		if (!covers(s, k, vaddr) || name_of(s, i, s->row[k].name, head, sizeof(head)))
			continue;
		at = s->row[k].at;
		if (underscores(head) < best && !name_of(s, i, s->row[k].name, out, cap))
			best = underscores(head);
	}
	return best == SIZE_MAX ? -ENOENT : 0;
}

/* --- one symbol by its name --- */

struct finding {
	uint32_t name[ALIASES]; /* where its text is: linkers share the ends of names */
	size_t names;
	uint64_t at;
};

static int compare(void *arg, const Elf64_Sym *s)
{
	struct finding *f = arg;

	for (size_t k = 0; k < f->names && s->st_shndx != SHN_UNDEF; k++)
		if (s->st_name == f->name[k]) {
			f->at = s->st_value;
			return 1;
		}
	return 0;
}

static uint64_t find_in(const struct image *i, const struct image_symbols *from, const char *name)
{
	size_t len = strlen(name) + 1, n = (size_t)from->text.size;
	struct finding f = { .names = 0 };
	char *text = n && from->text.size <= NAMES_MAX ? malloc(n) : NULL;
	const char *at = text;

	if (!text || image_read(i, from->text.offset, text, n) < 0) {
		free(text);
		return 0;
	}
	while (f.names < ALIASES && (at = memmem(at, n - (size_t)(at - text), name, len))) {
		f.name[f.names++] = (uint32_t)(at - text);
		at++;
	}
	free(text);
	if (f.names)
		each(i, from, compare, &f);
	return f.at;
}

uint64_t symbols_find(const struct image *i, const char *name)
{
	uint64_t at = find_in(i, &i->dynamic, name);

	return at ? at : find_in(i, &i->full, name);
}
