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

/* A track of a capture. Each node numbers its own tracks. */
struct job_track {
	uint64_t proc;
	uint32_t there; /* its number on the node */
	struct track track;
};

struct job_store {
	struct fleet *f; /* owned */
	/* guards the members below until they are loaded; then they are constant */
	pthread_mutex_t lock;
	struct process *process; /* owned; ids start at 1 */
	uint64_t *proc;          /* owned: hash of each process */
	size_t processes;
	struct job_name *name; /* owned, sorted by hash; ids start at 2 */
	size_t names;
	struct job_track *track; /* owned, sorted by process and number: the tracks of a capture */
	size_t tracks;
	bool loaded;
};

/* The id of the process with that hash, or 0; its name. */
uint32_t job_process(const struct job_store *s, uint64_t proc);
uint32_t job_name(const struct job_store *s, uint64_t hash);
/* Writes the filter for this store's job and rank. */
void job_where(struct sql *q, const struct job_store *s);

/* job_events.c: events of a capture (f->pick.capture). */
int job_load_capture(struct job_store *s,
		     /* also reads its tracks; -ENOENT: there is no such capture */
		     struct store_why *why);
/* whether it has events of that process */
bool job_captured(const struct job_store *s, uint32_t process);
int job_each_track(const struct job_store *s, uint32_t process, store_track_fn *fn, void *arg);
int job_each_event(struct job_store *s, const struct store_filter *f, store_rows_fn *fn, void *arg);
/* Writes the processes and the time range of a filter; `dur`: the column with a row's duration. */
void job_filter(struct sql *q, const struct job_store *s, const struct store_filter *f,
		const char *dur);

/* Events on their way to a reader: a batch at a time, grouped by process. */
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
/* Passes on the rest. */
int job_batch_give(struct job_batch *x);
