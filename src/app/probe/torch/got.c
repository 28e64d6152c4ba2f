/* SPDX-License-Identifier: Apache-2.0 */
/* got.c - takes calls that a library makes, in its table of imported functions. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/torch/torch.h"

struct search {
	const char *lib;
	struct got_place *want;
	size_t wants;
	uintptr_t relro, relro_end; /* read-only once the loader is done */
	const void *at;             /* in it */
};

static void got_entries(struct search *s, uintptr_t base, const ElfW(Dyn) * d)
{
	const ElfW(Sym) *sym = NULL;
	const ElfW(Rela) *rel = NULL;
	const char *text = NULL;
	size_t bytes = 0;

	for (; d->d_tag != DT_NULL; d++) {
		/* glibc has made addresses of them, musl has not. */
		uintptr_t at = d->d_un.d_ptr + (d->d_un.d_ptr < base ? base : 0);

		if (d->d_tag == DT_SYMTAB)
			sym = (const ElfW(Sym) *)at;
		if (d->d_tag == DT_STRTAB)
			text = (const char *)at;
		if (d->d_tag == DT_JMPREL)
			rel = (const ElfW(Rela) *)at;
		if (d->d_tag == DT_PLTRELSZ)
			bytes = d->d_un.d_val;
	}
	for (size_t i = 0; sym && rel && text && i < bytes / sizeof(*rel); i++) {
		const char *name = text + sym[ELF64_R_SYM(rel[i].r_info)].st_name;

		for (size_t k = 0; k < s->wants; k++)
			if (!strcmp(name, s->want[k].name))
				s->want[k].entry = (void **)(base + rel[i].r_offset);
	}
}

static int got_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	struct search *s = arg;

	(void)size;
	if (!slash || strncmp(slash + 1, s->lib, strlen(s->lib)))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			s->at = (const void *)(info->dlpi_addr + p->p_vaddr);
		if (p->p_type == PT_DYNAMIC)
			got_entries(s, info->dlpi_addr,
				    (const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr));
		if (p->p_type == PT_GNU_RELRO) {
			s->relro = (info->dlpi_addr + p->p_vaddr) & ~(uintptr_t)4095;
			s->relro_end =
				(info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(uintptr_t)4095;
		}
	}
	return 1;
}

static int got_put(const struct search *s, const struct got_place *p)
{
	uintptr_t at = (uintptr_t)p->entry, page = at & ~(uintptr_t)4095;
	bool locked = at >= s->relro && at < s->relro_end;

	if (locked && mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	__atomic_store_n(p->entry, p->to, __ATOMIC_RELEASE);
	if (locked)
		mprotect((void *)page, 4096, PROT_READ);
	return 0;
}

int got_take(const char *lib, struct got_place *want, size_t n, size_t must)
{
	struct search s = { .lib = lib, .want = want, .wants = n };
	int err = 0;

	if (!dl_iterate_phdr(got_look, &s))
		return -ENOENT;
	for (size_t i = 0; i < must; i++)
		if (!want[i].entry || !want[i].was)
			return -ENOSYS;
	for (size_t i = 0; i < n && !err; i++)
		if (want[i].entry && want[i].was)
			err = got_put(&s, &want[i]);
	return err;
}

void *got_open(const char *lib)
{
	struct search s = { .lib = lib };
	Dl_info at;

	if (!dl_iterate_phdr(got_look, &s) || !dladdr(s.at, &at))
		return NULL;
	return dlopen(at.dli_fname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}
