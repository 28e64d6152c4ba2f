/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preempt.h - who ran on the CPUs of a thread that could run and had none.
 *
 * The process that the kernel switched to is not the one that takes the CPU: what counts is who occupied
 * the thread's CPUs meanwhile. Two looks at /proc, some seconds apart, say how much each process, or each
 * thread of a busy one, ran in between, and on which CPU it was last; /proc/stat has the time of
 * interrupts and of other virtual machines. Looks are taken only while a sampled thread waits for a CPU,
 * and at most one two-hundredth of a CPU is spent on them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"

#define PREEMPT_CPUS 1024u
#define PREEMPT_ROWS 512u
#define PREEMPT_TEXT 64u

/* A thread, or a process of one, that ran between the last two looks. */
struct preempt_row {
	uint32_t pid, tid, cpu;
	uint64_t ticks;
	char comm[16];
};

/* All 0 at first. */
struct preempt {
	const char *root;       /* borrowed: where /proc is; NULL: there */
	struct map before, now; /* ticks + 1 of a process; of a thread under 1 << 32 | its number */
	struct preempt_row row[PREEMPT_ROWS];
	size_t rows;
	struct preempt_cpu {
		uint64_t irq, steal;             /* ticks so far */
		uint32_t irq_ticks, steal_ticks; /* between the last two looks */
	} cpu[PREEMPT_CPUS];
	uint64_t look_ns, next_ns; /* of the last look; none before */
	uint64_t ticks;            /* between the last two; 0: there are no two */
};

/* What a line of /proc/PID/stat says. False: it is none. */
struct preempt_stat {
	char comm[16];
	uint64_t ticks, threads, cpu;
};
bool preempt_parse(const char *text, struct preempt_stat *out);

/* Looks, if it is due. True: there is something new to be asked for. */
bool preempt_look(struct preempt *p, uint64_t now_ns);
/* Who took most of the CPUs that the thread may use: "hog (pid 123)". False: nobody is known. */
bool preempt_who(const struct preempt *p, pid_t pid, pid_t tid, char out[PREEMPT_TEXT]);
void preempt_fini(struct preempt *p);
