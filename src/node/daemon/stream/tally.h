/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - accounts for every record of a process, so that the sums match exactly.
 *
 * Every record that was taken from the pool, and every sample that came, is in one place: lost (by
 * reason), part of a range that is still open, staged in the encoder, or handed to the writer. The
 * writer, which sees everything in order, counts `handed` as stored, overwritten or lost to the
 * store.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"
#include "model/process.h"

/* No program emits so much; a larger number is forged, and would overflow sums. */
#define TALLY_MAX (1ull << 48)

struct tally {
	uint64_t taken;   /* from the pool, through any daemon; with the samples */
	uint64_t samples; /* of these: not from the pool, but from aon-sample */
	uint64_t handed;  /* to the writer */
	uint64_t open;    /* parts of open ranges */
	uint64_t pending; /* in the pool still */
	uint64_t lost[AON_LOSS_MAX];
};

/* What is in the encoder. */
uint64_t tally_staged(const struct tally *t);

/* The app's own losses stand in memory that the app can write: they only rise, to TALLY_MAX. */
void tally_app_lost(struct tally *t, const uint64_t lost[AON_LOSS_APP_MAX]);

/*
 * Takes over from an earlier daemon: `row` is what it had committed (NULL: nothing), `taken` what
 * it had taken from the pool. The difference was in its memory when it died. -EPROTO: impossible
 * values.
 */
int tally_adopt(struct tally *t, const struct account *row, uint64_t taken);

/* The account; `stored` counts all that was handed over; the writer reports the outcome. */
void tally_account(const struct tally *t, struct account *out);

uint64_t account_losses(const struct account *a);
bool account_adds_up(const struct account *a);
