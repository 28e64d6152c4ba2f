/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.tbl.h - models by name, from their published configurations; `small` is ours.
 *
 *	MODEL("name", layers, hidden, heads, kv heads, ffn, vocab, experts, top k, seq, micro-batch)
 */
/* clang-format off */
MODEL("small",          8,  2048, 16, 16,  5632,  32000, 0, 2, 2048, 4)
MODEL("small-moe",      8,  2048, 16, 16,  5632,  32000, 8, 2, 2048, 4)
MODEL("llama2-7b",     32,  4096, 32, 32, 11008,  32000, 0, 2, 4096, 1)
MODEL("llama2-70b",    80,  8192, 64,  8, 28672,  32000, 0, 2, 4096, 1)
MODEL("llama3-8b",     32,  4096, 32,  8, 14336, 128256, 0, 2, 8192, 1)
MODEL("llama3-405b",  126, 16384, 128, 8, 53248, 128256, 0, 2, 8192, 1)
MODEL("mixtral-8x7b",  32,  4096, 32,  8, 14336,  32000, 8, 2, 4096, 1)
/* clang-format on */
#undef MODEL
