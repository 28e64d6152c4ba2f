/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fidelity.tbl.h - the fidelity levels, from all to least. docs/budget.md says more.
 *
 *	FIDELITY(NAME, word, tier, duty, ops, counters, cost, "what is left out")
 *
 * duty  of so many blocks of steps, one is recorded (abi/trial.h): what it shows counts for all
 * ops   whether operators of frameworks are recorded, as ops_every says
 * counters  whether counters and flows are recorded
 * cost  of the first fidelity level's: what a process pays in its own threads, about. A governor that has
 *       to come down by so much goes to the fidelity level that promises it, and then measures again.
 */
/* clang-format off */
FIDELITY(ALL,         "all",         TIER_FLIGHT,  1, 1, 1, 1.000, "nothing")
FIDELITY(NO_OPS,      "no-ops",      TIER_FLIGHT,  1, 0, 1, 0.900, "operators of frameworks")
FIDELITY(NO_COUNTERS, "no-counters", TIER_FLIGHT,  1, 0, 0, 0.850, "operators, counters and flows")
FIDELITY(HALF,        "half",        TIER_FLIGHT,  2, 0, 0, 0.500, "every second block of steps, by chance")
FIDELITY(QUARTER,     "quarter",     TIER_FLIGHT,  4, 0, 0, 0.250, "three of four blocks of steps, by chance")
FIDELITY(TENTH,       "tenth",       TIER_FLIGHT, 10, 0, 0, 0.100, "nine of ten blocks of steps, by chance")
FIDELITY(RARE,        "rare",        TIER_ROLLUP, 40, 0, 0, 0.025, "39 of 40 blocks of steps, and events: sums only")
FIDELITY(HEARTBEAT,   "heartbeat",   TIER_HEARTBEAT, 1, 0, 0, 0.000, "all but steps and the last launch and collective")
/* clang-format on */
#undef FIDELITY
