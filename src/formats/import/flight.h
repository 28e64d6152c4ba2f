/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight.h - reads torch's Flight Recorder of a process: its groups, the last collective of each,
 * and the one that is under way.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct flight_group {
	const char *name;  /* borrowed for the call */
	uint64_t last;     /* number of the last collective that was called */
	uint64_t open;     /* of the first that has not ended; 0: none */
	const char *what;  /* it does: "gloo:all_reduce"; "" */
	uint64_t since_ns; /* wall time at which it was called */
};

typedef int flight_fn(void *arg, const struct flight_group *g);

/* The body of an answer over HTTP. 0, -EBADMSG: no answer, -ENOENT: it refuses. */
int flight_body(const char *answer, size_t n, const char **body, size_t *len);

/* Each group of the recorder's JSON, by name. How many, what fn returned below 0, or -EBADMSG. */
int flight_each(const char *json, size_t len, flight_fn *fn, void *arg);
