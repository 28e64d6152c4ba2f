/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_fit.tbl.h - what tools/fit-layers found in the even rows of vidur's times of the layers of
 * Llama 2 7B (microsoft/vidur 7d475133); see layer.c for what the numbers mean. Not written by hand:
 *	tools/fit-layers >src/analysis/theory/layer_fit.tbl.h
 *
 *	PASS(device family, kind, base us, share of the memory's bandwidth, gain in the cache)
 */
/* clang-format off */
PASS(A100, ELEMENTWISE, 1.80, 0.950, 1.50)
PASS(A100, ACTIVATION, 1.94, 0.490, 1.06)
PASS(A100, ROPE, 2.15, 0.451, 1.17)
PASS(A100, NORM, 3.22, 0.352, 1.44)
PASS(A100, GATHER, 2.71, 0.152, 1.08)
PASS(H100, ELEMENTWISE, 0.99, 0.950, 1.42)
PASS(H100, ACTIVATION, 1.40, 0.570, 0.99)
PASS(H100, ROPE, 1.61, 0.504, 1.08)
PASS(H100, NORM, 2.74, 0.339, 1.42)
PASS(H100, GATHER, 2.37, 0.185, 1.01)
/* clang-format on */
#undef PASS
