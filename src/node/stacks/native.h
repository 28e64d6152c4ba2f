/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h - native frames of threads of other processes, from registers and a copy of the stack.
 *
 * A struct native serves all processes of a node: modules (ELF files), unwind rules and symbol
 * tables are kept once, however many processes map the same file. All of its memory is bounded:
 * what was used longest ago is dropped and read again when it is needed. It belongs to one thread.
 *
 * Files are read with pread() and never mapped, so that a file that is cut short while it is read
 * is an error and not a SIGBUS. What ELF files say is checked before it is used.
 *
 * Where the unwind rules of a function are missing (MKL), or need a register that is not known, the
 * stack is scanned for a word that points behind a call; such a frame is FRAME_SCANNED.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/sample.h" /* FRAME_SCANNED, FRAME_INLINE */

struct native;
struct native_target;

#define NATIVE_REGS 17u /* of x86-64, in DWARF's order */
#define NATIVE_SP   7u
#define NATIVE_PC   16u

int native_new(struct native **out);
void native_free(struct native *n); /* after its targets */
/* Of hashes of names, another one in each run: who chooses a name cannot choose its hash. */
uint64_t native_seed(const struct native *n);

/*
 * A process. mem_fd is its /proc/PID/mem, borrowed; -1: process_vm_readv() is used. Its mappings are
 * read when they are first needed, and again when an address is in none of them.
 */
int native_target_new(struct native_target **out, struct native *n, pid_t pid, int mem_fd);
void native_target_free(struct native_target *t);
int native_maps(struct native_target *t); /* reads them anew; after an exec, say */

struct native_regs {
	uint64_t value[NATIVE_REGS];
	uint32_t known; /* bit i: value[i] is known. PC and SP must be */
};

#define NATIVE_BLOCKED \
	(1u << NATIVE_PC | 1u << NATIVE_SP) /* what /proc/PID/task/TID/syscall says */
#define NATIVE_ALL ((1u << NATIVE_REGS) - 1)

/* Bytes of the thread's stack; `base` is at or below its SP. */
struct native_copy {
	uint64_t base;
	const void *mem;
	size_t len;
	bool stays; /* the thread does not move: what is not in the copy is read from the process */
};

struct native_frame {
	uint64_t pc;     /* of a caller: the last byte of its call */
	uint64_t offset; /* where that is in the module, as its file counts (virtual address) */
	uint32_t module; /* its id, never used again for another; 0: in no file */
	uint8_t flags;   /* FRAME_SCANNED */
};

enum native_end {
	NATIVE_WHOLE, /* as far as the thread's first function */
	NATIVE_CUT,   /* there are more frames than `cap`, or the copy of the stack ends before */
	NATIVE_LOST,  /* an outer frame could not be found */
};

/* Innermost first. Returns how many, at most `cap`; *end says why there are no more; may be NULL. */
size_t native_unwind(struct native_target *t, const struct native_regs *r,
		     const struct native_copy *copy, struct native_frame *out, size_t cap,
		     enum native_end *end);

/* --- names --- */

struct native_module {
	const char *path; /* as the process sees it; "[vdso]" */
	const char *file; /* the last part of the path */
	const uint8_t *build_id;
	size_t build_id_len; /* 0: it has none */
};

/* Borrowed until the next call with this `n`. -ENOENT: 0, or dropped meanwhile. */
int native_module(struct native *n, uint32_t module, struct native_module *out);

#define NATIVE_NAME    4096u /* names of templates are long, and cut ones cannot be demangled */
#define NATIVE_INLINES 8u    /* names of one address */
#define NATIVE_SYSTEM  0x80u /* its source is the compiler's, the system's or a package's */

/* A function at a frame's address: the frame itself or one that was inlined into it. */
struct native_name {
	char name[NATIVE_NAME]; /* as the compiler made it (demangle.h); "": not known */
	char file[256];         /* its source, as far as known the whole path; "": not known */
	uint32_t line;          /* 0: not known */
	uint8_t flags;          /* FRAME_INLINE: inlined into the next one; NATIVE_SYSTEM */
};

/*
 * Names a frame: fills out[] innermost first and returns how many, at least 1. Only the last one is
 * the function itself. Sources and inlined functions are looked for where `cap` is above 1 and the
 * module has debug information, in itself or in a file of its own: that waits, until two seconds are
 * used up by all of them.
 */
size_t native_name(struct native *n, const struct native_frame *f, struct native_name *out,
		   size_t cap);

/*
 * The same without waiting. native_ask(): 0: asked; -EAGAIN: it can be later; -ENOENT: there is nothing
 * to know. native_take(): the next answer, of any frame that was asked for: its module and offset, and
 * how many names there are, the last one without the symbol's name; -EAGAIN: none yet.
 */
int native_ask(struct native *n, const struct native_frame *f);
int native_take(struct native *n, struct native_frame *of, struct native_name *out, size_t cap);
/* Ends children that are late or idle: once a second. */
void native_tick(struct native *n, uint64_t now_ns);
/* May an answer come? */
bool native_asked(const struct native *n);

/*
 * Where a process has a symbol (_PyRuntime), whatever its kind; 0: nowhere. Only modules are looked
 * into whose file's name contains `like`; *module (may be NULL) is its id.
 */
uint64_t native_symbol(struct native_target *t, const char *like, const char *symbol,
		       uint32_t *module);

/* --- with frames of Python --- */

struct native_mixed {
	bool python;
	uint32_t index; /* in the array that it is from */
};

/*
 * Merges native frames and those of Python, innermost first. eval[i]: native frame i runs the
 * interpreter's loop; those are left out, the Python frames stand in their place. entry[i]: Python
 * frame i is the outermost that its loop runs (in 3.10 each one is). Returns how many; at most `cap`.
 */
size_t native_mix(const bool *eval, size_t natives, const bool *entry, size_t pythons,
		  struct native_mixed *out, size_t cap);
/* Is this what the interpreter's loop is called? */
bool native_is_eval(const char *name);
/* Is a module with that file's name a library, or Python itself, and not the program? */
bool native_is_library(const char *file);
/* Is it how the interpreter calls C functions? A reader of stacks does not need those. */
bool native_is_glue(const char *name);
