/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - what a thread does now, by files of /proc that stay open between samples.
 *
 * A thread that sleeps in the kernel says in which system call, with its arguments, and where its
 * stack is. One that does not either runs or waits for a CPU; only sums of both times can be read
 * (schedstat), so of the samples of such a thread as many are RUNNABLE as the sums say, and
 * THROTTLED if its cgroup was stopped meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/sample.h"

struct state_thread {
	pid_t pid, tid;
	int syscall_fd, sched_fd;            /* owned; -1: not open */
	uint64_t cpu_ns, delay_ns, sched_ns; /* of schedstat, and when it was read */
	uint64_t slices; /* how often it was given a CPU, before the last look */
	bool slept;      /* at the last look */
	double delayed;  /* share of the time without a CPU, by it */
	double owed;     /* samples that are to be RUNNABLE */
	uint32_t fd;     /* the descriptor that was looked at last, + 1, */
	uint64_t fd_ns;  /* when, */
	bool fd_file;    /* and whether it is a file's */
};

/* The CPU quota of a process's cgroup. */
struct state_quota {
	int fd; /* owned: cpu.stat; -1: none */
	uint64_t throttled, seen_ns;
	bool moved; /* between the last two looks */
};

struct state_now {
	enum sample_state state;
	bool blocked;    /* sp and pc are known */
	bool same;       /* it sleeps, and has done nothing else since the last look */
	int32_t nr;      /* of the system call; -1: in none */
	uint64_t arg[6]; /* its arguments */
	uint64_t sp, pc;
};

void state_open(struct state_thread *s, pid_t pid, pid_t tid);
void state_close(struct state_thread *s);
void quota_open(struct state_quota *q, pid_t pid);
void quota_close(struct state_quota *q);

/* -ESRCH: it is gone. -EACCES, -EPERM: may not. */
int state_look(struct state_thread *s, struct state_quota *q, uint64_t now_ns,
	       struct state_now *out);
/* Is it a wait for the lock at `gil`? */
bool state_is_gil(const struct state_now *s, uint64_t gil, uint32_t bytes);
/* What /proc/PID/task/TID/syscall says; for state_look() and its tests. -EINVAL. */
int state_parse(const char *text, struct state_now *out);
