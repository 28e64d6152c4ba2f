/* SPDX-License-Identifier: Apache-2.0 */
/*
 * triage.h - people's decisions about findings: seen, accepted (with a reason), fixed.
 *
 * Stores are opened read-only, so decisions are kept in a file of the user who runs the server: one
 * line each, by run and finding; the last line counts. They survive a restart, and other servers of
 * the user see them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TRIAGE_STATES "new|known|accepted|fixed"
#define TRIAGE_KEY    48u        /* bytes with the NUL; "straggler:5:0" is family, rank, device */
#define TRIAGE_NOTE   401u       /* bytes of the reason that the person gave */
#define TRIAGE_BYTES  (4u << 20) /* size limit of the file */

struct triage {
	char run[9], key[TRIAGE_KEY], state[12], note[TRIAGE_NOTE];
	uint32_t uid;
	uint64_t at_s; /* since 1970 */
};

struct triages {
	struct triage *t; /* owned */
	size_t n;
};

/*
 * The last decision about each finding of a run. No file: no decisions. Invalid lines are skipped.
 */
int triages_read(struct triages *out, const char *path, const char *run);
void triages_fini(struct triages *ts);

/* The same from a text; fuzzed. */
int triages_parse(struct triages *out, const char *text, size_t len, const char *run);

/* Appends a decision; makes the file and its folder. -EFBIG: the file is full. */
int triage_put(const char *path, const struct triage *t);

int triage_key_ok(const char *key); /* Whether it has the form that the page uses. */
