/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - records of steps as sealed bytes, and back.
 *
 *	body: raw length varint, then a zstd frame (or the raw bytes, where that is not longer)
 *	raw:  the records as model/step_rec.h encodes them, one behind the other; of all but the
 *	      first, each byte less that at the same place of the one before
 */
#pragma once

#include <stddef.h>

#include "store/rows.h"
#include "store/store.h"

struct steps_codec;

int steps_codec_new(struct steps_codec **out);
void steps_codec_free(struct steps_codec *c); /* NULL is allowed */

/* Puts seal and body at out->data in place of what is there; the row is the caller's to set. */
int steps_pack(struct steps_codec *c, const struct store_steps *b, struct rows *out);

/* Untrusted bytes: -EBADMSG, -EPROTO. The bytes of *out belong to the codec until the next call, and
 * each record in them is whole. */
int steps_unpack(struct steps_codec *c, const void *data, size_t len, struct store_steps *out);
