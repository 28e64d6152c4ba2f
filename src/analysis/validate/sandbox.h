/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - ask what may hang or crash (a driver, a library of a vendor) in a process of its own.
 *
 * The process that asks is killed at its limit; one that the kernel does not let go is left behind.
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
