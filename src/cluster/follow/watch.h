/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - one followed job: its complete steps, their findings, and what was reported. */
#pragma once

#include "fleet/question.h"
#include "follow/cursor.h"
#include "follow/follow.h"
#include "ship/source/pack.h"

#define WATCH_LOOKS 8u

struct job_watch {
	const struct follow_opts *o; /* borrowed */
	struct fleet *f;             /* borrowed */
	struct packs *packs;         /* borrowed: receives the findings */
	struct cursor_job at;
	struct diag *d; /* owned; NULL: nothing was read yet */
	uint32_t world;
	bool live;
	/* earlier steps are read again after a restart: their findings are not reported */
	uint64_t quiet;
	uint64_t step, step_t_ns;
	uint64_t stand_step, stand_ranks; /* the hang seen at the last look */
	struct {
		uint64_t at_ms,
			next; /* at that time (CLOCK_MONOTONIC) the steps before `next` existed */
	} look[WATCH_LOOKS];
	uint32_t looks;
	uint32_t told; /* findings since it began */
	int err;       /* error of the last query made for a verdict */
};

int watch_new(struct job_watch **out, const struct follow_opts *o, struct fleet *f, struct packs *p,
	      const struct cursor_job *at);
void watch_free(struct job_watch *w); /* NULL is allowed */

/* Reads what is new of the job. now_ms: CLOCK_MONOTONIC. */
int watch_look(struct job_watch *w, const struct fleet_running *is, uint64_t now_ms,
	       struct store_why *why);
/* The job has ended: closes its open findings. */
int watch_end(struct job_watch *w);

/* --- row.c --- */

/* A verdict as a row of `finding`; *open identifies it. until_ns 0: it is not over. */
int watch_row(struct job_watch *w, const struct diag_verdict *v, const struct cursor_open *open,
	      uint64_t until_ns);
