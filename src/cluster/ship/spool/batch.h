/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - rows of one table, encoded once and never changed: the unit that spools hold and that
 * is sent.
 *
 *	head (BATCH_HEAD bytes, little endian), body: RowBinary, packed by zstd
 *
 * A batch is identified by (src, seq). Numbers of a src only rise; a missing number was dropped,
 * and a row of `drop` says so. All rows are of one day, so that an insert makes one part and is
 * atomic; and of one `route`, which chooses the shard: the hash of the job, else of the host.
 * docs/cluster.md draws it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ship/rowbin.h"
#include "ship/table.h"

#define BATCH_MAGIC     0x624e4f41u /* "AONb" */
#define BATCH_VERSION   1u
#define BATCH_HEAD      88u
#define BATCH_BYTES_MAX (4u << 20) /* of a body, unpacked */
#define BATCH_ROWS_MAX  100000u
#define BATCH_MAX       (BATCH_HEAD + BATCH_BYTES_MAX + (64u << 10)) /* on disk and wire */

struct batch_head {
	uint32_t magic;
	uint16_t version, schema; /* schema: of the columns (SHIP_SCHEMA) */
	char table[16];           /* its name; the rest 0 */
	uint32_t rows;
	uint32_t bytes;  /* of the body, unpacked */
	uint32_t stored; /* as it stands behind the head */
	uint32_t day;    /* since 1970, of all rows */
	uint64_t src, seq;
	uint64_t route;
	uint64_t made_ns;
	uint64_t body_sum; /* XXH3 of the body as it stands */
	uint64_t sum;      /* XXH3 of the head before it */
};

_Static_assert(sizeof(struct batch_head) == 88, "a head is on disk and on the wire");

/*
 * Packs `rows` rows into out (its len is set anew). h: src, seq, route and made_ns are the caller's; the rest is
 * filled in. Its bytes are always the same for the same rows. -E2BIG: over the limits; -EBADMSG: these are
 * not rows of one day; -ENOMEM.
 */
int batch_pack(struct rowbin *out, struct batch_head *h, enum ship_table_id table,
	       const struct rowbin *rows, uint32_t n);

/* The head of `len` bytes, which must be all of a batch, whole. -ENODATA: they end within it; -EPROTO: a newer
 * version, or a table that is not known; -EBADMSG: damaged, or no batch. */
int batch_parse(struct batch_head *out, const void *data, size_t len);
/* The same of the head alone: what stands in it, not whether the body is whole. */
int batch_parse_head(struct batch_head *out, const void *data, size_t len);

/* The rows of a batch that batch_parse() took, checked. As there. */
int batch_unpack(struct rowbin *out, const struct batch_head *h, const void *data);

/* Its table; it is one of those that are known. */
enum ship_table_id batch_table(const struct batch_head *h);

/* "src-seq" in hex: the token that servers know it by. */
#define BATCH_TOKEN 40u
char *batch_token(char out[BATCH_TOKEN], const struct batch_head *h);

/* A hash for proc, name, route and src: never 0. */
uint64_t ship_hash(const void *data, size_t len);
uint64_t ship_hash_text(const char *s);
