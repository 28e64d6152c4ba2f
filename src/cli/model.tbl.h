/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.tbl.h - what `aon model` can model: MODEL(name, "what", options besides --device and those
 * of every command). An option that is not in its row is refused. Its function is model_NAME().
 */
/* clang-format off */
MODEL(gemm, "a matrix product", OPT_M, OPT_N, OPT_K, OPT_BATCH, OPT_DTYPE, OPT_OUT)
/* clang-format on */
#undef MODEL
