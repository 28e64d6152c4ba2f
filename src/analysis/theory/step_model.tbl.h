/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_model.tbl.h - well-known transformers, from the configuration files of their weights.
 *
 *	MODEL("name", layers, hidden, heads, kv heads, ffn, vocabulary, experts, chosen, gated, tied,
 *	      tokens of the sequences that it was trained with)
 */
/* clang-format off */
MODEL("gpt2-xl",      48,  1600,  25,  25,  6400,  50257, 0, 0, false, true,  1024)
MODEL("gpt3-175b",    96, 12288,  96,  96, 49152,  50257, 0, 0, false, true,  2048)
MODEL("llama2-7b",    32,  4096,  32,  32, 11008,  32000, 0, 0, true,  false,  4096)
MODEL("llama2-13b",   40,  5120,  40,  40, 13824,  32000, 0, 0, true,  false,  4096)
MODEL("llama2-70b",   80,  8192,  64,   8, 28672,  32000, 0, 0, true,  false,  4096)
MODEL("llama3-8b",    32,  4096,  32,   8, 14336, 128256, 0, 0, true,  false,  8192)
MODEL("llama3-70b",   80,  8192,  64,   8, 28672, 128256, 0, 0, true,  false,  8192)
MODEL("llama3-405b", 126, 16384, 128,   8, 53248, 128256, 0, 0, true,  false,  8192)
MODEL("mixtral-8x7b", 32,  4096,  32,   8, 14336,  32000, 8, 2, true,  false, 32768)
/* clang-format on */
#undef MODEL
