/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.h - pushes metrics to OTLP over HTTP and to Prometheus' remote write, at intervals. A failed
 * push is not repeated: the next one has newer values.
 */
#pragma once

#include "net/http.h"
#include "ship/source/meter.h"

struct push;

struct push_opts {
	const char *otlp, *remote_write; /* http(s)://HOST:PORT/PATH; "": not */
	struct http_files files;
	uint64_t now_ns; /* wall time: counters count from here */
};

/* *out is NULL if neither is wanted. -EINVAL: *why says what was expected. */
int push_new(struct push **out, const struct push_opts *o, struct net_why *why);
void push_free(struct push *p); /* NULL is allowed */

/* Points to begin with: empty. */
struct meter *push_meter(struct push *p, uint64_t now_ns);
/* Sends them; failures are logged. Bytes on the wire. */
uint64_t push_send(struct push *p);
