/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - the thread that owns the store: it compresses, inserts and commits.
 *
 * When the store refuses (disk full), the open transaction is lost as a whole: its events are
 * counted as lost to the store; its process rows are kept and written again (the store itself keeps
 * names and tracks). The writer retries ever more rarely; until then events are lost and counted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/stream/queue.h"

struct store;
struct writer;

/* Owns `st` from here on, unless it fails. `wake_fd` is an eventfd, written when a commit that
 * was asked for with `wake` is done. `nice`: its priority, where the system allows it. */
int writer_new(struct writer **out, struct queue *q, struct store *st, int wake_fd, int nice);
/* Writes what is queued, commits, closes the store, ends the thread. */
void writer_free(struct writer *w);

/* Drain thread: commit what is queued so far. Returns the number of this commit, 0: no memory. */
uint64_t writer_commit(struct writer *w, uint64_t now_ns, bool wake);
/* The last completed commit; *err: its result. */
uint64_t writer_done(struct writer *w, int *err);
/* Commits that were asked for and are not done. */
uint64_t writer_behind(struct writer *w);
/* The store is damaged: only a restart, which puts it aside, helps. */
bool writer_broken(struct writer *w);
