/* SPDX-License-Identifier: Apache-2.0 */
/* native_priv.h - what the files of native.h share. */
#pragma once

#include "base/map.h"
#include "stacks/cfi.h"
#include "stacks/debug/lines.h"
#include "stacks/image.h"
#include "stacks/native.h"
#include "stacks/symbols.h"

#define NATIVE_MODULES 256u        /* open files; a power of two */
#define NATIVE_RULES   16384u      /* of places in code: 1 MiB */
#define NATIVE_CALLS   16384u      /* places behind calls that are remembered */
#define NATIVE_SYMBOLS (24u << 20) /* bytes of all symbol tables */
#define NATIVE_LINES   2u          /* children that read debug information, */
#define NATIVE_WAIT_MS 2000        /* and what native_name() waits for all of them */
#define NATIVE_MAPS    8192u       /* mappings with code, of a process, */
#define NATIVE_PATHS   (1u << 20)  /* and bytes of their paths */

struct module {
	uint32_t id;   /* its slot, and above it how often slots were filled */
	uint64_t used; /* by the node's tick */
	struct image img;
	uint64_t file[4]; /* device, inode, time of change; 0: the vdso */
	char *path;       /* owned */
	pid_t pid;        /* of the process that it was first found in: for files beside it */
	struct symbols syms;
	struct lines *lines; /* owned; NULL: none */
	bool syms_tried, lines_tried;
};

struct native {
	uint64_t seed;
	struct module *slot[NATIVE_MODULES]; /* owned */
	uint32_t filled;
	uint64_t tick;
	struct map rules; /* module and address to the number of a rule, from 1 */
	struct cfi_rule *rule;
	size_t nrules, rules_cap;
	struct map calls; /* enum behind, or CALL_TO + target */
	int waited_ms;    /* for lines */
};

/* Code that a process has mapped. */
struct mapping {
	uint64_t start, end, offset;
	uint64_t head;   /* where the file's first page is mapped; 0: nowhere */
	uint32_t path;   /* in .paths */
	uint32_t module; /* 0: not looked for yet, or none */
	bool tried;
};

struct native_target {
	struct native *n;
	pid_t pid;
	int mem_fd; /* borrowed */
	struct mapping *map;
	size_t maps, maps_cap;
	char *paths;
	size_t paths_len, paths_cap;
	uint64_t read_ns; /* when the mappings were read; 0: never */
};

/* --- modules.c --- */

struct module *module_get(struct native *n, uint32_t id); /* NULL: dropped */
/* The module of a mapping and the address in it; NULL: it has none. */
struct module *module_at(struct native_target *t, struct mapping *m, uint64_t pc, uint64_t *vaddr);
const struct symbols *module_symbols(struct native *n, struct module *m); /* NULL: none */
/* A regular file, opened as a name first: opening a device or a pipe could do something. -ENOENT. */
int open_regular(const char *path);

/* --- debug/lookup.c --- */

/* NULL: none. It may be asked: not too many children run. -EAGAIN through *err: later. */
struct lines *module_lines(struct native *n, struct module *m, int *err);

/* --- maps.c --- */

struct mapping *mapping_at(struct native_target *t, uint64_t pc, bool again);
int target_read(const struct native_target *t, uint64_t addr, void *out, size_t n);
/* As many bytes up to n as are there. */
size_t target_read_some(const struct native_target *t, uint64_t addr, void *out, size_t n);

/* --- rules.c --- */

/* NULL: none. Valid until the next call. */
const struct cfi_rule *rule_at(struct native *n, struct module *m, uint64_t vaddr);

#define CALL_NO  1u /* no call ends there */
#define CALL_ANY 2u /* one through a register or memory does */
#define CALL_TO  3u /* + the address that it calls, in the same module */
uint64_t call_before(struct native *n, struct module *m, uint64_t vaddr);
