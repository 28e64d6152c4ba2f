/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - one look at one thread: its state, and the frames that it stands in.
 *
 * A struct process is kept as long as one of its threads is sampled: it has what is known of the
 * interpreter, of the threads' numbers and of the quota.
 */
#pragma once

#include "sample/state.h"
#include "stacks/native.h"
#include "stacks/python.h"

struct process;

/* What a sample of a thread has, after a look. */
struct thread_last {
	uint32_t id, detail; /* id: of the stack; 0: none */
	uint8_t state, flags;
};

/* A thread that is sampled, and what the last look has taught. */
struct thread {
	struct process *of; /* borrowed */
	pid_t tid;
	uint32_t inner; /* its number in its own PID namespace; 0: not asked yet */
	struct state_thread state;
	struct python_thread py; /* .id.state 0: it runs no Python, as far as is known */
	uint64_t tasks_ns; /* when a task of its loop was looked at; 0: none was at the last look */
	uint64_t missed_ns; /* when it was looked for in vain, */
	uint64_t found_ns;  /* and when at all */
	struct thread_last last;
};

struct look {
	struct state_now now;
	bool same;               /* it has not run since the last look: the rest is not filled */
	struct python_sample py; /* .n 0: no Python */
	struct python_task task; /* of a loop of asyncio that idles: one that waits; .n 0: none */
	struct native_frame native[STACK_FRAMES_MAX];
	size_t natives;  /* 0: it is on a CPU, or could not be unwound */
	uint32_t detail; /* sample_detail() */
	pid_t holder;    /* of the GIL that it waits for; 0: none, or not known */
};

/* n: shared by all; borrowed. */
int process_new(struct process **out, struct native *n, pid_t pid);
void process_free(struct process *p);
pid_t process_pid(const struct process *p);
uid_t process_uid(const struct process *p);       /* who pays for it */
bool process_gone(const struct process *p);       /* its number may be another's by now */
struct python *process_python(struct process *p); /* NULL: none */
/* May it have one more new stack? All processes share their number: code that is made up all the time, by
 * mistake or not, is not to use them up. */
bool process_new_stack(struct process *p, uint64_t now_ns);
/* Threads that run Python, as our PID namespace counts; at most `cap`. */
size_t process_threads(struct process *p, uint64_t now_ns, pid_t *out, size_t cap);
/* A thread that is not sampled itself: the holder of the GIL. NULL: no memory. */
struct thread *process_other(struct process *p, pid_t tid);

void thread_open(struct thread *t, struct process *of, pid_t tid);
void thread_close(struct thread *t);
/* -ESRCH: it is gone; -EPERM, -EACCES: may not; -ENOEXEC: a program of 32 bits; -ETIMEDOUT: its memory
 * is too slow. */
int thread_look(struct thread *t, uint64_t now_ns, struct look *out);
