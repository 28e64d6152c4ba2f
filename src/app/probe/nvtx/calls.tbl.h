/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.tbl.h - the calls of NVTX that are recorded, by their place in NVTX's function tables.
 *
 *	CALL(module, place, name)      name: the function of call.c, and its number CALL_name
 *
 * Modules and places are public facts of NVTX 3. What is not here (names of devices, streams and
 * sync objects) NVTX makes a no-op, or another injection's.
 */
/* clang-format off */
CALL(CORE,   1, mark_ex)
CALL(CORE,   2, mark_a)
CALL(CORE,   3, mark_w)
CALL(CORE,   4, start_ex)
CALL(CORE,   5, start_a)
CALL(CORE,   6, start_w)
CALL(CORE,   7, end)
CALL(CORE,   8, push_ex)
CALL(CORE,   9, push_a)
CALL(CORE,  10, push_w)
CALL(CORE,  11, pop)
CALL(CORE,  12, category_a)
CALL(CORE,  13, category_w)
CALL(CORE,  14, thread_a)
CALL(CORE,  15, thread_w)
CALL(CORE2,  1, domain_mark)
CALL(CORE2,  2, domain_start)
CALL(CORE2,  3, domain_end)
CALL(CORE2,  4, domain_push)
CALL(CORE2,  5, domain_pop)
CALL(CORE2,  8, domain_category_a)
CALL(CORE2,  9, domain_category_w)
CALL(CORE2, 10, register_a)
CALL(CORE2, 11, register_w)
CALL(CORE2, 12, create_a)
CALL(CORE2, 13, create_w)
/* clang-format on */
#undef CALL
