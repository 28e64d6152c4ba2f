/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - compares facts with what they should be: advice, a golden profile, other nodes. Pure.
 */
#pragma once

#include "validate/facts.h"

enum check_level { CHECK_PASS, CHECK_SKIP, CHECK_WARN, CHECK_FAIL };

struct check {
	enum check_level level;
	const char *by; /* "setting", "profile", "measured", "nodes"; static */
	char id[FACT_KEY], is[FACT_VALUE], want[FACT_VALUE + 32];
	const char *when, *why, *act; /* static; NULL: none */
	double share;                 /* of what is expected; 0: nothing is */
};

struct checks {
	struct check *c; /* owned */
	size_t n;
};

int checks_advice(struct checks *out, const struct facts *f);
/*
 * What differs from the profile. Words with numbers of tests ("measured/", "log/") may be worse by 5 % (WARN) and
 * 10 % (FAIL); serial numbers and the like are not compared; what is missing is a failure.
 */
int checks_profile(struct checks *out, const struct facts *f, const struct facts *golden);
/* What a node has otherwise than most of `n`: `name` is whose it is. */
int checks_nodes(struct checks *out, const char *const *name, const struct facts *f, size_t n);
int checks_add(struct checks *out, const struct check *c);
void checks_fini(struct checks *c);
enum check_level checks_worst(const struct checks *c);
size_t checks_count(const struct checks *c, enum check_level level);
extern const char *const check_words[]; /* by level */
