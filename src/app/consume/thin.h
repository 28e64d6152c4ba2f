/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thin.h - at most so many of a stream in a second, each with the number of those it stands for.
 *
 * The stream is cut into blocks; of each one is chosen by chance, and its weight is the block's
 * length. How long a block is depends on the rate of the stream before it and on the clock, never on
 * what is in it: so sums of weight * value are unbiased, and all weights together count all.
 */
#ifndef AON_CONSUME_THIN_H
#define AON_CONSUME_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aon/consumer.h>

struct thin {
	uint32_t rate;   /* a second; 0: nothing is left out */
	uint64_t block;  /* length that a block should have */
	uint64_t n;      /* in the present block */
	double tokens;   /* that may be handed out now */
	uint64_t at_ms;  /* of the last look at the clock */
	uint64_t second; /* when that begins in which `seen` came */
	uint64_t seen, random;
	struct aon_consumer_event held;
};

void thin_init(struct thin *t, uint32_t rate, uint64_t now_ms);
/* One more. True: a block has ended, *e is who was chosen, *weight its length. */
bool thin_take(struct thin *t, struct aon_consumer_event *e, uint64_t now_ms, uint64_t *weight);
/* Nothing comes for now: what is held, once it is due. */
bool thin_rest(struct thin *t, struct aon_consumer_event *e, uint64_t now_ms, uint64_t *weight);

#endif /* AON_CONSUME_THIN_H */
