/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - a window of rollups as sealed bytes, and back. The format is drawn in window.c. */
#pragma once

#include <stddef.h>

#include "model/rollup.h"
#include "store/rows.h"

#define WINDOW_ROWS_MAX  65536u
#define WINDOW_CELLS_MAX (4u << 20) /* of all sketches of a window: what a reader allocates */

struct window_codec;

int window_codec_new(struct window_codec **out);
void window_codec_free(struct window_codec *c);

/*
 * Puts seal and body at out->data (and out->len), in place of what is there; owner and row are
 * the caller's to set (seal_head()). -E2BIG above the limits, -ENOMEM.
 */
int window_pack(struct window_codec *c, const struct window *w, struct rows *out);

/* Untrusted bytes: -EBADMSG, -EPROTO. On success *out and what it points to belong to the
 * codec until the next call. */
int window_unpack(struct window_codec *c, const void *data, size_t len, struct window *out);
