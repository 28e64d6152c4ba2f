/* SPDX-License-Identifier: Apache-2.0 */
/* unwind.c - libdwfl over a copy of the stack; see unwind.h. */
#include "stacks/unwind.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/num.h"
#include "stacks/python.h"

#define NATIVE_ABOVE 6u /* native frames above those of Python: lines of the program say more */

struct native {
	char name[512]; /* as the compiler made it; "": none */
	char module[64];
	uint64_t offset; /* in the module: the same in each process */
};

struct unwind {
	Dwfl *dwfl;
	pid_t pid, tid;
	int mem_fd;
	const struct snap *snap; /* of the thread that is looked at */
	struct python_opts py;   /* .runtime 0: no interpreter, or of an unknown version */
	struct native native[STACK_FRAMES];
	size_t n;
};

/* --- what libdwfl asks for --- */

/* Through the root of the process: it may be in a container, or see another /home than we do. */
static int find_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file,
		    Elf **elf)
{
	struct unwind *u;
	char path[4300];
	void **arg;
	int fd;

	dwfl_module_info(mod, &arg, NULL, NULL, NULL, NULL, NULL, NULL);
	u = *arg;
	if (u && name[0] == '/') {
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)u->pid, name);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0) {
			*file = strdup(name);
			return fd;
		}
	}
	return dwfl_linux_proc_find_elf(mod, data, name, base, file, elf);
}

static int no_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **out)
{
	(void)mod, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)out;
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = no_debuginfo };

