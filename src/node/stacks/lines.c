/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.c - by libdw; see lines.h.
 *
 * The tree of debug entries is walked here: entries are counted and their depth is bounded, where
 * libdw's own walk follows whatever the file says.
 */
#include "stacks/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AON_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>

#define DEPTH   48u
#define ENTRIES 200000u /* of one look */

struct lines {
	Elf *elf;
	Dwarf *dwarf;
};

int lines_new(struct lines **out, const struct image *i)
{
	struct lines *l;

	if (!i->debug_bytes || i->fd < 0)
		return -ENOENT;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	l->elf = elf_begin(i->fd, ELF_C_READ, NULL); /* reads: a mapped file that shrinks kills */
	l->dwarf = l->elf ? dwarf_begin_elf(l->elf, DWARF_C_READ, NULL) : NULL;
	if (!l->dwarf) {
		lines_free(l);
		return -ENOENT;
	}
	*out = l;
	return 0;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	if (l->dwarf)
		dwarf_end(l->dwarf);
	if (l->elf)
		elf_end(l->elf);
	free(l);
}

/* The function, then what is inlined, each inside the one before. */
struct chain {
	Dwarf_Die die[DEPTH];
	size_t n, left;
};

static bool is_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* May an entry of this kind have code inside, and not say where? */
static bool may_hold(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_module;
}

static void descend(struct chain *c, Dwarf_Die *parent, Dwarf_Addr pc, unsigned int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		bool here = !may_hold(tag) && dwarf_haspc(&die, pc) > 0;

		if (!c->left-- || c->n == DEPTH) {
			c->left = 0;
			return;
		}
		if (here && is_code(tag))
			c->die[c->n++] = die;
		if (here || may_hold(tag)) {
			size_t had = c->n;

			descend(c, &die, pc, depth + 1);
			if (here || c->n > had || !c->left)
				return;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *s = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &a));

	return s ? s : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &a));
}

/* "/build/torch/aten/src/native/Copy.cpp" is "src/native/Copy.cpp". */
static void set_file(struct native_name *to, const char *path)
{
	const char *at = path ? path + strlen(path) : "";
	int slashes = 0;

	while (path && at > path && (at[-1] != '/' || ++slashes < 3))
		at--;
	snprintf(to->file, sizeof(to->file), "%s", at);
}

static uint32_t number(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute a;
	Dwarf_Word v = 0;

	dwarf_formudata(dwarf_attr(die, attr, &a), &v);
	return v <= INT32_MAX ? (uint32_t)v : 0;
}

static void set_place(struct native_name *to, Dwarf_Die *cu, Dwarf_Addr pc)
{
	Dwarf_Line *l = dwarf_getsrc_die(cu, pc);
	int n = 0;

	if (!l || dwarf_lineno(l, &n))
		return;
	to->line = n > 0 ? (uint32_t)n : 0;
	set_file(to, dwarf_linesrc(l, NULL, NULL));
}

/* Where an inlined function was called. */
static void set_call(struct native_name *to, Dwarf_Die *cu, Dwarf_Die *inlined)
{
	Dwarf_Files *files;
	size_t n;

	to->line = number(inlined, DW_AT_call_line);
	if (!dwarf_getsrcfiles(cu, &files, &n))
		set_file(to, dwarf_filesrc(files, number(inlined, DW_AT_call_file), NULL, NULL));
}

size_t lines_at(struct lines *l, uint64_t vaddr, struct native_name *out, size_t cap)
{
	struct chain c = { .left = ENTRIES };
	Dwarf_Die cu;
	size_t n = 0;

	if (!cap || !dwarf_addrdie(l->dwarf, vaddr, &cu))
		return 0;
	descend(&c, &cu, vaddr, 0);
	/* A function inside another one (a lambda's, a local class's) stands for itself. */
	for (size_t i = c.n; i-- > 0 && n < cap;) {
		const char *name = name_of(&c.die[i]);

		out[n] = (struct native_name){ .flags = FRAME_INLINE };
		snprintf(out[n].name, sizeof(out[n].name), "%s", name ? name : "");
		if (!n)
			set_place(&out[n], &cu, vaddr);
		else
			set_call(&out[n], &cu, &c.die[i + 1]);
		n++;
		if (dwarf_tag(&c.die[i]) == DW_TAG_subprogram)
			break;
	}
	if (n)
		out[n - 1].flags = 0;
	return n;
}

#else

int lines_new(struct lines **out, const struct image *i)
{
	(void)out, (void)i;
	return -ENOENT;
}

void lines_free(struct lines *l)
{
	(void)l;
}

size_t lines_at(struct lines *l, uint64_t vaddr, struct native_name *out, size_t cap)
{
	(void)l, (void)vaddr, (void)out, (void)cap;
	return 0;
}

#endif
