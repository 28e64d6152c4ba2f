/* SPDX-License-Identifier: Apache-2.0 */
/* got.c - the dynamic section, its two tables of relocations, and the entries that they name. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/got.h"

#define PAGE 4096u

struct image {
	uintptr_t base, relro, relro_end; /* relro: read-only once the loader is done */
	const ElfW(Dyn) * dyn;
	const ElfW(Sym) * sym;
	const char *text;
	const ElfW(Rela) * rela, *jump;
	size_t relas, jumps;
};

/* glibc's loader has turned the offset into an address, musl's has not. */
static uintptr_t address(const struct image *im, const ElfW(Dyn) * d)
{
	return d->d_un.d_ptr + (d->d_un.d_ptr < im->base ? im->base : 0);
}

static void read_dynamic(struct image *im)
{
	size_t relative = 0;

	for (const ElfW(Dyn) *d = im->dyn; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			im->sym = (const ElfW(Sym) *)address(im, d);
		else if (d->d_tag == DT_STRTAB)
			im->text = (const char *)address(im, d);
		else if (d->d_tag == DT_JMPREL)
			im->jump = (const ElfW(Rela) *)address(im, d);
		else if (d->d_tag == DT_PLTRELSZ)
			im->jumps = d->d_un.d_val / sizeof(*im->jump);
		else if (d->d_tag == DT_RELA)
			im->rela = (const ElfW(Rela) *)address(im, d);
		else if (d->d_tag == DT_RELASZ)
			im->relas = d->d_un.d_val / sizeof(*im->rela);
		else if (d->d_tag == DT_RELACOUNT)
			relative = d->d_un.d_val;
	}
	/* Those without a symbol come first, and are most of them. */
	if (im->rela && relative <= im->relas) {
		im->rela += relative;
		im->relas -= relative;
	}
}

static bool open_image(struct image *im, const struct dl_phdr_info *info)
{
	*im = (struct image){ .base = info->dlpi_addr };
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_DYNAMIC)
			im->dyn = (const ElfW(Dyn) *)at;
		if (p->p_type == PT_GNU_RELRO) {
			im->relro = at & ~(uintptr_t)(PAGE - 1);
			im->relro_end = (at + p->p_memsz) & ~(uintptr_t)(PAGE - 1);
		}
	}
	if (im->dyn)
		read_dynamic(im);
	return im->dyn && im->sym && im->text;
}

static int put(const struct image *im, void **entry, void *to)
{
	uintptr_t at = (uintptr_t)entry, page = at & ~(uintptr_t)(PAGE - 1);
	bool locked = at >= im->relro && at < im->relro_end;

	if (__atomic_load_n(entry, __ATOMIC_RELAXED) == to)
		return 0;
	if (locked && mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	__atomic_store_n(entry, to, __ATOMIC_RELEASE);
	if (locked)
		mprotect((void *)page, PAGE, PROT_READ);
	return 0;
}

static int take(const struct image *im, const ElfW(Rela) * rel, size_t n,
		const struct got_place *places, size_t wanted)
{
	int taken = 0, err;

	for (size_t i = 0; rel && i < n; i++) {
		uint32_t sym = (uint32_t)ELF64_R_SYM(rel[i].r_info);
		const char *name = im->text + im->sym[sym].st_name;

		for (size_t k = 0; sym && k < wanted; k++) {
			if (rel[i].r_addend || strcmp(name, places[k].name) != 0)
				continue;
			err = places[k].to
				      ? put(im, (void **)(im->base + rel[i].r_offset), places[k].to)
				      : 0;
			if (err)
				return err;
			taken++;
		}
	}
	return taken;
}

int got_take(const struct dl_phdr_info *info, const struct got_place *places, size_t n)
{
	struct image im;
	int a, b;

	if (!open_image(&im, info))
		return 0;
	a = take(&im, im.jump, im.jumps, places, n);
	b = a < 0 ? 0 : take(&im, im.rela, im.relas, places, n);
	return a < 0 ? a : b < 0 ? b : a + b;
}

bool got_needs(const struct dl_phdr_info *info, const char *soname)
{
	struct image im;

	if (!open_image(&im, info))
		return false;
	for (const ElfW(Dyn) *d = im.dyn; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && !strcmp(im.text + d->d_un.d_val, soname))
			return true;
	return false;
}

const char *got_soname(void *lib)
{
	const ElfW(Dyn) *name = NULL;
	struct link_map *map;
	struct image im;

	if (dlinfo(lib, RTLD_DI_LINKMAP, &map) || !map->l_ld)
		return NULL;
	im = (struct image){ .base = map->l_addr, .dyn = map->l_ld };
	read_dynamic(&im);
	for (const ElfW(Dyn) *d = im.dyn; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			name = d;
	return name && im.text ? im.text + name->d_un.d_val : NULL;
}
