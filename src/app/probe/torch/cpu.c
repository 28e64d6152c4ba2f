/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.c - memory of CPU tensors, to the byte. Off by default.
 *
 * Torch's CPU allocator reports every block to c10::ProfiledCPUMemoryReporter, which reports it to
 * a profiler if one runs on the thread. The probe cannot be that profiler: there is one place for
 * it, and the program's own would then fail. So the two calls are intercepted where libc10.so makes
 * them: in its table of imported functions, whose two entries lead here and from here to torch.
 *
 *	New(reporter, block, bytes)   a block was allocated
 *	Delete(reporter, block)       is about to be freed; the probe must know its size
 *
 * Sizes are kept in a table by address, without a lock: a block has one owner at a time, which
 * allocates, then frees. Blocks allocated before the probe was loaded have no size and are not
 * counted. The entries stay intercepted until the process ends.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/torch/torch.h"

#define BLOCKS 20u /* bits: a million blocks; 16 MB of address space, touched as used */
#define PROBES 64u
#define NEW    "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
#define DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"
#define GONE   1u /* an entry that was one: search on */

typedef void new_fn(void *reporter, void *block, size_t bytes);
typedef void delete_fn(void *reporter, void *block);

struct block {
	_Atomic uintptr_t at; /* 0: never used */
	size_t bytes;
};

static struct {
	new_fn *made;
	delete_fn *freed;
	struct block *block;       /* NULL: off */
	_Atomic int64_t allocated; /* bytes, */
	_Atomic int64_t highest;   /* max since the step's begin */
	_Atomic uint64_t untold;   /* blocks for which the table had no room */
} cpu;

static struct block *slot_of(uintptr_t at, uint32_t i)
{
	uint64_t h = at / 16 * 0x9e3779b97f4a7c15ull >> (64 - BLOCKS);

	return &cpu.block[(h + i) & ((1u << BLOCKS) - 1)];
}

static bool keep(uintptr_t at, size_t bytes)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct block *b = slot_of(at, i);
		uintptr_t was = atomic_load_explicit(&b->at, memory_order_relaxed);

		if (was > GONE ||
		    !atomic_compare_exchange_strong_explicit(&b->at, &was, at, memory_order_acquire,
							     memory_order_relaxed))
			continue;
		b->bytes = bytes; /* read by the thread that frees it: the program orders the two */
		return true;
	}
	return false;
}

static size_t forget(uintptr_t at)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct block *b = slot_of(at, i);
		uintptr_t was = atomic_load_explicit(&b->at, memory_order_relaxed);
		size_t bytes;

		if (!was)
			return 0;
		if (was != at)
			continue;
		bytes = b->bytes;
		/* Pairs with the exchange of the thread that takes the entry next and writes its bytes. */
		atomic_store_explicit(&b->at, GONE, memory_order_release);
		return bytes;
	}
	return 0;
}

static void on_new(void *reporter, void *block, size_t bytes)
{
	int64_t now, high;

	cpu.made(reporter, block, bytes);
	if (!bytes || !block)
		return;
	if (!keep((uintptr_t)block, bytes)) {
		atomic_fetch_add_explicit(&cpu.untold, 1, memory_order_relaxed);
		return;
	}
	now = atomic_fetch_add_explicit(&cpu.allocated, (int64_t)bytes, memory_order_relaxed) +
	      (int64_t)bytes;
	high = atomic_load_explicit(&cpu.highest, memory_order_relaxed);
	while (now > high &&
	       !atomic_compare_exchange_weak_explicit(&cpu.highest, &high, now,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static void on_delete(void *reporter, void *block)
{
	size_t bytes = forget((uintptr_t)block);

	if (bytes)
		atomic_fetch_sub_explicit(&cpu.allocated, (int64_t)bytes, memory_order_relaxed);
	cpu.freed(reporter, block);
}

void cpu_step(uint64_t number)
{
	int64_t now;

	if (!cpu.block)
		return;
	now = atomic_load_explicit(&cpu.allocated, memory_order_relaxed);
	memory_put(0, MEMORY_HIGHEST,
		   atomic_exchange_explicit(&cpu.highest, now, memory_order_relaxed), number);
	memory_put(0, MEMORY_ALLOCATED, now, number);
}

/* --- the entries --- */

struct place {
	const char *name;
	void *to;
	void **entry;
};

struct search {
	struct place *want;
	size_t wants;
	uintptr_t relro, relro_end; /* read-only once the loader is done */
};

static void find_entries(struct search *s, uintptr_t base, const ElfW(Dyn) * d)
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

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	struct search *s = arg;

	(void)size;
	if (!slash || strncmp(slash + 1, "libc10.so", 9))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			find_entries(s, info->dlpi_addr,
				     (const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr));
		if (p->p_type == PT_GNU_RELRO) {
			s->relro = (info->dlpi_addr + p->p_vaddr) & ~(uintptr_t)4095;
			s->relro_end =
				(info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(uintptr_t)4095;
		}
	}
	return 1;
}

static int put(const struct search *s, const struct place *p)
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

AON_API int aon_torch_cpu_memory(void);

/* 0, or -ENOSYS: this torch has no such calls to take. */
AON_API int aon_torch_cpu_memory(void)
{
	struct place want[] = { { NEW, (void *)on_new, NULL },
				{ DELETE, (void *)on_delete, NULL } };
	struct search s = { .want = want, .wants = 2 };
	struct block *table;
	Dl_info lib;
	void *h;

	if (cpu.block)
		return 0;
	if (!dl_iterate_phdr(look, &s) || !want[0].entry || !want[1].entry ||
	    !dladdr((void *)want[0].entry, &lib))
		return -ENOSYS;
	h = dlopen(lib.dli_fname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	cpu.made = h ? (new_fn *)dlsym(h, NEW) : NULL;
	cpu.freed = h ? (delete_fn *)dlsym(h, DELETE) : NULL;
	if (!cpu.made || !cpu.freed)
		return -ENOSYS;
	table = mmap(NULL, sizeof(*table) << BLOCKS, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table == MAP_FAILED)
		return -errno;
	cpu.block = table;
	return put(&s, &want[0]) ? -EPERM : put(&s, &want[1]) ? -EPERM : 0;
}
