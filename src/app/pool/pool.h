/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - aond's end of the segment: make it, drain it, adopt one that outlived a daemon.
 *
 * The other end, in the app, is pool/emit.h. abi/segment.h draws both.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/segment.h"

struct pool;

struct pool_opts {
	uint32_t pool_bytes;  /* of chunks; rounded up to whole chunks */
	uint32_t chunk_bytes; /* power of two, AON_CHUNK_BYTES_MIN..MAX */
	uint32_t heap_bytes;
	uint32_t pid;
	uint64_t pid_start;
	uint64_t boot_id[2];
	uint64_t tsc_base, ns_base, tsc_hz;
	const char *dir; /* NULL: a sealed memfd; else <dir>/<pool_id>.pool, fully allocated */
};

/* Makes a segment, every page allocated. -ENOMEM, -ENOSPC, -EINVAL. */
int pool_new(struct pool **out, const struct pool_opts *o);

/*
 * Takes over a segment made by an earlier aond. `fd` is the caller's in any case (duplicated).
 * Must be a sealed memfd (or, with trust_file, a regular file of our own) of a sane size with
 * a sane head: -EPROTO otherwise.
 */
int pool_adopt(struct pool **out, int fd, bool trust_file);
void pool_free(struct pool *p); /* unmaps; unlinks its file if it has one and it was drained */

/* Sets its owner: a spare segment is made before its process is known. */
void pool_assign(struct pool *p, uint32_t pid, uint64_t pid_start);

int pool_fd(const struct pool *p); /* borrowed */
size_t pool_bytes(const struct pool *p);

/* The head's constant part, as checked when it was made or adopted: a private copy. */
const struct aon_seg_head *pool_head(const struct pool *p);

/*
 * One pass over all chunks: copies every run of newly committed units into `buf` (cap bytes),
 * checks each record's length and counts the records, marks the run consumed, and frees the chunks
 * that are full (owned ones too when `dead`: no thread is left). All of that happens before any run
 * is parsed, so that threads find free chunks again while aond works. Returns 0, or -EPROTO: the
 * process broke the protocol, end its session. *runs gets how many of run[] were filled; *more is
 * set when buf or run[] was too small for all: use these runs, call again.
 */
struct pool_run {
	uint32_t tid;
	uint32_t seq;
	uint32_t tsc_hi;
	uint32_t units;
	uint32_t records;
	const union aon_rec *rec; /* in buf */
};
int pool_drain(struct pool *p, void *buf, size_t cap, bool dead, struct pool_run *run,
	       size_t run_max, size_t *runs, bool *more);

/* Copies an interned entry's payload out and checks it. Returns its length, or -ENOENT,
 * -EPROTO. `id` as in records: offset / AON_HEAP_ALIGN; tracks: offset / AON_TRACK_ALIGN. */
int pool_heap(const struct pool *p, uint32_t offset, uint32_t type, void *out, size_t cap);

/* Sums of the loss counters, by reason (indexes below AON_LOSS_APP_MAX). */
void pool_lost(const struct pool *p, uint64_t lost[AON_LOSS_APP_MAX]);
uint64_t pool_taken(const struct pool *p);   /* records copied out, ever, through any daemon */
uint64_t pool_pending(const struct pool *p); /* units committed and not yet taken */
uint32_t pool_used(const struct pool *p);    /* chunks not free */
void pool_doorbell_clear(struct pool *p); /* after a drain: threads then ring at half full again */
void pool_heartbeat(const struct pool *p, struct aon_heartbeat *out);
uint64_t pool_residual(const struct pool *p); /* ns: residual overhead that probes report */
