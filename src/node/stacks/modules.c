/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c - ELF files of a node's processes, once each; see native.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "stacks/native_priv.h"
#include "stacks/rights.h"

#define HEAD  4096u          /* bytes of a file that are compared with the process */
#define VDSO  (256ull << 10) /* bytes that one has at most */
#define ENTRY 24u            /* bytes of a symbol in a file */

struct module *module_get(struct native *n, uint32_t id)
{
	struct module *m = n->slot[id % NATIVE_MODULES];

	if (!id || !m || m->id != id)
		return NULL;
	m->used = ++n->tick;
	return m;
}

static void module_free(struct module *m)
{
	if (!m)
		return;
	lines_free(m->lines);
	symbols_fini(&m->syms);
	image_fini(&m->img);
	free(m->path);
	free(m);
}

int native_new(struct native **out)
{
	struct native *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	if (getrandom(&n->seed, sizeof(n->seed), GRND_NONBLOCK) < 0)
		n->seed = clock_mono_ns();
	*out = n;
	return 0;
}

uint64_t native_seed(const struct native *n)
{
	return n->seed;
}

void native_free(struct native *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < NATIVE_MODULES; i++)
		module_free(n->slot[i]);
	map_fini(&n->rules);
	map_fini(&n->calls);
	free(n->rule);
	free(n);
}

/* --- opening --- */

/* A file that has been replaced since is another one: its first page, with the build-id, differs. */
static bool same_file(const struct native_target *t, const struct mapping *m, int fd)
{
	unsigned char there[HEAD], here[HEAD];
	size_t n = m->head ? target_read_some(t, m->head, there, sizeof(there)) : 0;

	return !n || (pread(fd, here, n, 0) == (ssize_t)n && !memcmp(here, there, n));
}

int open_regular(const char *path)
{
	char again[40];
	struct stat st;
	int name, fd = -1;

	rights_search(true);
	name = open(path, O_PATH | O_CLOEXEC);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", name);
	/* What is empty is no module, but may be a file of /proc that reading changes. */
	if (name >= 0 && fstat(name, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	rights_search(false);
	if (name >= 0)
		close(name);
	return fd < 0 ? -ENOENT : fd;
}

/* Through the root of the process, which may be in a container; a file without a name by its pages. */
static int open_mapped(const struct native_target *t, const struct mapping *m)
{
	char path[4300];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)t->pid, t->paths + m->path);
	fd = open_regular(path);
	if (fd >= 0 && same_file(t, m, fd))
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)t->pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	return open_regular(path);
}

/* Our own: the kernel gave all of them the same, and a process may have written to its own since. */
static int open_vdso(const struct mapping *m, struct image *out)
{
	void *ours = (void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	uint64_t size = m->end - m->start;
	unsigned char *mem = ours && size <= VDSO ? malloc((size_t)size) : NULL;
	struct iovec to = { mem, (size_t)size }, from = { ours, (size_t)size };
	int err = mem ? -ENOEXEC : -ENOMEM;

	/* Not by memcpy(): a larger one is not ours. */
	if (mem && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size)
		err = image_wrap(out, mem, (size_t)size);
	if (err)
		free(mem);
	return err;
}

static int open_file(const struct native_target *t, const struct mapping *m, struct module *out)
{
	int fd = open_mapped(t, m);
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	err = fstat(fd, &st) < 0 ? -errno : image_open(&out->img, fd);
	if (err) {
		close(fd);
		return err;
	}
	out->file[0] = st.st_dev;
	out->file[1] = st.st_ino;
	out->file[2] = (uint64_t)st.st_mtim.tv_sec;
	out->file[3] = (uint64_t)st.st_mtim.tv_nsec;
	return 0;
}

/* --- keeping --- */

/* Not by the build-id alone: anybody can write a file that has that of a library, and other symbols. */
static bool same(const struct module *a, const struct module *b)
{
	return a->img.id_len == b->img.id_len && a->img.size == b->img.size &&
	       !memcmp(a->img.id, b->img.id, sizeof(a->img.id)) &&
	       !memcmp(a->file, b->file, sizeof(a->file));
}

/* Into a free slot, or that of the module that was used longest ago. */
static struct module *keep(struct native *n, struct module *m)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < NATIVE_MODULES; i++) {
		struct module *o = n->slot[i];

		if (o && same(o, m)) {
			module_free(m);
			return o;
		}
		if (n->slot[at] && (!o || o->used < n->slot[at]->used))
			at = i;
	}
	module_free(n->slot[at]);
	n->filled = n->filled % (UINT32_MAX / NATIVE_MODULES) + 1;
	m->id = n->filled * NATIVE_MODULES + at;
	n->slot[at] = m;
	return m;
}

/* As it was called when it was mapped. */
static char *name_of(const char *path)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(path), len = sizeof(gone) - 1;

	return strndup(path, n > len && !strcmp(path + n - len, gone) ? n - len : n);
}

static struct module *find(struct native_target *t, struct mapping *m)
{
	struct module *new = calloc(1, sizeof(*new)), *got;
	const char *path = t->paths + m->path;
	int err;

	if (!new)
		return NULL;
	new->img.fd = -1;
	new->pid = t->pid;
	new->path = name_of(path);
	if (!new->path)
		err = -ENOMEM;
	else if (!strcmp(path, "[vdso]"))
		err = open_vdso(m, &new->img);
	else
		err = path[0] == '/' ? open_file(t, m, new) : -ENOENT;
	if (err) {
		module_free(new);
		return NULL;
	}
	got = keep(t->n, new);
	got->used = ++t->n->tick;
	return got;
}

struct module *module_at(struct native_target *t, struct mapping *m, uint64_t pc, uint64_t *vaddr)
{
	struct module *got = module_get(t->n, m->module);

	if (!got && (m->module || !m->tried)) {
		got = find(t, m);
		m->module = got ? got->id : 0;
		m->tried = true;
	}
	if (!got || !image_vaddr(&got->img, m->offset + (pc - m->start), vaddr) ||
	    *vaddr > UINT32_MAX)
		return NULL;
	return got;
}

/* --- what they say --- */

/* Until `need` bytes fit, the tables that were used longest ago go. */
static void make_room(struct native *n, const struct module *for_, size_t need)
{
	for (;;) {
		struct module *oldest = NULL;
		size_t sum = need;

		for (size_t i = 0; i < NATIVE_MODULES; i++) {
			struct module *m = n->slot[i];

			if (!m || m == for_ || !m->syms.row)
				continue;
			sum += symbols_bytes(&m->syms);
			oldest = !oldest || m->used < oldest->used ? m : oldest;
		}
		if (sum <= NATIVE_SYMBOLS || !oldest)
			return;
		symbols_fini(&oldest->syms);
		oldest->syms_tried = false;
	}
}

const struct symbols *module_symbols(struct native *n, struct module *m)
{
	if (!m->syms_tried) {
		const struct image *i = &m->img;
		uint64_t rows = (i->full.table.size ? i->full : i->dynamic).table.size / ENTRY;

		m->syms_tried = true;
		/* Before it is read, too: it is as large while it is read. */
		rows = rows < SYMBOLS_MAX ? rows : SYMBOLS_MAX;
		make_room(n, m, (size_t)rows * sizeof(struct symbol));
		if (symbols_read(&m->syms, &m->img) < 0)
			return NULL;
		make_room(n, m, symbols_bytes(&m->syms));
	}
	return m->syms.row ? &m->syms : NULL;
}
