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
	struct join_state *state;             /* owned, of the current cause, by device */
	double *like; /* owned: the level of the peers of the current device, by bin */
};

/* Rows and peers of all devices. */
int judge_levels(struct judge *g);
bool join_is_collective(const struct join_key *k);
double join_level(const struct join_key *k, uint32_t bin); /* ln of ns; NAN: it did not run */
/* Of several classes; `as_all`: against the medians of all devices, not its own. */
double judge_level(const struct judge *g, uint32_t d, uint32_t classes, bool as_all, uint32_t b);
/* The level of its peers in each bin, without those in the same state; returns their number. */
uint32_t judge_like(const struct judge *g, uint32_t d, uint32_t classes, bool as_all);
