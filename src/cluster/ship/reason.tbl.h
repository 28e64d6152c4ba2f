/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.tbl.h - why rows do not arrive, once. Numbers are in spools on disk: new ones go to the end.
 *
 *	REASON(ID, "word", "what happened")
 */
/* clang-format off */
REASON(FULL,   "full",   "the spool was full")
REASON(AGE,    "age",    "it waited for too long")
REASON(POISON, "poison", "the server takes it for broken: it is set aside")
REASON(DAMAGE, "damage", "its file was damaged")
REASON(GAP,    "gap",    "the store had overwritten it before it was read")
REASON(LIMIT,  "limit",  "there was more than may be sent")
/* clang-format on */
#undef REASON
