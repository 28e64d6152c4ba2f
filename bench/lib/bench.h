/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - shared by the benchmarks: rows, clocks, a private aond, and work for it.
 *
 * A benchmark prints one JSON object a line (bench_row); bench/run.py gathers them. Absolute times
 * do not carry over to another machine or another minute, so a benchmark measures its reference in
 * the same run, alternating with it.
 */
#ifndef AON_BENCH_H
#define AON_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/process.h"

/* Every bar is an upper limit. bar < 0: the row is there to compare with, nothing is asked. */
void bench_row(const char *id, double value, const char *unit, double bar, int ok, const char *note,
	       ...) __attribute__((format(printf, 6, 7)));
void bench_skip(const char *id, const char *why);
void bench_die(const char *what, int err) __attribute__((noreturn));

int bench_wanted(const char *id); /* a row that takes long need not be made when nobody asks */

uint64_t bench_ns(void);          /* CLOCK_MONOTONIC */
uint64_t bench_cpu_ns(pid_t pid); /* CPU time of a process; 0: of this thread */
double bench_mean(const double *v, int n);
double bench_median(double *v, int n); /* sorts */
void bench_sleep_until(uint64_t ns);
/* Of a soak of so many seconds: how many pass until memory is what it stays. */
static inline int bench_warm(int seconds)
{
	int warm = seconds / 5 > 30 ? seconds / 5 : 30;

	return warm < seconds / 2 ? warm : seconds / 2;
}

/*
 * First in main(): libaon reads its environment before main(), so the program is started again
 * with a run directory of its own.
 */
void bench_begin(char *argv[]);

/* --- a private aond: own run directory and store, all removed at the end --- */

struct node {
	pid_t pid;
	char dir[64];
	char store[96];
	uint64_t cpu_ns;      /* of its whole life; set by node_stop */
	uint64_t store_bytes; /* likewise */
};

/* `settings`: lines of aond.conf, or "". */
void node_start(struct node *n, const char *settings);
/* Ends aond, so that all is in the store, and sums the accounts of its processes. */
void node_stop(struct node *n, struct account *sum);
long node_kib(const struct node *n, const char *file, const char *key); /* of /proc/<pid>/ */
const char *account_why(const struct account *a); /* ": reason n, ..." or "" */

/* --- activities like a training run's, never twice the same --- */

#define WORK_KERNELS 600 /* in a step */
#define WORK_TRACKS  3

struct work_kernel {
	uint32_t name, geo;
	uint32_t track; /* below WORK_TRACKS */
	uint32_t dur_ns, gap_ns;
};

struct work {
	struct work_kernel step[WORK_KERNELS];
	uint64_t rng, now_ns;
	uint32_t track[WORK_TRACKS]; /* ids of libaon */
	uint64_t track_end[WORK_TRACKS];
	uint32_t at, corr;
};

struct work_event { /* what the reference encodes: a record's fields */
	uint64_t start_ns;
	uint32_t dur_ns, corr, name, geo;
	uint16_t track, kind;
	uint32_t reserved;
};

/* `rate`: events a second. `names`: ids come from libaon (a feeder), else they are plain numbers
 * (the reference). */
void work_init(struct work *w, uint64_t seed, double rate, int names);
void work_next(struct work *w, struct work_event *e);

/* Emits `rate` activities a second for `seconds`, in bursts; returns how many. */
uint64_t work_feed(uint64_t seed, double rate, double seconds);
/* The same in `count` processes that share the rate. feed_wait gives the sum. */
struct feed {
	int count;
	pid_t pid[64];
	uint64_t *emitted; /* shared with the children */
};
void feed_start(struct feed *f, int count, double rate, double seconds);
uint64_t feed_wait(struct feed *f);

/* memcpy + varint + zstd-1 of `n` events: CPU nanoseconds. */
uint64_t work_reference(struct work *w, size_t n);

#endif /* AON_BENCH_H */
