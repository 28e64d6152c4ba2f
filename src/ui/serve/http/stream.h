/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - live events of the node's aond as server-sent events.
 *
 *	id: RING-SEQ            where to go on, as the Last-Event-ID of a later request
 *	event: event            or window, or lost
 *	data: {...}
 *
 * A thread of its own reads aond's ring and asks it for names, so that a slow aond delays no other
 * answer; MHD's threads only copy. For a client that does not read, nothing is read from the ring:
 * it falls behind, and its loss is reported to it. The ring of a client that disconnected is kept
 * for a while, so that it can resume.
 */
#pragma once

#include <stdint.h>

#include <aon/consumer.h>

#include "serve/http/http_priv.h"

#define STREAM_CLIENTS 32u
#define STREAM_KEPT    8u  /* disconnected clients that can resume, */
#define STREAM_KEPT_S  30u /* within this time */
#define STREAM_BEAT_S \
	2u /* a comment is sent after this long without data, to detect clients that left */
#define STREAM_PIDS 32u

/* The request of a client, from api_stream(). */
struct stream_want {
	struct aon_consumer_opts opts; /* without the pid */
	uint32_t pid[STREAM_PIDS];
};

/* `last`: the client's Last-Event-ID, or NULL. */
enum MHD_Result stream_begin(struct http *h, struct MHD_Connection *c, const struct viewer *who,
			     const char *target, const char *last);
void stream_stop(struct http *h); /* wakes all; call it before MHD stops */
void stream_fini(struct http *h); /* after the last request */
