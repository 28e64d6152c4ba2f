/* SPDX-License-Identifier: Apache-2.0 */
/* proc.h - what /proc says about a process. The process may have chosen every byte. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* When it started, in clock ticks since boot: with the pid and the boot id, its identity. */
int proc_start(pid_t pid, uint64_t *ticks);
int proc_boot_id(uint64_t id[2]);

/* Cut to fit and NUL-terminated; "" when it may not be known. */
void proc_comm(pid_t pid, char *out, size_t cap);
void proc_exe(pid_t pid, char *out, size_t cap);
/* A variable of its start. */
void proc_env(pid_t pid, const char *name, char *out, size_t cap);

pid_t proc_parent(pid_t pid); /* or -errno */

/* A thread has a number in each PID namespace that it is in. As it calls itself, from as we call it; and
 * the other way round. -ESRCH: there is no such thread. */
pid_t proc_own_tid(pid_t pid, pid_t tid);
pid_t proc_tid_of(pid_t pid, pid_t own_tid);

struct proc_seccomp {
	uint32_t mode;    /* 0 none, 1 strict, 2 filters */
	uint32_t filters; /* how many; 0 on kernels that do not say */
};
int proc_seccomp(pid_t pid, struct proc_seccomp *out);

struct proc_memory {
	uint64_t rss_kib, pss_kib;
};
int proc_memory(struct proc_memory *out); /* our own */
uint64_t proc_rss(void);                  /* our own, in bytes, cheaply; 0: not known */

struct proc_usage {
	uint64_t start_ticks; /* as proc_start() */
	double cpu_s, age_s;
	uint64_t rss_bytes;
};
int proc_usage(pid_t pid, struct proc_usage *out);
