/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - where a thread of CPython stands, read from outside while it runs.
 *
 * Nothing runs in the process and nothing stops it: its interpreter's structures are read as it
 * goes on. So that a stack is of one moment, all that it needs is copied by one read: the thread's
 * state, the lock, and the used part of the data stack, at addresses known from the sample before.
 * The frames are followed in the copy.
 *
 * From 3.11 on frames lie one behind the other in the chunks of a data stack, each as long as its
 * code object says. So they are found from the outside in, and the links from the inside out must
 * agree: a frame that was overwritten while it was copied does not fit. Frames of generators, and
 * before 3.11 all, are elsewhere: they are read where they were last time, else by a read of their
 * own.
 *
 * What is read may change meanwhile and may be made up: every pointer, length and loop is bounded,
 * and a text is at worst wrong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/sample.h"

struct stack;

/* A part of the memory of the process, to be copied. */
struct python_piece {
	uint64_t addr;
	void *to;
	size_t n;
};

/* Copies them in order, by one system call where it can. Returns how many are there whole: it ends
 * with the first that cannot be read. */
typedef size_t python_read_fn(void *arg, const struct python_piece *p, size_t n);

struct python;

struct python_opts {
	python_read_fn *read;
	void *arg;                    /* borrowed */
	uint64_t runtime;             /* where its _PyRuntime is */
	uint32_t version;             /* its Py_Version: 0x030b02f0 */
	uint64_t seed;                /* of hashes of names: strangers choose those */
	uint64_t set_type, coro_type; /* its PySet_Type and PyCoro_Type; 0: not known */
};

/* Is the layout of this version known? */
bool python_known(uint32_t version);
/* -ENOENT: an interpreter that is not known, or none. -ENOMEM. */
int python_new(struct python **out, const struct python_opts *o);
void python_free(struct python *p);
size_t python_bytes(const struct python *p); /* that it remembers of code; NULL: 0 */
void python_forget(struct python *p);        /* all of that: it is read again */

/* --- its threads --- */

#define PYTHON_CHUNKS  12u
#define PYTHON_OUTSIDE 64u
#define PYTHON_THREADS 8192u /* of a process that are looked at */

struct python_id {
	uint64_t state;  /* its PyThreadState */
	uint64_t interp; /* its interpreter */
	uint64_t self;   /* its pthread_t */
	uint32_t tid;    /* as its PID namespace counts; 0: not known */
	bool runs;       /* it has frames */
};

/* A thread, and where its things were last time. */
struct python_thread {
	struct python_id id; /* .state 0: not known */
	uint64_t gil;
	uint64_t low;  /* where its frames of C that point to those of Python were: */
	uint32_t span; /* bytes of its stack; 0: not known */
	struct {
		uint64_t addr;
		uint32_t used;  /* bytes, with its head */
	} chunk[PYTHON_CHUNKS]; /* innermost first */
	uint32_t chunks;
	uint64_t outside[PYTHON_OUTSIDE]; /* frames in no chunk, */
	uint32_t outsides, moving;        /* and how many of them are no frames of C: the first */
};

/* All threads of all interpreters, at most `cap`; as far as they can be read. */
size_t python_threads(struct python *p, struct python_id *out, size_t cap);
/* The one with this number; self: its pthread_t, 0: not known. NULL: none. A thread has a state in each
 * interpreter that it was in: the innermost that has frames is taken. */
const struct python_id *python_thread_of(struct python *p, const struct python_id *all, size_t n,
					 uint32_t tid, uint64_t self);
/* For python_sample(). */
void python_thread(struct python *p, const struct python_id *id, struct python_thread *out);

/* --- a sample --- */

struct python_frame {
	uint64_t code;    /* the code object */
	uint64_t instr;   /* the instruction: an address; before 3.11 its number */
	bool entry;       /* C called it: the outermost frame that its interpreter loop runs */
	uint64_t globals; /* its module's dictionary */
};

struct python_sample {
	struct python_frame frame[STACK_FRAMES_MAX]; /* innermost first */
	size_t n;
	uint8_t flags; /* SAMPLE_GC, SAMPLE_UNCERTAIN, SAMPLE_CUT */
	uint64_t gil;  /* where the lock of its interpreter is; 0: not known, */
	uint32_t gil_bytes;
	uint64_t holder; /* and the state of the thread that has it; 0: none has */
};

/*
 * What the thread runs. -ENOENT: no Python now. -ESTALE: `t` is no such thread any more. -EAGAIN: it
 * changes too fast.
 * `more`: pieces that are copied by the same read, behind its own; *more_read: how many are there.
 */
int python_sample(struct python *p, struct python_thread *t, const struct python_piece *more,
		  size_t mores, size_t *more_read, struct python_sample *out);

/* --- names --- */

struct python_place {
	const char *name, *file; /* UTF-8; borrowed until the next call with this `p` */
	uint64_t hash;           /* of both */
	uint32_t line;           /* 0: not known */
	bool user;               /* code of the program: FRAME_USER */
};

/* Code objects of frames that were not seen for a while are looked at again, by one read: their memory
 * may be another's. Before python_place(), if `p` lives that long. */
void python_look_again(struct python *p, const struct python_frame *f, size_t n, uint64_t now_ns);
/* Of a frame. */
void python_place(struct python *p, const struct python_frame *f, uint64_t now_ns,
		  struct python_place *out);
/* Is a file with that path the program's own? */
bool python_is_user(const char *path);

/* --- tasks of asyncio --- */

#define PYTHON_AWAITS 16u  /* coroutines of a task, each of which awaits the next, */
#define PYTHON_TASKS  512u /* and tasks that are looked at */

struct python_task {
	struct python_frame frame[PYTHON_AWAITS]; /* innermost first */
	size_t n;
};

/* Does asyncio's loop wait for something to do? The frames are of a thread that sleeps. */
bool python_idles(struct python *p, const struct python_sample *s, uint64_t now_ns);
/* From 3.14 on _asyncio says where it has its tasks: at this address. */
bool python_needs_asyncio(const struct python *p);
void python_asyncio(struct python *p, uint64_t table);
/* Tasks of such a thread that wait, from the number `first` on and then from the start; at most `cap`. */
size_t python_tasks(struct python *p, const struct python_thread *t, const struct python_sample *s,
		    size_t first, struct python_task *out, size_t cap);

/* --- a stack as text --- */

/* Appends the frames of the thread with that pthread_t, innermost first, and to `tasks` those of the tasks
 * that wait if its loop idles; asyncio: python_asyncio(), or 0. -ENOENT: it runs no Python. */
int python_stack(const struct python_opts *o, uint64_t self, uint64_t asyncio, struct stack *out,
		 struct stack *tasks);
