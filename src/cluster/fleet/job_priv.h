/* SPDX-License-Identifier: Apache-2.0 */
/* job_priv.h - shared by the files that present a job of a cluster as a store. */
#pragma once

#include <pthread.h>

#include "fleet/ask.h"
#include "fleet/priv.h"
#include "store/backend.h"

#define JOB_ROWS 2000000u /* of a walk */

struct job_name {
	uint64_t hash;
	char *text; /* owned */
};

/* A track of a capture: nodes number theirs each for itself. */
struct job_track {
	uint64_t proc;
	uint32_t there; /* its number on the node */
	struct track track;
};

struct job_store {
	struct fleet *f;      /* owned */
	pthread_mutex_t lock; /* guards what follows until it is loaded; then it does not change */
	struct process *process; /* owned; ids are 1 and on */
	uint64_t *proc;          /* owned: of each */
	size_t processes;
	struct job_name *name; /* owned, by hash; ids are from 2 on */
	size_t names;
	struct job_track *track; /* owned, by proc and number: of a capture */
	size_t tracks;
	bool loaded;
};

/* The process of that hash, or 0; the name of one. */
uint32_t job_process(const struct job_store *s, uint64_t proc);
uint32_t job_name(const struct job_store *s, uint64_t hash);
/* Which rows of a table the store is of: job and rank. */
void job_where(struct sql *q, const struct job_store *s);

/* job_events.c: events of a capture (f->pick.capture). */
int job_load_capture(struct job_store *s,
		     struct store_why *why);                    /* tracks; -ENOENT: there is none */
bool job_captured(const struct job_store *s, uint32_t process); /* whether it has any */
int job_each_track(const struct job_store *s, uint32_t process, store_track_fn *fn, void *arg);
int job_each_event(struct job_store *s, const struct store_filter *f, store_rows_fn *fn, void *arg);
/* The processes and the time of a filter; `dur`: the column that says how long a row is. */
void job_filter(struct sql *q, const struct job_store *s, const struct store_filter *f,
		const char *dur);

/* Events on their way to a reader: some at a time, those of one process together. */
#define JOB_AT_ONCE 512u
struct job_batch {
	struct job_store *s;
	store_rows_fn *fn;
	void *arg;
	uint64_t proc;
	size_t n;
	struct event ev[JOB_AT_ONCE];
};

int job_batch_add(struct job_batch *x, uint64_t proc, const struct event *e);
/* What is left of them. */
int job_batch_give(struct job_batch *x);
