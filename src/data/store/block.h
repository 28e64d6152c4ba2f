/* SPDX-License-Identifier: Apache-2.0 */
/* block.h - a block of telemetry as sealed bytes, and back. The format is drawn in block.c. */
#pragma once

#include <stddef.h>

#include "model/telemetry.h"
#include "store/rows.h"

struct block_codec;

int block_codec_new(struct block_codec **out);
void block_codec_free(struct block_codec *c); /* NULL is allowed */

/*
 * Puts seal and body at out->data (and out->len), in place of what is there; the row is the caller's to
 * set (seal_head()). Times are kept to the millisecond. -E2BIG above the limits, -EINVAL: ticks do not
 * rise, or a change is of none of them; -ENOMEM.
 */
int block_pack(struct block_codec *c, const struct telemetry_block *b, struct rows *out);

/* Untrusted bytes: -EBADMSG, -EPROTO. On success *out and what it points to belong to the codec until the
 * next call; changes are in order of series, then of ticks. */
int block_unpack(struct block_codec *c, const void *data, size_t len, struct telemetry_block *out);
