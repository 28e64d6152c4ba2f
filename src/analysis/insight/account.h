/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - the account of one device's time: a GPU of a rank, or the CPU of a process. Pure.
 *
 * Its base is the one denominator of all figures of the device. Where the process has steps,
 * the base is these steps: from the first one's begin (or the end of the work that was launched
 * before it) to the last one's end (or that of the last work launched in one), without what lies
 * between steps that were not recorded. Without steps it is the observed interval: from the first
 * event of the process, host events included, to the last. Each nanosecond of the base is in exactly
 * one cause of account.tbl.h.
 *
 *	account_begin(&x, span, n)                        n is 0: the observed interval, and
 *	account_observed(&x, first_ns, last_ns)           as far as it is known by now
 *	account_work(&x, ACCOUNT_COMPUTE, ...)            the device's work, by its start
 *	account_put(&x, ACCOUNT_HOST, from_ns, to_ns)     what lies between; in any order
 *	account_close(&x, &account)
 *
 * A recording may begin in the middle of the work: if the first work that was recorded had been
 * launched before it could start, the device was busy with work that is not in the trace. That time
 * is left out of the base (cut_ns). A recording that ends in the middle of the work is not recognized:
 * the time after the last work is the host's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum account_cause {
#define ACCOUNT(ID, word, people, means) ACCOUNT_##ID,
#include "insight/account.tbl.h"
	ACCOUNT_CAUSES,
	ACCOUNT_IDLE = ACCOUNT_INPUT, /* the first one of a device that waits */
};

struct account_row {
	const char *word, *people, *means;
};

extern const struct account_row account_table[ACCOUNT_CAUSES];

struct time_account {
	uint64_t base_ns;          /* all of the base */
	uint64_t steps;            /* in it: divide by them for a step. 0: the observed interval */
	uint64_t start_ns, end_ns; /* from its first nanosecond to its last one */
	uint64_t ns[ACCOUNT_CAUSES]; /* sum to base_ns */
	uint64_t rest_ns;            /* of ACCOUNT_UNKNOWN: nothing was put for it */
	uint64_t cut_ns;             /* left out: the device did what is not in the trace */
	uint64_t head_ns, tail_ns;   /* of the base, before the first and after the last work */
	uint64_t works, launched;    /* pieces of work of the base; those whose launch was seen */
};

/* A step, and how much of the base lies before it. In order, none begins before another ends. */
struct account_span {
	uint64_t start_ns, end_ns, before_ns;
};

/* An account that is being made. */
struct account_sum {
	const struct account_span *span; /* borrowed; spans is 0: the observed interval */
	size_t spans, at;                /* at: where the last time that was asked for lies */
	uint64_t first_ns, last_ns;      /* observed */
	uint64_t from_ns;                /* where the base begins */
	uint64_t until[3], sum[3];       /* unions of compute, kernels, everything */
	uint64_t busy_ns;                /* end of all work so far, or where the base begins */
	uint64_t ns[ACCOUNT_CAUSES];
	uint64_t cut_ns, head_ns, tail_ns;
	uint64_t works, launched;
	bool seen;  /* something was observed */
	bool begun; /* the first work that counts came */
	bool over;  /* so did work that comes after the last step */
};

/* Fills before_ns of all. */
void account_spans(struct account_span *span, size_t n);
void account_begin(struct account_sum *x, const struct account_span *span, size_t n);
void account_observed(struct account_sum *x, uint64_t first_ns, uint64_t last_ns);

/* Time during which the device waits before a piece of work: from..to; empty if from == to. */
struct account_gap {
	uint64_t from_ns, to_ns;
	bool head; /* before the first work that counts */
};

/* Work, in order of its start: ACCOUNT_COMPUTE, ACCOUNT_COMM or ACCOUNT_COPY. called_ns: begin of
 * the call that launched it; UINT64_MAX: not seen. The gap before it is the caller's to put. */
struct account_gap account_work(struct account_sum *x, enum account_cause kind, uint64_t start_ns,
				uint64_t end_ns, uint64_t called_ns);
/* What follows the last work, the caller's to put. */
struct account_gap account_tail(const struct account_sum *x);

/* The part of from..to that lies in the base is of this cause. */
void account_put(struct account_sum *x, enum account_cause cause, uint64_t from_ns, uint64_t to_ns);
/* It is not of the base: at its begin or end the device did what is not in the trace. */
void account_cut(struct account_sum *x, uint64_t from_ns, uint64_t to_ns);

/* Whether ns lies in the base. */
bool account_within(struct account_sum *x, uint64_t ns);
/* How much of the base lies before ns. */
uint64_t account_before(struct account_sum *x, uint64_t ns);

void account_close(struct account_sum *x, struct time_account *out);

/* Moves up to so much from one cause to another; for what is known only at the end. */
void account_move(struct time_account *a, enum account_cause from, enum account_cause to,
		  uint64_t ns);

/* The mean step, or the whole base. */
static inline uint64_t account_step_ns(const struct time_account *a)
{
	return a->steps ? a->base_ns / a->steps : a->base_ns;
}
