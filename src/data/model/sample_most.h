/* SPDX-License-Identifier: Apache-2.0 */
/* sample_most.h - the code and the state in which most of some samples of a process were. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/sample.h"

#define SAMPLE_NOW_NS 5000000000ull /* what "now" is, on a screen */
#define SAMPLE_PLACES 64u           /* further ones of these seconds are not looked at */

struct sample_place {
	uint32_t name;
	enum sample_state state;
	uint64_t ns;
};

/* All 0 at first. */
struct sample_most {
	struct sample_place at[SAMPLE_PLACES];
	size_t n;
	uint64_t ns, samples, newest_ns; /* of all of them */
	uint64_t state_ns[SAMPLE_STATES];
};

/* A sample, as an event has it. That of a thread which held the GIL for another is left out. */
void sample_most_add(struct sample_most *m, uint64_t start_ns, uint64_t dur_ns, uint32_t name,
		     uint64_t b);
/* NULL: there are none. */
const struct sample_place *sample_most(const struct sample_most *m);
