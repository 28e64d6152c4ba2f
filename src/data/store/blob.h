/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob.h - events to columns to bytes, and back.
 *
 * The encoder belongs to one process's stream of events. blob_add() appends to the columns
 * (drain thread); blob_seal() hands the columns over as a struct blob (no compression yet);
 * blob_pack() compresses it (writer thread). Format: columns.h, seal.h.
 *
 * Memory: an encoder 150 bytes while it holds nothing and after a seal of few events; else 22 KB
 * of state, and of 1.1 MB of strips what its events fill (about 9 bytes each). A sealed blob
 * the same 9 bytes an event, a packed one 2 to 4. A packer 250 KB, a decoder 1.6 MB.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/columns.h"
#include "model/event.h"

#define BLOB_EVENTS EVENT_BATCH /* in one blob, at most */

struct blob_enc;

int blob_enc_new(struct blob_enc **out);
void blob_enc_free(struct blob_enc *e);

/* Takes up to the blob's room; returns how many of `n` were taken (fewer: seal it first; none
 * although it is empty: no memory). */
size_t blob_add(struct blob_enc *e, const struct event *ev, size_t n);
size_t blob_count(const struct blob_enc *e);

struct blob {
	uint64_t t0_ns, t1_ns; /* first start, last end */
	uint32_t events;
	uint32_t records; /* what accounting counts */
	uint32_t len, cap;
	uint8_t packed; /* data is the final form: a seal and a body; process and row come later */
	uint8_t *data;  /* owned */
};

/* Moves what the encoder holds into *out (owned by the caller) and empties the encoder.
 * -ENODATA: it is empty. -ENOMEM: it keeps what it holds. */
int blob_seal(struct blob_enc *e, struct blob *out);
void blob_fini(struct blob *b);

/* Compresses in place of `b->data`. `z` holds the compressor's memory between calls. */
struct blob_packer;
int blob_packer_new(struct blob_packer **out);
void blob_packer_free(struct blob_packer *z);
int blob_pack(struct blob_packer *z, struct blob *b);

/*
 * Decode untrusted bytes: checks the sum and every length first. -EBADMSG when damaged, -EPROTO
 * when newer. On success *out holds the columns of `want` (enum event_column), owned by the decoder
 * until the next call. out->n is 0 when no event is of a kind in `kinds` (bits of enum event_kind;
 * ~0u: any), else that of all events: look at out->kind. Columns that are not unpacked are not
 * looked into; of samples that are not among the kinds, all else is 0.
 */
struct blob_dec;
int blob_dec_new(struct blob_dec **out);
void blob_dec_free(struct blob_dec *d);
int blob_columns(struct blob_dec *d, const void *data, size_t len, uint32_t want, uint32_t kinds,
		 struct event_columns *out);
