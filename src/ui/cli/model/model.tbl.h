/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.tbl.h - what `aon model` can model: MODEL(name, "what", options besides --device and those
 * of every command). An option that is not in its row is refused. Its function is model_NAME().
 */
/* clang-format off */
MODEL(gemm, "a matrix product", OPT_M, OPT_N, OPT_K, OPT_BATCH, OPT_DTYPE, OPT_OUT, OPT_SECOND)
MODEL(collective, "a collective, or a point-to-point transfer", OPT_COLLOP, OPT_BYTES, OPT_COLLRANKS, OPT_PERNODE, OPT_NET, OPT_NICS)
MODEL(attention, "FlashAttention", OPT_BATCH, OPT_HEADS, OPT_KVHEADS, OPT_HEADDIM, OPT_QUERIES, OPT_KEYS,
      OPT_CAUSAL, OPT_BACKWARD, OPT_DTYPE)
MODEL(conv, "a convolution", OPT_BATCH, OPT_IMAGE, OPT_CHANNELS, OPT_FILTERS, OPT_KERNEL, OPT_STRIDE, OPT_PAD,
      OPT_DILATION, OPT_GROUPS, OPT_DTYPE)
MODEL(elementwise, "a pass over tensors", OPT_ELEMENTS, OPT_INPUTS, OPT_DTYPE)
MODEL(norm, "a normalisation", OPT_ROWS, OPT_ROWWIDTH, OPT_DTYPE)
MODEL(step, "a transformer's step", OPT_PRESET, OPT_MODE, OPT_LAYERS, OPT_HIDDEN, OPT_HEADS, OPT_KVHEADS, OPT_FFN,
      OPT_VOCAB, OPT_UNGATED, OPT_EXPERTS, OPT_CHOSEN, OPT_SEQ, OPT_BATCH, OPT_DTYPE, OPT_TP, OPT_PP, OPT_DP, OPT_EP,
      OPT_MICRO, OPT_INTERLEAVE, OPT_SEQPAR, OPT_ZERO, OPT_RECOMPUTE, OPT_PERNODE, OPT_NET)
/* clang-format on */
#undef MODEL
