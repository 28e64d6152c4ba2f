/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.tbl.h - models to try things on, small enough for a glance at every kernel; published ones
 * are in theory/step_model.tbl.h.
 *
 *	MODEL("name", layers, hidden, heads, kv heads, ffn, vocab, experts, top k, seq, micro-batch)
 */
/* clang-format off */
MODEL("small",     8, 2048, 16, 16, 5632, 32000, 0, 2, 2048, 4)
MODEL("small-moe", 8, 2048, 16, 16, 5632, 32000, 8, 2, 2048, 4)
/* clang-format on */
#undef MODEL
