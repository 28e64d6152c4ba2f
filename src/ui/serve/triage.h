/* SPDX-License-Identifier: Apache-2.0 */
/*
 * triage.h - decisions of people about findings: seen, accepted with a reason, fixed.
 *
 * Stores are only read, so decisions are in a file of the user who serves: a line for each, by run
 * and finding; the last one counts. They survive a restart, and other servers see them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TRIAGE_STATES "new|known|accepted|fixed"
#define TRIAGE_KEY    48u        /* bytes, with the NUL: "straggler:5:0", family, rank, device */
#define TRIAGE_NOTE   401u       /* why, in the words of the person who decided */
#define TRIAGE_BYTES  (4u << 20) /* of the file */

struct triage {
	char run[9], key[TRIAGE_KEY], state[12], note[TRIAGE_NOTE];
	uint32_t uid;
	uint64_t at_s; /* since 1970 */
};

struct triages {
	struct triage *t; /* owned */
	size_t n;
};

/* The last decision for each finding of a run; no file: none. Invalid lines are skipped. */
int triages_read(struct triages *out, const char *path, const char *run);
void triages_fini(struct triages *ts);

/* The same of a text; fuzzed. */
int triages_parse(struct triages *out, const char *text, size_t len, const char *run);

/* -EFBIG: the file is full. Makes it, and its folder. */
int triage_put(const char *path, const struct triage *t);

int triage_key_ok(const char *key); /* as the page makes them */
