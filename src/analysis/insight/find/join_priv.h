/* SPDX-License-Identifier: Apache-2.0 */
/* join_priv.h - levels of work by device and class; private to join_level.c and join_judge.c. */
#pragma once

#include "insight/find/join.h"

#define PEERS_MAX 64u

struct join_row {
	double level[JOIN_BINS_MAX]; /* NAN: nothing ran */
	double offset, weight;       /* of its medians to those of all; ns */
};

struct judge {
	struct join *j;
	struct join_row (*row)[JOIN_CLASSES]; /* owned, by device */
	uint32_t *peer;                       /* owned: PEERS_MAX of each device */
	uint32_t *peers;                      /* owned: how many */
	struct join_state *state;             /* owned, of the cause in hand, by device */
	double *like; /* owned: what the peers of the one in hand did, by bin */
};

/* Rows and peers of all devices. */
int judge_levels(struct judge *g);
bool join_is_exchange(const struct join_key *k);
double join_level(const struct join_key *k, uint32_t bin); /* ln of ns; NAN: it did not run */
/* Of several classes; `as_all`: against the medians of all devices, not its own. */
double judge_level(const struct judge *g, uint32_t d, uint32_t classes, bool as_all, uint32_t b);
/* What its peers did in each bin, those in the same state left out; how many there were. */
uint32_t judge_like(const struct judge *g, uint32_t d, uint32_t classes, bool as_all);
