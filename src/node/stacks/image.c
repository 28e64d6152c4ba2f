/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - reads the tables of an ELF file; see image.h. */
#include "stacks/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENTS 256u
#define SECTIONS 4096u
#define NOTES    4096u /* bytes of a note segment that are looked at */
#define PAGE     4096u

int image_read(const struct image *i, uint64_t offset, void *out, size_t n)
{
	ssize_t got;

	if (offset > i->size || n > i->size - offset)
		return -ENOEXEC;
	if (i->mem) {
		memcpy(out, i->mem + offset, n);
		return 0;
	}
	got = pread(i->fd, out, n, (off_t)offset);
	return got < 0 ? -errno : (size_t)got == n ? 0 : -ENOEXEC;
}

ptrdiff_t image_at(const struct image *i, uint64_t vaddr, void *out, size_t n)
{
	for (size_t k = 0; k < i->loads; k++) {
		const struct image_load *l = &i->load[k];
		int err;

		if (vaddr < l->vaddr || vaddr - l->vaddr >= l->size)
			continue;
		if (n > l->size - (vaddr - l->vaddr))
			n = (size_t)(l->size - (vaddr - l->vaddr));
		err = image_read(i, l->offset + (vaddr - l->vaddr), out, n);
		return err ? err : (ptrdiff_t)n;
	}
	return -ENOENT;
}

bool image_vaddr(const struct image *i, uint64_t offset, uint64_t *vaddr)
{
	for (size_t k = 0; k < i->loads; k++) {
		const struct image_load *l = &i->load[k];

		/* The loader maps whole pages. */
		if (!l->exec || offset < l->offset / PAGE * PAGE || offset >= l->offset + l->size)
			continue;
		*vaddr = l->vaddr + (offset - l->offset);
		return true;
	}
	return false;
}

/* The name, ended by NUL; then, aligned to 4 bytes, the CRC. */
bool image_link(const struct image *i, char name[IMAGE_LINK], uint32_t *crc)
{
	size_t n = i->link.size < IMAGE_LINK ? (size_t)i->link.size : IMAGE_LINK, at;
	const char *end;

	if (n < 8 || image_read(i, i->link.offset, name, n) < 0)
		return false;
	end = memchr(name, '\0', n);
	at = end ? ((size_t)(end - name) + 4) & ~(size_t)3 : n;
	if (!end || end == name || memchr(name, '/', (size_t)(end - name)) || at > n - 4)
		return false;
	memcpy(crc, name + at, sizeof(*crc));
	return true;
}

static void read_id(struct image *i, const Elf64_Phdr *ph)
{
	unsigned char raw[NOTES];
	size_t n = ph->p_filesz < sizeof(raw) ? (size_t)ph->p_filesz : sizeof(raw), at = 0;
	Elf64_Nhdr h;

	if (i->id_len || image_read(i, ph->p_offset, raw, n) < 0)
		return;
	while (n - at >= sizeof(h)) {
		size_t name, desc;

		memcpy(&h, raw + at, sizeof(h));
		at += sizeof(h);
		name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)h.n_descsz + 3) & ~(size_t)3;
		if (name > n - at || desc > n - at - name)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(raw + at, "GNU", 4) &&
		    h.n_descsz <= IMAGE_ID) {
			i->id_len = h.n_descsz;
			memcpy(i->id, raw + at + name, i->id_len);
			return;
		}
		at += name + desc;
	}
}

static int read_segments(struct image *i, const Elf64_Ehdr *eh)
{
	for (size_t k = 0; k < eh->e_phnum && k < SEGMENTS; k++) {
		Elf64_Phdr ph;
		int err = image_read(i, eh->e_phoff + k * sizeof(ph), &ph, sizeof(ph));

		if (err)
			return err;
		if (ph.p_type == PT_GNU_EH_FRAME) {
			i->frames = ph.p_vaddr;
			i->frames_size = ph.p_memsz;
		} else if (ph.p_type == PT_NOTE) {
			read_id(i, &ph);
		} else if (ph.p_type == PT_LOAD && i->loads < IMAGE_LOADS &&
			   ph.p_offset < i->size && ph.p_vaddr < INT64_MAX) {
			uint64_t there = i->size - ph.p_offset;

			i->load[i->loads++] = (struct image_load){
				.vaddr = ph.p_vaddr,
				.offset = ph.p_offset,
				.size = ph.p_filesz < there ? ph.p_filesz : there,
				.exec = ph.p_flags & PF_X,
			};
		}
	}
	return i->loads ? 0 : -ENOEXEC;
}

static void add_symbols(struct image *i, const Elf64_Ehdr *eh, const Elf64_Shdr *sh)
{
	struct image_symbols *s = sh->sh_type == SHT_SYMTAB ? &i->full : &i->dynamic;
	Elf64_Shdr text;

	if (sh->sh_link >= SECTIONS ||
	    image_read(i, eh->e_shoff + sh->sh_link * sizeof(text), &text, sizeof(text)) < 0)
		return;
	s->table = (struct image_part){ sh->sh_offset, sh->sh_size };
	s->text = (struct image_part){ text.sh_offset, text.sh_size };
}

/* Sections are for those who link and debug: a file without them still has its unwind table. */
static void read_sections(struct image *i, const Elf64_Ehdr *eh)
{
	size_t n = eh->e_shnum < SECTIONS ? eh->e_shnum : SECTIONS;
	Elf64_Shdr names, sh;

	if (!eh->e_shoff || eh->e_shstrndx >= n || eh->e_shentsize != sizeof(sh) ||
	    image_read(i, eh->e_shoff + eh->e_shstrndx * sizeof(sh), &names, sizeof(names)) < 0)
		return;
	for (size_t k = 1; k < n; k++) {
		char name[20] = "";

		if (image_read(i, eh->e_shoff + k * sizeof(sh), &sh, sizeof(sh)) < 0)
			return;
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			add_symbols(i, eh, &sh);
		if (sh.sh_type != SHT_PROGBITS || sh.sh_flags & SHF_ALLOC ||
		    image_read(i, names.sh_offset + sh.sh_name, name, sizeof(name) - 1) < 0)
			continue;
		if (!strcmp(name, ".gnu_debugdata"))
			i->mini = (struct image_part){ sh.sh_offset, sh.sh_size };
		if (!strcmp(name, ".gnu_debuglink"))
			i->link = (struct image_part){ sh.sh_offset, sh.sh_size };
		i->debug |= !strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info");
	}
}

static int read_all(struct image *i)
{
	Elf64_Ehdr eh;
	int err = image_read(i, 0, &eh, sizeof(eh));

	if (err)
		return err;
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_machine != EM_X86_64 ||
	    eh.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	err = read_segments(i, &eh);
	if (!err)
		read_sections(i, &eh);
	return err;
}

int image_open(struct image *out, int fd)
{
	struct image i = { .fd = fd };
	struct stat st;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	i.size = (uint64_t)st.st_size;
	err = read_all(&i);
	if (!err)
		*out = i;
	return err;
}

int image_wrap(struct image *out, void *mem, size_t size)
{
	struct image i = { .fd = -1, .mem = mem, .size = size };
	int err = read_all(&i);

	if (!err)
		*out = i;
	return err;
}

void image_fini(struct image *i)
{
	if (!i->mem && i->fd >= 0 && i->size)
		close(i->fd);
	free(i->mem);
	*i = (struct image){ .fd = -1 };
}
