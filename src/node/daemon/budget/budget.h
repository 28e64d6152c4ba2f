/* SPDX-License-Identifier: Apache-2.0 */
/* budget.h - what a process is asked to record, what limits that, and what it costs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/budget/allow.h"
#include "model/process.h"

struct roster;
struct sess;

struct sess_budget {
	struct sess *leader; /* borrowed: its budget counts; NULL: not looked for yet */
	enum tier asked;     /* what the process is to show, if the budget allows it */
	uint32_t captures;   /* that need tier full now */
	bool trials;         /* its libaon can skip steps */
	struct allow allow;  /* limits that were set for it alone */
	char moved[160];     /* its last move between the fidelity levels, and why; "": none yet */
};

/* Once a second: the cost of recording each process, and its limit. */
void budget_tick(struct roster *r, uint64_t now_ns);
void budget_note(struct sess *s);                               /* into its row */
uint64_t budget_written(const struct sess *s);                  /* bytes of events, today */
int64_t budget_limit(const struct sess *s, enum allow_key key); /* the limit that applies to it */
