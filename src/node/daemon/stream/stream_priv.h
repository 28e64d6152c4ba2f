/* SPDX-License-Identifier: Apache-2.0 */
/* stream_priv.h - shared by stream.c, which drains a pool, and consume.c, which passes it on. */
#pragma once

#include "daemon/stream/stream.h"
#include "model/event.h"

struct window;

/* Gives a batch to every consumer; they may change the flags and weights of its steps. */
void stream_take(struct stream *s, struct event *ev, size_t n);
/* A window that was closed, for roll_add() and roll_close(). `arg`: the stream. */
void stream_hand_window(void *arg, const struct window *w);
