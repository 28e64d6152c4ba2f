/* SPDX-License-Identifier: Apache-2.0 */
/* expect.h - what models and tables expect, and whether measurements reach it. Pure. */
#pragma once

#include "validate/check.h"

/* Of what is expected, in percent: less than `pass` warns, less than `fail` fails. */
struct expect {
	double value;
	unsigned pass, fail;
	const char *by; /* where it comes from: "model of all-reduce over NVLink" */
};

/* Sets the fact "expected/KEY", which KEY is compared with. */
void expect_set(struct facts *f, const char *key, const struct expect *e);
/* The expected results of logs whose device or links are known. */
void expect_logs(struct facts *f);
/* The same for this node's measurements: devices by each other, host memory, wrong results. */
void expect_measured(struct facts *f);
int checks_expected(struct checks *out, const struct facts *f);
