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
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/num.h"

#define PHDRS   64u
#define DYNS    128u
#define CHAIN   256u /* symbols of one bucket */
#define PIECES  160u
#define MAPS    65536u /* lines, */
#define IMAGES  16u    /* and files among them that may be an interpreter */
#define VERSION "Py_Version"
#define RUNTIME "_PyRuntime"

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
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash : path, "python3") || !strcmp(path, exe);
}

int python_find(pid_t pid, python_read_fn *read, void *arg, struct python_opts *out)
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
			err = python_at(m.start, m.path, read, arg, out);
			images--;
		}
	free(line);
	fclose(f);
	return err;
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
