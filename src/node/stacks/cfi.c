/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.c - finds a function's entry in .eh_frame and runs its program; see cfi.h.
 *
 *	.eh_frame_hdr  version, three encodings, then a sorted table of (function, entry)
 *	entry (FDE)    length, distance back to its CIE, function's begin and size, program
 *	CIE            length, 0, version, augmentation, factors, the program that comes first
 */
#include "stacks/cfi.h"

#include <errno.h>
#include <string.h>

#include "stacks/cfi_priv.h"

#define ENTRY 16384u /* bytes of a CIE or FDE that are looked at */
#define PAGE  4096u

#define PE_OMIT  0xffu
#define PE_TABLE 0x3bu /* pairs of 4 bytes, relative to the table's header: what linkers write */

const unsigned char cfi_kept[CFI_KEPT] = { 3, 6, 12, 13, 14, 15, 16 };

/* --- the table --- */

struct pair {
	int32_t function, entry; /* relative to the header */
};

/* Binary search by pages of the file: the last steps are within one. -ENOENT: before the first. */
static int search(const struct image *i, uint64_t table, uint64_t count, uint64_t vaddr,
		  struct pair *out)
{
	struct pair page[PAGE / sizeof(struct pair)];
	uint64_t low = 0, high = count; /* the answer is in [low, high) or before it */
	struct pair best;
	bool found = false;

	while (low < high) {
		bool few = high - low <= sizeof(page) / sizeof(page[0]);
		uint64_t at = few ? low : low + (high - low) / 2;
		size_t n = few ? (size_t)(high - low) : 1;

		if (image_at(i, table + at * sizeof(page[0]), page, n * sizeof(page[0])) !=
		    (ptrdiff_t)(n * sizeof(page[0])))
			return -ENOEXEC;
		for (size_t k = 0; few && k < n; k++) {
			if (i->frames + (uint64_t)(int64_t)page[k].function > vaddr)
				break;
			best = page[k];
			found = true;
		}
		if (few)
			break;
		if (i->frames + (uint64_t)(int64_t)page[0].function > vaddr) {
			high = at;
		} else {
			best = page[0];
			found = true;
			low = at + 1;
		}
	}
	if (!found)
		return -ENOENT;
	*out = best;
	return 0;
}

static int find_pair(const struct image *i, uint64_t vaddr, struct pair *out)
{
	unsigned char head[64];
	struct cfi_bytes c = { .b = head, .vaddr = i->frames };
	ptrdiff_t n = i->frames ? image_at(i, i->frames, head, sizeof(head)) : -ENOENT;
	unsigned int frame_enc, count_enc, table_enc;
	uint64_t count;

	if (n < 0)
		return (int)n;
	c.n = (size_t)n;
	if (cur_fixed(&c, 1) != 1)
		return -ENOENT;
	frame_enc = (unsigned int)cur_fixed(&c, 1);
	count_enc = (unsigned int)cur_fixed(&c, 1);
	table_enc = (unsigned int)cur_fixed(&c, 1);
	if (table_enc != PE_TABLE || count_enc == PE_OMIT)
		return -ENOENT;
	if (frame_enc != PE_OMIT)
		cur_pointer(&c, frame_enc, false);
	count = cur_pointer(&c, count_enc, true);
	if (c.bad || count > i->frames_size / sizeof(*out))
		return -ENOEXEC;
	return search(i, i->frames + c.at, count, vaddr, out);
}

bool cfi_begins(const struct image *i, uint64_t vaddr)
{
	struct pair p;

	return !find_pair(i, vaddr, &p) && i->frames + (uint64_t)(int64_t)p.function == vaddr;
}

/* --- entries --- */

/* A CIE or FDE, from behind its length on. */
static int entry(const struct image *i, uint64_t vaddr, unsigned char raw[ENTRY],
		 struct cfi_bytes *c)
{
	ptrdiff_t n = image_at(i, vaddr, raw, 512); /* mostly enough */
	uint32_t len;

	if (n < 4)
		return -ENOEXEC;
	memcpy(&len, raw, sizeof(len));
	if (len > ENTRY - 4)
		return -ENOEXEC; /* and those whose length has 64 bits */
	if (len + 4u > (size_t)n)
		n = image_at(i, vaddr, raw, len + 4u);
	if (n < 0 || len + 4u > (size_t)n)
		return -ENOEXEC;
	*c = (struct cfi_bytes){ .b = raw, .at = 4, .n = len + 4u, .vaddr = vaddr };
	return 0;
}

static int augmentation(struct cfi_bytes *c, const char *text, struct cfi_common *out)
{
	size_t end;
	uint64_t len;

	if (*text != 'z')
		return *text ? -ENOEXEC : 0;
	out->sized = true;
	len = cur_uleb(c);
	if (len > c->n - c->at)
		return -ENOEXEC;
	end = c->at + (size_t)len;
	for (text++; *text; text++) {
		if (*text == 'R')
			out->enc = (unsigned int)cur_fixed(c, 1);
		else if (*text == 'L')
			cur_fixed(c, 1);
		else if (*text == 'P')
			cur_pointer(c, (unsigned int)cur_fixed(c, 1), false);
		else if (*text == 'S')
			out->signal = true;
		else
			break; /* what it means is not known, and neither is what follows */
	}
	c->at = end;
	return c->bad ? -ENOEXEC : 0;
}

/* Leaves the cursor at the CIE's program. */
static int common(struct cfi_bytes *c, struct cfi_common *out)
{
	unsigned int version;
	const char *text;
	uint64_t ret;

	*out = (struct cfi_common){ 0 };
	if (cur_fixed(c, 4) != 0)
		return -ENOEXEC;
	version = (unsigned int)cur_fixed(c, 1);
	text = (const char *)c->b + c->at;
	while (c->at < c->n && c->b[c->at])
		c->at++;
	cur_fixed(c, 1);
	out->code = cur_uleb(c);
	out->data = cur_sleb(c);
	ret = version == 1 ? cur_fixed(c, 1) : cur_uleb(c);
	if (c->bad || (version != 1 && version != 3) || ret != cfi_kept[CFI_RETURN])
		return -ENOEXEC;
	return augmentation(c, text, out);
}

int cfi_find(const struct image *i, uint64_t vaddr, struct cfi_rule *out)
{
	unsigned char fde[ENTRY], cie[ENTRY];
	struct cfi_bytes f, c;
	struct cfi_common com;
	struct cfi_rule r;
	struct pair p;
	uint64_t begin, at;
	int err = find_pair(i, vaddr, &p);

	if (err)
		return err;
	at = i->frames + (uint64_t)(int64_t)p.entry;
	err = entry(i, at, fde, &f);
	if (err)
		return err;
	err = entry(i, at + 4 - cur_fixed(&f, 4), cie, &c);
	err = err ? err : common(&c, &com);
	if (err)
		return err;
	begin = cur_pointer(&f, com.enc, true);
	if (f.bad || begin > vaddr || vaddr - begin >= cur_pointer(&f, com.enc, false) ||
	    begin > UINT32_MAX)
		return -ENOENT;
	at = com.sized ? cur_uleb(&f) : 0;
	if (f.bad || at > f.n - f.at)
		return -ENOEXEC;
	f.at += (size_t)at;
	err = cfi_run(&com, &c, &f, begin, vaddr, &r);
	if (err)
		return err;
	r.begin = (uint32_t)begin;
	r.signal = com.signal;
	*out = r;
	return 0;
}
