/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyfind.c - see pyfind.h.
 *
 * The symbols are looked up in the memory of the process, as its dynamic linker does: its files need
 * not be readable, nor be the same in our mount namespace.
 */
#include "stacks/pyfind.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/num.h"
#include "stacks/rights.h"

#define PHDRS    64u
#define DYNS     128u
#define CHAIN    256u /* symbols of one bucket */
#define PIECES   160u
#define MAPS     65536u /* lines, */
#define IMAGES   16u    /* and files among them that may be an interpreter */
#define VERSION  "Py_Version"
#define RUNTIME  "_PyRuntime"
#define SET      "PySet_Type"
#define CORO     "PyCoro_Type"
#define TABLE    ".AsyncioDebug"
#define SECTIONS 128u

struct image {
	python_read_fn *read;
	void *arg;
	uint64_t bias; /* of its addresses */
	uint64_t symbols, strings, hash;
};

static bool get(const struct image *m, uint64_t addr, void *to, size_t n)
{
	return m->read(m->arg, &(struct python_piece){ addr, to, n }, 1) == 1;
}

/* --- a symbol --- */

static void take_dynamic(struct image *m, const Elf64_Dyn *d, size_t n)
{
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		uint64_t at = d[i].d_un.d_ptr;

		/* glibc has added the bias already, musl has not. */
		at += at < m->bias ? m->bias : 0;
		if (d[i].d_tag == DT_SYMTAB)
			m->symbols = at;
		else if (d[i].d_tag == DT_STRTAB)
			m->strings = at;
		else if (d[i].d_tag == DT_GNU_HASH)
			m->hash = at;
	}
}

static bool open_image(struct image *m, uint64_t base)
{
	Elf64_Phdr ph[PHDRS], *dynamic = NULL, *first = NULL;
	Elf64_Dyn dyn[DYNS];
	Elf64_Ehdr eh;
	size_t n;

	if (!get(m, base, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phnum > PHDRS ||
	    eh.e_phentsize != sizeof(ph[0]) ||
	    !get(m, base + eh.e_phoff, ph, eh.e_phnum * sizeof(ph[0])))
		return false;
	for (size_t i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && !first)
			first = &ph[i];
		else if (ph[i].p_type == PT_DYNAMIC)
			dynamic = &ph[i];
	}
	if (!first || !dynamic)
		return false;
	m->bias = base - (first->p_vaddr - first->p_offset);
	n = dynamic->p_memsz / sizeof(dyn[0]);
	n = n < DYNS ? (size_t)n : DYNS;
	if (!get(m, m->bias + dynamic->p_vaddr, dyn, n * sizeof(dyn[0])))
		return false;
	take_dynamic(m, dyn, n);
	return m->symbols && m->strings && m->hash;
}

