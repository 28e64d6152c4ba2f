/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - compares facts with what is right: advice, a golden profile, other nodes. Pure. */
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
 * Differences from the profile. Results of tests ("measured/", "log/") warn from 5 % (WARN) and
 * fail from 10 % (FAIL) on; serial numbers and the like are not compared; a missing fact is a
 * failure.
 */
int checks_profile(struct checks *out, const struct facts *f, const struct facts *golden);
/* Where a node differs from most of `n` nodes: `name` has their names. */
int checks_nodes(struct checks *out, const char *const *name, const struct facts *f, size_t n);
int checks_add(struct checks *out, const struct check *c);
void checks_fini(struct checks *c);
enum check_level checks_worst(const struct checks *c);
size_t checks_count(const struct checks *c, enum check_level level);
extern const char *const check_words[]; /* by level */
