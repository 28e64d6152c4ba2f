/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwarf.c - see dwarf.h.
 *
 * The file is mapped: of debug information of gigabytes only the pages that are looked at are read.
 * The tree of debug entries is walked here: entries are counted and their depth is bounded, where
 * libdw's own walk follows whatever the file says.
 */
#include "stacks/debug/dwarf.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AON_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/vec.h"

#define DEPTH   48u
#define ENTRIES 200000u    /* of one look */
#define UNITS   200000u    /* of a file that has no table of addresses, */
#define RANGES  (1u << 20) /* and ranges of addresses of all of them */

/* Code of a unit. */
struct range {
	Dwarf_Addr low, high;
	Dwarf_Off unit;
};

struct dwarf {
	Dwarf *dw;
	bool listed;         /* .range is filled */
	struct range *range; /* owned */
	size_t ranges;
};

/* --- the unit of an address --- */

static bool add_unit(struct dwarf *d, Dwarf_Die *cu)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(cu, at, &base, &low, &high)) > 0) {
		if (d->ranges == RANGES || vec_more(&d->range, d->ranges, sizeof(*d->range)))
			return false;
		d->range[d->ranges++] = (struct range){ low, high, dwarf_dieoffset(cu) };
	}
	return true;
}

/* clang makes no table of addresses: the units say themselves which are theirs. */
static void list_units(struct dwarf *d)
{
	Dwarf_Off at = 0, next;
	size_t head, n = 0;
	Dwarf_Die cu;

	d->listed = true;
	for (; n++ < UNITS && !dwarf_nextcu(d->dw, at, &next, &head, NULL, NULL, NULL) && next > at;
	     at = next)
		if (dwarf_offdie(d->dw, at + head, &cu) && !add_unit(d, &cu))
			return;
}

static bool unit_of(struct dwarf *d, Dwarf_Addr pc, Dwarf_Die *out)
{
	Dwarf_Aranges *table;
	size_t n = 0;

	if (!dwarf_getaranges(d->dw, &table, &n) && n)
		return dwarf_addrdie(d->dw, pc, out) != NULL;
	if (!d->listed)
		list_units(d);
	for (size_t i = 0; i < d->ranges; i++)
		if (pc >= d->range[i].low && pc < d->range[i].high)
			return dwarf_offdie(d->dw, d->range[i].unit, out) != NULL;
	return false;
}

/* --- its entries --- */

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

/* --- what they are called, and where they are --- */

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *s = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &a));

	return s ? s : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &a));
}

/* Headers of the compiler, of the system and of packages: what a program takes from there is not its own. */
static bool is_system(const char *path)
{
	static const char *const in[] = {
		"/usr/include/", "/usr/local/include/", "/usr/lib/",
		"/include/c++/", "/site-packages/",     "/dist-packages/"
	};

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		if (strstr(path, in[i]))
			return true;
	return false;
}

/* The whole path, or as many of its last folders as there is room for. */
static void set_file(struct native_name *to, const char *path)
{
	const char *at = path ? path : "";
	size_t n = strlen(at);

	if (is_system(at))
		to->flags |= NATIVE_SYSTEM;
	if (n >= sizeof(to->file)) {
		at = strchr(at + n - sizeof(to->file) + 1, '/');
		at = at ? at + 1 : "";
	}
	snprintf(to->file, sizeof(to->file), "%s", at);
}

static uint32_t number(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute a;
	Dwarf_Word v = 0;

	dwarf_formudata(dwarf_attr(die, attr, &a), &v);
	return v <= INT32_MAX ? (uint32_t)v : 0;
}

static bool set_place(struct native_name *to, Dwarf_Die *cu, Dwarf_Addr pc)
{
	Dwarf_Line *l = dwarf_getsrc_die(cu, pc);
	int n = 0;

	if (!l || dwarf_lineno(l, &n) || n <= 0)
		return false;
	to->line = (uint32_t)n;
	set_file(to, dwarf_linesrc(l, NULL, NULL));
	return true;
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

size_t dwarf_look(struct dwarf *d, uint64_t vaddr, struct native_name out[NATIVE_INLINES])
{
	struct chain c = { .left = ENTRIES };
	Dwarf_Die cu;
	size_t n = 0, first, all;

	if (!unit_of(d, vaddr, &cu))
		return 0;
	descend(&c, &cu, vaddr, 0);
	/* A function inside another one (a lambda's, a local class's) stands for itself. */
	for (first = c.n; first > 0; first--)
		if (dwarf_tag(&c.die[first - 1]) == DW_TAG_subprogram)
			break;
	first -= first > 0;
	/* What is inlined deepest is left out, if there is too much. */
	all = c.n - first > NATIVE_INLINES ? first + NATIVE_INLINES : c.n;
	for (size_t i = all; i-- > first;) {
		const char *name = name_of(&c.die[i]);

		out[n] = (struct native_name){ .flags = i > first ? FRAME_INLINE : 0 };
		snprintf(out[n].name, sizeof(out[n].name), "%s", name ? name : "");
		if (i + 1 < c.n)
			set_call(&out[n], &cu, &c.die[i + 1]);
		else
			set_place(&out[n], &cu, vaddr);
		n++;
	}
	if (n)
		return n;
	/* Lines alone (-g1, split DWARF): the symbol has the name. */
	out[0] = (struct native_name){ .line = 0 };
	return set_place(&out[0], &cu, vaddr);
}

struct dwarf *dwarf_open(int fd)
{
	struct dwarf *d = calloc(1, sizeof(*d));
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = d ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (elf)
		d->dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (d && d->dw)
		return d;
	free(d);
	return NULL; /* the child ends: so does what libelf has */
}

#else

struct dwarf *dwarf_open(int fd)
{
	(void)fd;
	return NULL;
}

size_t dwarf_look(struct dwarf *d, uint64_t vaddr, struct native_name out[NATIVE_INLINES])
{
	(void)d, (void)vaddr, (void)out;
	return 0;
}

#endif
