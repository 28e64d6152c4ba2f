/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thin.h - samples a stream down to a rate; each chosen event has a weight, the number of events
 * that it stands for.
 *
 * The stream is cut into blocks. One event of each block is chosen at random, and its weight is the
 * block's length. The length depends on the earlier rate of the stream and on the clock, never on
 * the content: so sums of weight * value are unbiased, and the weights add up to the total count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <aon/consumer.h>

struct thin {
	uint32_t rate;   /* events a second; 0: all */
	uint64_t block;  /* length that a block should have */
	uint64_t n;      /* in the present block */
	double tokens;   /* that may be handed out now */
	uint64_t at_ms;  /* of the last look at the clock */
	uint64_t second; /* begin of the second that `seen` counts */
	uint64_t seen, random;
	struct aon_consumer_event held;
};

void thin_init(struct thin *t, uint32_t rate, uint64_t now_ms);
/* Adds an event. True: a block has ended, *e is the chosen event, *weight the block's length. */
bool thin_take(struct thin *t, struct aon_consumer_event *e, uint64_t now_ms, uint64_t *weight);
/* When no event comes for now: hands out the held one, once it is due. */
bool thin_rest(struct thin *t, struct aon_consumer_event *e, uint64_t now_ms, uint64_t *weight);
