/* SPDX-License-Identifier: Apache-2.0 */
/* stream_priv.h - shared by stream.c, which drains a pool, and consume.c, which passes it on. */
#pragma once

#include "daemon/stream/stream.h"
#include "model/event.h"

struct window;

/* Gives a batch to every consumer; they may change the flags and weights of its steps. */
void stream_take(struct stream *s, struct event *ev, size_t n);
/* Into the blob under way, and those behind it. */
void stream_encode(struct stream *s, const struct event *ev, size_t n);
/* Samples that wait, at most: of fewer, the heads of columns and what is left of a page of the file take
 * more bytes than they do. */
#define STREAM_SAMPLES 1024u
#define SAMPLES_ROOM   (2 * STREAM_SAMPLES) /* with those whose windows are still open */
/* Samples that were taken before go into their windows. */
void stream_roll_samples(struct stream *s, uint64_t before_ns);
/* A window that was closed, for roll_add() and roll_close(). `arg`: the stream. */
void stream_hand_window(void *arg, const struct window *w);