static int read_mem(void *arg, uint64_t addr, void *out, size_t n)
{
	const struct unwind *u = arg;
	const struct snap *s = u->snap;

	if (s && addr >= s->sp && addr - s->sp < s->len && n <= s->len - (addr - s->sp)) {
		memcpy(out, s->mem + (addr - s->sp), n);
		return 0;
	}
	if (addr > INT64_MAX)
		return -EFAULT;
	return pread(u->mem_fd, out, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

/* No single system call reads several places of /proc/PID/mem. */
static size_t read_pieces(void *arg, const struct python_piece *p, size_t n)
{
	size_t got = 0;

	while (got < n && !read_mem(arg, p[got].addr, p[got].to, p[got].n))
		got++;
	return got;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *out, void *arg)
{
	(void)dwfl;
	return read_mem(arg, addr, out, sizeof(*out)) == 0;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct unwind *u = arg;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = u;
	return u->tid;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct unwind *u = arg;

	return dwfl_thread_state_registers(thread, 0, SEIZE_REGS, u->snap->reg);
}

static const Dwfl_Thread_Callbacks thread_callbacks = { .next_thread = next_thread,
							.memory_read = memory_read,
							.set_initial_registers = set_registers };

/* --- modules --- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int give_arg(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, void *arg)
{
	(void)mod, (void)name, (void)base;
	*data = arg;
	return DWARF_CB_OK;
}

/* An interpreter has _PyRuntime and says its version; only what is called so is looked into. */
static int find_python(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, void *arg)
{
	const char *file = last_part(name);
	struct unwind *u = arg;
	uint64_t version_at = 0;
	unsigned long minor;
	int syms;

	(void)data, (void)base;
	if (strncmp(file, "python3", 7) && strncmp(file, "libpython3", 10))
		return DWARF_CB_OK;
	syms = dwfl_module_getsymtab(mod);
	for (int i = 0; i < syms; i++) {
		GElf_Sym sym;
		GElf_Addr at;
		const char *s = dwfl_module_getsym_info(mod, i, &sym, &at, NULL, NULL, NULL);

		if (s && !strcmp(s, "_PyRuntime"))
			u->py.runtime = at;
		else if (s && !strcmp(s, "Py_Version"))
			version_at = at;
	}
	if (!u->py.runtime)
		return DWARF_CB_OK;
	/* Older ones say it by their name alone. */
	minor = num_front(strstr(file, "python3") + 7 + (strstr(file, "python3")[7] == '.'), NULL);
	if (!version_at || read_mem(u, version_at, &u->py.version, sizeof(u->py.version)) < 0)
		u->py.version = 3u << 24 | (uint32_t)(minor & 255) << 16;
	return DWARF_CB_ABORT;
}

int unwind_new(struct unwind **out, pid_t pid, int mem_fd)
{
	struct unwind *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	u->pid = pid;
	u->mem_fd = mem_fd;
	u->py.read = read_pieces;
	u->py.arg = u;
	u->dwfl = dwfl_begin(&callbacks);
	err = u->dwfl ? dwfl_linux_proc_report(u->dwfl, pid) : -ENOMEM;
	if (!err && dwfl_report_end(u->dwfl, NULL, NULL) < 0)
		err = -ENOEXEC;
	if (!err) {
		dwfl_getmodules(u->dwfl, give_arg, u, 0);
		dwfl_getmodules(u->dwfl, find_python, u, 0);
		if (!dwfl_attach_state(u->dwfl, NULL, pid, &thread_callbacks, u))
			err = -ENOEXEC;
	}
	if (err) {
		unwind_free(u);
		return err < 0 ? err : -err;
	}
	*out = u;
	return 0;
}

void unwind_free(struct unwind *u)
{
	if (!u)
		return;
	if (u->dwfl)
		dwfl_end(u->dwfl);
	free(u);
}

/* --- frames --- */

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwind *u = arg;
	struct native *f = &u->native[u->n];
	Dwfl_Module *mod;
	const char *name;
	Dwarf_Addr pc, base = 0;
	bool active;

	if (!dwfl_frame_pc(frame, &pc, &active))
		return DWARF_CB_ABORT;
	if (!active)
		pc--; /* into the call, not behind it */
	mod = dwfl_addrmodule(u->dwfl, pc);
	name = mod ? dwfl_module_addrname(mod, pc) : NULL;
	*f = (struct native){ 0 };
	snprintf(f->name, sizeof(f->name), "%s", name ? name : "");
	if (mod)
		snprintf(f->module, sizeof(f->module), "%s",
			 last_part(
				 dwfl_module_info(mod, NULL, &base, NULL, NULL, NULL, NULL, NULL)));
	f->offset = pc - base;
	return ++u->n == STACK_FRAMES ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static bool is_interpreter(const struct native *f)
{
	return !strncmp(f->name, "_PyEval_EvalFrameDefault", 24);
}

/* How the interpreter calls: between a function in C and the line that called it. */
static bool is_calling(const struct native *f)
{
	static const char *const begins[] = { "PyObject_",         "_PyObject_",   "cfunction_",
					      "method_vectorcall", "_PyFunction_", "_PyVectorcall_",
					      "slot_tp_",          "vectorcall_" };
	bool inside = strstr(f->module, "python3") != NULL;

	if (inside && !*f->name)
		return true;
	for (size_t i = 0; inside && i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(f->name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static void add_native(struct stack *out, const struct native *f)
{
	char name[96];

	if (*f->name)
		stack_short(demangle(f->name), name, sizeof(name));
	else
		snprintf(name, sizeof(name), "0x%llx", (unsigned long long)f->offset);
	stack_add(out, name, *f->module ? f->module : "?", 0);
}

void unwind_stack(struct unwind *u, pid_t tid, const struct snap *s, struct stack *out)
{
	const char *names[STACK_FRAMES];
	struct stack py = { 0 };
	bool python;
	size_t n = 0;

	u->snap = s;
	u->tid = tid;
	u->n = 0;
	dwfl_getthread_frames(u->dwfl, tid, on_frame, u); /* as far as it comes */
	python = u->py.runtime && !python_stack(&u->py, s->self, &py);
	for (; n < u->n; n++)
		names[n] = u->native[n].name;
	demangle_learn(names, n);
	for (size_t i = 0; i < n && !(python && is_interpreter(&u->native[i])); i++)
		if (!python || (!is_calling(&u->native[i]) && out->n < NATIVE_ABOVE))
			add_native(out, &u->native[i]);
	for (size_t i = 0; i < py.n; i++)
		stack_add(out, py.frame[i].name, py.frame[i].file, py.frame[i].line);
	u->snap = NULL;
}
