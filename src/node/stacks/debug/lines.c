/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.c - by libdw, in a child process for each module; see lines.h.
 *
 * libdw believes a file: one that lies makes it read past its buffers, or busy for long. So a child
 * with little time and memory has the file, and answers: 8 bytes ask for an address, the answer is an
 * array of struct native_name. A child that dies, or is late, is not started again for this module.
 *
 * The tree of debug entries is walked here: entries are counted and their depth is bounded, where
 * libdw's own walk follows whatever the file says.
 */
#include "stacks/debug/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AON_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH   48u
#define ENTRIES 200000u        /* of one look */
#define ANSWER  8u             /* names of one address */
#define CPU_S   20             /* of a child, for all that it is asked */
#define WAIT_MS 1000           /* for an answer; the first one takes the longest */
#define ROOM    (256ull << 20) /* bytes that a child may map */

/* --- in the child --- */

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

static size_t look(Dwarf *dwarf, uint64_t vaddr, struct native_name out[ANSWER])
{
	struct chain c = { .left = ENTRIES };
	Dwarf_Die cu;
	size_t n = 0;

	if (!dwarf_addrdie(dwarf, vaddr, &cu))
		return 0;
	descend(&c, &cu, vaddr, 0);
	/* A function inside another one (a lambda's, a local class's) stands for itself. */
	for (size_t i = c.n; i-- > 0 && n < ANSWER;) {
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

static void limit(int resource, rlim_t to)
{
	const struct rlimit l = { to, to };

	setrlimit(resource, &l);
}

static void close_but(unsigned int a, unsigned int b)
{
	unsigned int low = a < b ? a : b, high = a < b ? b : a;

	if (low)
		close_range(0, low - 1, 0); /* nobody reads what may go wrong here */
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0u, 0);
}

/* For the case that a file takes over: no rights, no file but its own, and none that is opened anew. */
static void confine(int end, int fd)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	close_but((unsigned int)end, (unsigned int)fd);
	limit(RLIMIT_NOFILE, 0);
	limit(RLIMIT_CPU, CPU_S);
	limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone is larger */
	limit(RLIMIT_AS, ROOM);
#endif
	syscall(SYS_capset, &h, none);
}

static _Noreturn void serve(int end, int fd)
{
	struct native_name out[ANSWER];
	Dwarf *dwarf;
	uint64_t vaddr;
	Elf *elf;

	confine(end, fd);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL); /* reads: a mapped file that shrinks kills */
	dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	while (dwarf && recv(end, &vaddr, sizeof(vaddr), 0) == sizeof(vaddr)) {
		size_t n = look(dwarf, vaddr, out);

		/* An empty message would be the end. */
		if (send(end, n ? (void *)out : &vaddr, n ? n * sizeof(out[0]) : 1, MSG_NOSIGNAL) <
		    0)
			break;
	}
	_exit(0);
}

/* --- in the parent --- */

struct lines {
	pid_t pid; /* 0: it is gone */
	int fd;    /* owned */
};

int lines_new(struct lines **out, const struct image *i)
{
	struct lines *l;
	int end[2], err = -ENOMEM;

	if (!i->debug_bytes || i->fd < 0)
		return -ENOENT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) < 0)
		return -errno;
	l = calloc(1, sizeof(*l));
	if (!l)
		goto close_both;
	l->fd = end[0];
	l->pid = fork();
	if (l->pid < 0) {
		err = -errno;
		goto free_lines;
	}
	if (!l->pid) {
		close(end[0]);
		serve(end[1], i->fd);
	}
	close(end[1]);
	*out = l;
	return 0;

free_lines:
	free(l);
close_both:
	close(end[0]);
	close(end[1]);
	return err;
}

static void stop(struct lines *l)
{
	if (!l->pid)
		return;
	kill(l->pid, SIGKILL);
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(l->fd);
	l->pid = 0;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	stop(l);
	free(l);
}

size_t lines_at(struct lines *l, uint64_t vaddr, struct native_name *out, size_t cap)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };
	struct native_name got[ANSWER];
	ssize_t bytes = 0;
	size_t n;

	if (!l->pid)
		return 0;
	if (send(l->fd, &vaddr, sizeof(vaddr), MSG_NOSIGNAL) == sizeof(vaddr) &&
	    poll(&p, 1, WAIT_MS) == 1)
		bytes = recv(l->fd, got, sizeof(got), MSG_DONTWAIT);
	if (bytes <= 0) {
		stop(l);
		return 0;
	}
	n = (size_t)bytes / sizeof(got[0]);
	if (n > cap) /* the function itself stays: what is inlined deepest goes */
		memmove(got, got + (n - cap), cap * sizeof(got[0]));
	n = n < cap ? n : cap;
	for (size_t i = 0; i < n; i++) {
		got[i].name[sizeof(got[i].name) - 1] = '\0';
		got[i].file[sizeof(got[i].file) - 1] = '\0';
		out[i] = got[i];
		out[i].flags = i + 1 < n ? FRAME_INLINE : 0;
	}
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
