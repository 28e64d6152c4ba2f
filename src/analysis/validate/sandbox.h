/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - runs queries that may hang or crash (a driver, a vendor's library) in a process of
 * their own.
 *
 * The process is killed at its time limit; one that the kernel cannot kill is left behind.
 */
#pragma once

#include "validate/facts.h"

#define SANDBOX_AT 128u

struct sandbox {
	struct facts f;
	char *at; /* SANDBOX_AT bytes: what it is doing, for the parent that may kill it */
	int err;  /* what to give back */
};

typedef void sandbox_fn(struct sandbox *a, void *arg);

/*
 * Runs fn in a child and adds its facts to `out`. 0, a->err, -ETIMEDOUT: it was killed, -EIO: it crashed; `at`
 * (SANDBOX_AT bytes) then says what it was doing.
 */
int sandbox_run(struct facts *out, unsigned limit_ms, sandbox_fn *fn, void *arg, char *at);
void sandbox_at(struct sandbox *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