static uint32_t gnu_hash(const char *s)
{
	uint32_t h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

/* 0: it has none. */
static uint64_t symbol(const struct image *m, const char *name)
{
	uint32_t head[4], want = gnu_hash(name), at = 0, h = 0;
	uint64_t buckets, chains;
	char text[16];
	Elf64_Sym sym;

	if (!get(m, m->hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = m->hash + sizeof(head) + 8ull * head[2];
	chains = buckets + 4ull * head[0];
	if (!get(m, buckets + 4ull * (want % head[0]), &at, sizeof(at)) || at < head[1])
		return 0;
	for (uint32_t i = 0; i < CHAIN && !(h & 1); i++, at++) {
		if (!get(m, chains + 4ull * (at - head[1]), &h, sizeof(h)))
			return 0;
		if ((h ^ want) >> 1 || !get(m, m->symbols + at * sizeof(sym), &sym, sizeof(sym)) ||
		    !get(m, m->strings + sym.st_name, text, strlen(name) + 1))
			continue;
		if (!memcmp(text, name, strlen(name) + 1) && sym.st_shndx != SHN_UNDEF)
			return m->bias + sym.st_value;
	}
	return 0;
}

/* --- an interpreter --- */

/* "python3.10", "libpython3.10.so.1.0": 3.10 says it by its name alone. */
static uint32_t version_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = strstr(slash ? slash : path, "python3.");

	return at ? 3u << 24 | (uint32_t)(num_front(at + 8, NULL) & 255) << 16 : 0;
}

int python_at(uint64_t base, const char *path, python_read_fn *read, void *arg,
	      struct python_opts *out)
{
	struct image m = { .read = read, .arg = arg };
	struct python_opts o = { .read = read, .arg = arg };
	uint64_t version;

	if (!open_image(&m, base))
		return -ENOENT;
	o.runtime = symbol(&m, RUNTIME);
	version = o.runtime ? symbol(&m, VERSION) : 0;
	if (!version || !get(&m, version, &o.version, sizeof(o.version)))
		o.version = version_of(path);
	if (!o.runtime || !o.version)
		return -ENOENT;
	o.set_type = symbol(&m, SET);
	o.coro_type = symbol(&m, CORO);
	*out = o;
	return 0;
}

/* --- a process --- */

struct mapping {
	uint64_t start, offset;
	const char *path;
};

/* "7f00-7f10 r--p 00000000 fe:01 42    /usr/bin/python3.11" */
static bool parse_map(char *line, struct mapping *m)
{
	const char *at = num_digits(line, 16, &m->start);
	char *path = strchr(line, '/');

	if (!at || !path || !(at = strchr(at, ' ')) || !(at = strchr(at + 1, ' ')))
		return false;
	path[strcspn(path, "\n")] = '\0';
	m->path = path;
	return num_digits(at + 1, 16, &m->offset) != NULL;
}

/* Not "_json.cpython-311.so": a program has hundreds of those. */
static bool may_be(const char *path, const char *exe)
{
	const char *whole = path, *slash = strrchr(path, '/');

	path = slash ? slash : path;
	return strstr(path, "python3") || !strncmp(path, "/_asyncio.", 10) || !strcmp(whole, exe);
}

/* Is it this image? 0: yes. */
typedef int image_fn(const struct mapping *m, void *arg);

/* The first that is. -ENOENT: none; -EACCES, -ESRCH. */
static int each_image(pid_t pid, image_fn *fn, void *arg)
{
	char path[64], exe[PATH_MAX], *line = NULL;
	uint32_t images = IMAGES;
	struct mapping m;
	size_t cap = 0;
	ssize_t n;
	int err = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	for (uint32_t i = 0; err && images && i < MAPS && getline(&line, &cap, f) > 0; i++)
		if (parse_map(line, &m) && !m.offset && may_be(m.path, exe)) {
			err = fn(&m, arg);
			images--;
		}
	free(line);
	fclose(f);
	return err;
}

struct finding {
	pid_t pid;
	python_read_fn *read;
	void *arg;
	struct python_opts *out;
	uint64_t table;
};

static int is_python(const struct mapping *m, void *arg)
{
	const struct finding *f = arg;

	return python_at(m->start, m->path, f->read, f->arg, f->out);
}

int python_find(pid_t pid, python_read_fn *read, void *arg, struct python_opts *out)
{
	struct finding f = { .pid = pid, .read = read, .arg = arg, .out = out };

	return each_image(pid, is_python, &f);
}

/* --- what _asyncio says: it is in no table of symbols, but a section of its own --- */

static bool get_at(int fd, uint64_t at, void *to, size_t n)
{
	return at <= INT64_MAX && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* The virtual address of the section, less that of the file's first byte; 0: it has none. */
static uint64_t section_of(int fd)
{
	Elf64_Shdr sh[SECTIONS];
	Elf64_Phdr ph[PHDRS];
	Elf64_Ehdr eh;
	char name[sizeof(TABLE)];
	uint64_t low = UINT64_MAX;

	if (!get_at(fd, 0, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_shnum > SECTIONS || eh.e_phnum > PHDRS ||
	    eh.e_shstrndx >= eh.e_shnum || eh.e_shentsize != sizeof(sh[0]) ||
	    eh.e_phentsize != sizeof(ph[0]) ||
	    !get_at(fd, eh.e_shoff, sh, eh.e_shnum * sizeof(sh[0])) ||
	    !get_at(fd, eh.e_phoff, ph, eh.e_phnum * sizeof(ph[0])))
		return 0;
	for (size_t i = 0; i < eh.e_phnum && low == UINT64_MAX; i++)
		if (ph[i].p_type == PT_LOAD)
			low = ph[i].p_vaddr - ph[i].p_offset;
	for (size_t i = 0; i < eh.e_shnum; i++)
		if (get_at(fd, sh[eh.e_shstrndx].sh_offset + sh[i].sh_name, name, sizeof(name)) &&
		    !memcmp(name, TABLE, sizeof(name)))
			return sh[i].sh_addr - low;
	return 0;
}

static int has_table(const struct mapping *m, void *arg)
{
	char path[PATH_MAX + 32];
	struct finding *f = arg;
	uint64_t at = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)f->pid, m->path);
	rights_search(true);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	rights_search(false);
	if (fd >= 0) {
		at = section_of(fd);
		close(fd);
	}
	f->table = at ? m->start + at : 0;
	return at ? 0 : -ENOENT;
}

uint64_t python_find_asyncio(pid_t pid)
{
	struct finding f = { .pid = pid };

	return each_image(pid, has_table, &f) ? 0 : f.table;
}

size_t python_readv(void *arg, const struct python_piece *p, size_t n)
{
	struct iovec to[PIECES], from[PIECES];
	size_t whole = 0;
	ssize_t got;

	if (!n)
		return 0;
	n = n < PIECES ? n : PIECES;
	for (size_t i = 0; i < n; i++) {
		to[i] = (struct iovec){ p[i].to, p[i].n };
		from[i] = (struct iovec){ (void *)(uintptr_t)p[i].addr, p[i].n };
	}
	got = process_vm_readv(*(const pid_t *)arg, to, n, from, n, 0);
	while (whole < n && got >= (ssize_t)p[whole].n)
		got -= (ssize_t)p[whole++].n;
	return whole;
}
