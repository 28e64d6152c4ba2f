/* SPDX-License-Identifier: Apache-2.0 */
/* unwind.c - see unwind.h. */
#include "stacks/unwind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/demangle.h"
#include "stacks/pyfind.h"
#include "stacks/seize.h"

#define NATIVE_ABOVE 6u /* native frames above those of Python: lines of the program say more */
#define NATIVE_DEEP  STACK_FRAMES_MAX
#define SAYS_TASKS \
	0x030e0000u /* the first version of Python whose _asyncio says what its tasks look like */

struct unwind {
	struct native *n;
	struct native_target *target;
	int mem_fd;
	struct python_opts py; /* .runtime 0: no interpreter */
	uint64_t asyncio;      /* python_find_asyncio() */
	struct snap snap;
	struct native_frame frame[NATIVE_DEEP];
	struct native_name name[NATIVE_DEEP];
	struct native_name inner[NATIVE_INLINES];
	size_t n_frames;
};

/* No single system call reads several places of /proc/PID/mem. */
static size_t read_mem(void *arg, const struct python_piece *p, size_t n)
{
	const struct unwind *u = arg;
	size_t got = 0;

	while (got < n && p[got].addr <= INT64_MAX &&
	       pread(u->mem_fd, p[got].to, p[got].n, (off_t)p[got].addr) == (ssize_t)p[got].n)
		got++;
	return got;
}

int unwind_new(struct unwind **out, struct native *n, pid_t pid, int mem_fd)
{
	struct unwind *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->n = n;
	u->mem_fd = mem_fd;
	err = native_target_new(&u->target, n, pid, mem_fd);
	err = err ? err : native_maps(u->target);
	if (err) {
		unwind_free(u);
		return err;
	}
	if (!python_find(pid, read_mem, u, &u->py) && u->py.version >= SAYS_TASKS)
		u->asyncio = python_find_asyncio(pid);
	*out = u;
	return 0;
}

void unwind_free(struct unwind *u)
{
	if (!u)
		return;
	native_target_free(u->target);
	free(u);
}

/* --- frames --- */

/* Of the frames themselves: those that are shown get lines, too. */
static void name_all(struct unwind *u)
{
	const char *names[NATIVE_DEEP];

	for (size_t i = 0; i < u->n_frames; i++) {
		native_name(u->n, &u->frame[i], &u->name[i], 1);
		names[i] = u->name[i].name;
	}
	demangle_learn(names, u->n_frames);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_native(struct unwind *u, size_t i, struct stack *out)
{
	struct native_module m = { .file = "?" };
	const char *names[NATIVE_INLINES];
	char name[96], file[64];
	size_t n;

	native_module(u->n, u->frame[i].module, &m);
	/* Of the interpreter, lines of Python say more. */
	n = native_name(u->n, &u->frame[i], u->inner,
			strstr(m.file, "python3") ? 1 : NATIVE_INLINES);
	for (size_t k = 0; k < n; k++)
		names[k] = u->inner[k].name;
	demangle_learn(names, n);
	for (size_t k = 0; k < n && out->n < STACK_FRAMES; k++) {
		const struct native_name *x = &u->inner[k];

		if (*x->name)
			stack_short(demangle(x->name), name, sizeof(name));
		else
			snprintf(name, sizeof(name), "0x%llx",
				 (unsigned long long)u->frame[i].offset);
		/* "libc.so.6:read.c" */
		snprintf(file, sizeof(file), "%.31s%s%.31s",
			 *x->file && !native_is_library(m.file) ? "" : m.file,
			 *x->file && native_is_library(m.file) ? ":" : "", last_part(x->file));
		stack_add(out, name, file, x->line);
		out->frame[out->n - 1].inlined = x->flags & FRAME_INLINE;
	}
}

/* Calls between a function in C and the line that called it, and what runs the interpreter itself. */
static bool is_inside(struct unwind *u, size_t i)
{
	struct native_module m;

	return !native_module(u->n, u->frame[i].module, &m) && strstr(m.file, "python3") &&
	       (!*u->name[i].name || native_is_glue(u->name[i].name));
}

/* Below the last Python frame there is only what started the interpreter. */
static void add_mixed(struct unwind *u, const struct stack *py, struct stack *out)
{
	bool eval[NATIVE_DEEP], entry[STACK_FRAMES];
	struct native_mixed mixed[NATIVE_DEEP + STACK_FRAMES];
	size_t n, left = py->n, above = 0;

	for (size_t i = 0; i < u->n_frames; i++)
		eval[i] = py->n && native_is_eval(u->name[i].name);
	for (size_t i = 0; i < py->n; i++)
		entry[i] = py->frame[i].entry;
	n = native_mix(eval, u->n_frames, entry, py->n, mixed, NATIVE_DEEP + STACK_FRAMES);
	for (size_t i = 0; i < n && (left || !py->n); i++) {
		const struct frame *f = &py->frame[mixed[i].index];

		if (mixed[i].python) {
			stack_add(out, f->name, f->file, f->line);
			left--;
			above = 0;
		} else if (!py->n || (!is_inside(u, mixed[i].index) && above++ < NATIVE_ABOVE)) {
			add_native(u, mixed[i].index, out);
		}
	}
}

int unwind_stack(struct unwind *u, pid_t tid, struct stack *out)
{
	struct snap *s = &u->snap;
	struct stack py = { 0 }, tasks = { 0 };
	int err = seize_stop(tid, u->mem_fd, s);
	struct native_copy c = { .mem = s->mem, .len = s->len };

	if (!err && u->py.runtime)
		python_stack(&u->py, s->self, u->asyncio, &py, &tasks);
	seize_end(tid, s);
	if (err)
		return err;
	c.base = s->regs.value[NATIVE_SP];
	u->n_frames = native_unwind(u->target, &s->regs, &c, u->frame, NATIVE_DEEP, NULL);
	name_all(u);
	add_mixed(u, &py, out);
	for (size_t i = 0; i < tasks.n; i++)
		stack_add(out, tasks.frame[i].name, tasks.frame[i].file, tasks.frame[i].line);
	return 0;
}
