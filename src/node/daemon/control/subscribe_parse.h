/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subscribe_parse.h - parses a consumer's subscription: words after "subscribe", in any order.
 *
 *	kinds=HEX         bit 1 << kind; default all
 *	pids=P,P          default all
 *	priority=WORD     low, normal, high
 *	rate=N            events a second that it takes; it thins them itself
 *	window            rollups of each second instead of events
 *	detail            its processes are asked for all that they can tell while it is there
 *
 * An unknown word comes from a newer consumer, and is skipped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NEED_PIDS 32u

enum need_priority { NEED_LOW, NEED_NORMAL, NEED_HIGH, NEED_PRIORITIES };

struct need {
	uint64_t kinds; /* never 0 */
	uint32_t pid[NEED_PIDS];
	uint32_t pids; /* 0: all */
	uint32_t rate; /* 0: all */
	enum need_priority priority;
	bool window, detail;
};

extern const char *const need_word[NEED_PRIORITIES];

/* -EINVAL: a word has no value that can be. `words` is cut into pieces. */
int need_parse(struct need *out, char *words);

bool need_pid(const struct need *n, uint32_t pid);
