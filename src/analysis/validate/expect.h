/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expect.h - the values that models and tables expect, and whether the measurements reach them.
 * Pure.
 */
#pragma once

#include "validate/check.h"

/* Of what is expected, in percent: less than `pass` warns, less than `fail` fails. */
struct expect {
	double value;
	unsigned pass, fail;
	const char *by; /* where it comes from: "model of all-reduce over NVLink" */
};

/* The fact "expected/KEY", that KEY is held against. */
void expect_set(struct facts *f, const char *key, const struct expect *e);
/* What logs should have said, of those whose device or wires are known. */
void expect_logs(struct facts *f);
/* The same of what was measured here: devices among each other, the host's memory; wrong results of all. */
void expect_measured(struct facts *f);
int checks_expected(struct checks *out, const struct facts *f);
