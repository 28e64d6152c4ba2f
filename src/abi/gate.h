/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - the words by which aond turns the emission of records on and off, without a message.
 *
 * Two kinds of page, both written by aond and read-only to processes:
 *
 * The session's gate: one memfd per process, sealed against further writers. The inline test of the
 * public header reads `want`.
 *
 * The rendezvous page: the file `gate` in the run directory. It outlives aond. A process that found no
 * daemon watches the word of the *next* generation, announcement[(generation + 1) % AON_GENERATIONS];
 * an aond that starts adds one to the generation and sets that word, which sends every
 * waiting process into its slow path, where it joins. This needs no polling and no thread.
 * The words of the last AON_GENERATIONS / 2 generations stay set, for a process that slept through
 * several starts; those of the next AON_GENERATIONS / 2 are clear.
 */
#pragma once

#include <stdint.h>

#include "abi/segment.h"

#define AON_GATE_MAGIC       0x3145544147414f4eull
#define AON_RENDEZVOUS_MAGIC 0x31524f4f44414f4eull
#define AON_GENERATIONS      64u

#define AON_GATE_QUIET 0x1u /* flags: no system call from the slow path (the app has filters) */
#define AON_GATE_NO_PM 0x2u /* the GPUs' counters are leased to another tool */

/* Which steps are unsampled: abi/trial.h. At the start of a step, a process switches to another word,
 * without a message. */
struct aon_gate {
	uint64_t magic;
	uint32_t want;       /* AON_WANT_*; 0: emit nothing */
	uint32_t flags;      /* AON_GATE_* */
	uint64_t beat;       /* rises about once a second while aond lives */
	uint32_t tier;       /* AON_TIER_* */
	uint32_t ops_every;  /* operators are recorded in one of so many steps; 0: never */
	uint32_t capture;    /* number of the requested trace; 0: none */
	uint32_t capture_ms; /* for so long; set before the number */
	uint32_t want_off;   /* `want` in unsampled steps */
	uint32_t want_tier;  /* `want` in all other steps; 0: nothing, or unknown (an older aond) */
	uint64_t seed;       /* of the job: all its ranks skip the same steps */
	uint64_t trial;      /* struct aon_trial; 0: every step is recorded */
	uint32_t room;       /* number of the request to make room for another tool; 0: none */
	uint32_t room_ms;    /* for so long; set before the number */
};

struct aon_rendezvous {
	uint64_t magic;
	uint32_t version;
	uint32_t generation;
	uint32_t reserved[12];
	uint32_t generation_word[AON_GENERATIONS];
};

_Static_assert(sizeof(struct aon_gate) <= AON_PAGE, "one page");
_Static_assert(sizeof(struct aon_rendezvous) <= AON_PAGE, "one page");
