/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.h - calls a method without arguments of a gRPC service on a unix socket, with the part of
 * HTTP/2 that this needs.
 *
 * One connection, one stream. The server's headers are not decoded: an answer is a complete message
 * in DATA frames; a stream that ends without one is an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRPC_BYTES_MAX (4u << 20)

/* The frames of an answer, as they come. */
struct grpc {
	uint8_t *frame; /* owned; bytes that are no whole frame yet */
	size_t frame_len, frame_cap;
	uint8_t *data; /* owned; the stream's */
	size_t len, cap;
	bool end;         /* the server has ended the stream */
	uint8_t say[256]; /* what must be answered: settings, pings */
	size_t say_len;
};

void grpc_fini(struct grpc *g);

/* Takes bytes of the server. -EBADMSG: they are no HTTP/2, or it gave up; -EFBIG: too much; -ENOMEM. */
int grpc_take(struct grpc *g, const void *bytes, size_t n);
/* The message, when the stream has ended: -EBADMSG: none, or not one. */
int grpc_message(const struct grpc *g, const uint8_t **data, size_t *len);

/* Asks `method` ("/v1.PodResourcesLister/List") of the service at `path`. As grpc_take(); -ETIMEDOUT; as connect(). */
int grpc_ask(struct grpc *g, const char *path, const char *method, uint32_t timeout_ms);
