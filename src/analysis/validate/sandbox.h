/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - runs queries that may hang or crash (a driver, a vendor's library) in a process of
 * their own.
 *
 * The process is killed at its time limit; one that the kernel cannot kill is left behind.
 */
#pragma once

#include "validate/facts.h"

#define APART_AT 128u

struct apart {
	struct facts f;
	char *at; /* APART_AT bytes: what it is doing, for the parent that may kill it */
	int err;  /* what to give back */
};

typedef void apart_fn(struct apart *a, void *arg);

/*
 * Runs fn in a child and adds its facts to `out`. 0, a->err, -ETIMEDOUT: it was killed, -EIO: it crashed; `at`
 * (APART_AT bytes) then says what it was doing.
 */
int apart(struct facts *out, unsigned limit_ms, apart_fn *fn, void *arg, char *at);
void apart_at(struct apart *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
