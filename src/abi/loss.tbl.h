/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.tbl.h - every way in which an emitted record may fail to be stored, once.
 *
 *	LOSS(number, NAME, "word", side, "what it means")
 *
 * side  APP: counted by libaon in the pool's head; NODE: counted by aond.
 * The identity: emitted = stored + each of these + overwritten + in flight.
 */
/* clang-format off */
LOSS(0, POOL_FULL,   "pool_full",   APP,  "the pool had no free chunk: aond was slower than the app")
LOSS(1, NESTED,      "nested",      APP,  "a signal handler emitted while its thread was emitting")
LOSS(2, LATE,        "late",        APP,  "emitted by a thread whose destructors had already run")
LOSS(3, JOINING,     "joining",     APP,  "emitted while the process was joining the daemon")
LOSS(4, TOO_BIG,     "too_big",     APP,  "larger than a chunk holds")
LOSS(5, DISCARDED,   "discarded",   APP,  "the probe had no buffer left for the vendor's library, because work that does not end holds them")
LOSS(6, SOURCE,      "source",      APP,  "the vendor's library dropped or damaged it")
LOSS(7, UNTIMED,     "untimed",     APP,  "seen, but the vendor's library had no times for it")
LOSS(8, INVALID,     "invalid",     NODE, "failed aond's checks: a damaged or hostile pool")
LOSS(9, UNKNOWN,     "unknown",     NODE, "of a kind that this aond does not know (newer libaon)")
LOSS(10, UNMATCHED,  "unmatched",   NODE, "the end of a range or step whose start was not seen")
LOSS(11, QUEUE_FULL, "queue_full",  NODE, "aond's writer was behind its memory budget")
LOSS(12, STORE,      "store",       NODE, "the store refused it: disk full or failing")
LOSS(13, CRASH,      "crash",       NODE, "taken by an aond that died before it stored them")
LOSS(14, BUDGET,     "budget",      NODE, "over the budget of memory or CPU: only counted")
LOSS(15, ROLLED_UP,  "rolled_up",   NODE, "only in the rollups, because of the tier or the CPU budget")
/* clang-format on */
#undef LOSS
