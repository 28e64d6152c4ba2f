/* SPDX-License-Identifier: Apache-2.0 */
/* pyimpl.h - what the files of the Python reader share. */
#pragma once

#include <string.h>

#include "base/map.h"
#include "stacks/pylayout.h"
#include "stacks/python.h"

#define PY_CODES 4096u /* code objects of a process that are remembered; then it begins anew, */
#define PY_LINES 16384u
#define PY_TEXT  (1u << 20)   /* and bytes of their names */
#define PY_COPY  (256u << 10) /* of a thread's chunks; outer ones are left out */
#define PY_SKEL  4096u        /* frames in them */
#define PY_STACK 8192u        /* bytes of a stack in which frames of C are */

struct py_code {
	uint64_t addr, table;
	uint64_t check; /* what it was, by its fields */
	uint64_t seen_ns;
	uint64_t filename, name;
	uint32_t first, framesize; /* in words; 0: not known (3.10) */
	uint32_t name_at, file_at; /* in `text`; 0: not read yet */
	uint64_t hash;
	bool user;
};

/* A frame in a chunk. */
struct py_skel {
	uint64_t addr, code, instr, previous;
	bool entry, lives; /* lives: it was not left when it was copied, that is for sure */
	uint64_t globals;
};

struct python {
	struct python_opts o;
	struct py_layout l;
	uint64_t type; /* of code objects; 0: none seen yet */

	struct map codes;     /* address -> its number + 1 */
	struct py_code *code; /* owned; room for code_cap */
	size_t n, code_cap;
	struct map lines; /* (address, check, instruction) -> line + 1 */
	char *text;       /* owned; room for text_cap */
	size_t text_n, text_cap;

	/* pytasks.c */
	uint64_t tasks_of, tasks_set; /* the set of tasks that a module's dictionary leads to */
	uint32_t coro_at;             /* where a task has its coroutine; 0: not known */
	uint64_t asyncio;             /* from 3.14 on: what _asyncio says; 0: not known, */
	uint32_t node_at, head_at;    /* and where the list of tasks is in a task, in a thread */
};

/* What one sample needs, for all processes: readers belong to one thread. */
extern struct py_scratch {
	unsigned char copy[PY_COPY];  /* of the chunks, */
	struct py_skel skel[PY_SKEL]; /* and their frames, the outermost first */
	unsigned char stack[2][PY_STACK];
} py_scratch;

static inline uint64_t py_word(const void *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static inline uint32_t py_half(const void *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static inline bool py_read(const struct python *p, uint64_t addr, void *to, size_t n)
{
	return p->o.read(p->o.arg, &(struct python_piece){ addr, to, n }, 1) == 1;
}

/* The code object there, remembered; NULL: it is none, as far as can be seen. */
struct py_code *py_code(struct python *p, uint64_t addr);
void py_codes_clear(struct python *p);
