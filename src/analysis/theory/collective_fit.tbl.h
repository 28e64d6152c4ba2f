/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_fit.tbl.h - what tools/fit-collectives found; see collective.c for what the numbers mean.
 * From the even rows of XLA's collective table (openxla/xla e5d008bb) and, of all-reduces on A100
 * and H100, of vidur's (microsoft/vidur 7d475133). Not written by hand:
 *	tools/fit-collectives >src/analysis/theory/collective_fit.tbl.h
 */
#ifndef RING
#define RING(key, op, base_us, hop_us, link, own, pipe_us, nvls)
#endif
#ifndef PEER
#define PEER(key, base_us, all_us, peers_us, link, chunk_GBps, channel_GBps, pipe_us, simple_us)
#endif
#ifndef VIDUR_NET
#define VIDUR_NET(GBps, adapters)
#endif
/* clang-format off */
RING(A100, ALL_REDUCE, 33.31, 1.583, 0.691, 0.25, 0.95, 0.000)
VIDUR_NET(6.5, 3)
RING(H100, ALL_GATHER, 9.33, 2.887, 0.877, 0.41, 2.09, 0.000)
RING(H100, REDUCE_SCATTER, 9.33, 2.887, 0.877, 0.98, 2.09, 0.000)
RING(H100, ALL_REDUCE, 12.24, 1.549, 0.969, 0.59, 0.75, 0.594)
PEER(H100, 11.74, 29.05, 0.0517, 0.734, 6.34, 30.06, 0.49, 10.60)
RING(B200, ALL_GATHER, 24.07, 1.135, 0.778, 0.59, 1.07, 0.000)
RING(B200, REDUCE_SCATTER, 24.07, 1.135, 0.778, 0.53, 1.07, 0.000)
RING(B200, ALL_REDUCE, 17.32, 2.274, 0.788, 0.47, 2.68, 0.496)
PEER(B200, 15.36, 28.74, 0.1016, 0.682, 6.07, 21.45, 0.70, 8.23)
RING(GB200, ALL_GATHER, 10.53, 1.252, 0.807, 0.47, 1.21, 0.000)
RING(GB200, REDUCE_SCATTER, 10.53, 1.252, 0.807, 0.35, 1.21, 0.000)
RING(GB200, ALL_REDUCE, 8.22, 1.402, 0.831, 0.49, 2.10, 0.495)
PEER(GB200, 10.06, 9.37, 0.0089, 0.744, 5.24, 22.71, 0.59, 4.99)
RING(GB300, ALL_GATHER, 10.30, 1.251, 0.809, 0.44, 1.12, 0.000)
RING(GB300, REDUCE_SCATTER, 10.30, 1.251, 0.809, 0.39, 1.12, 0.000)
RING(GB300, ALL_REDUCE, 8.55, 1.319, 0.824, 0.47, 3.47, 0.526)
PEER(GB300, 10.22, 10.60, 0.0079, 0.749, 5.69, 23.11, 0.55, 7.68)
RING(MI350, ALL_GATHER, 47.01, 5.346, 0.915, 0.24, 0.70, 0.000)
RING(MI350, REDUCE_SCATTER, 47.01, 5.346, 0.915, 0.28, 0.70, 0.000)
RING(MI350, ALL_REDUCE, 54.41, 2.551, 0.971, 0.22, 0.50, 0.000)
PEER(MI350, 25.09, 52.36, 1.5531, 0.841, 16.15, 21.02, 0.44, 5.43)
/* clang-format on */
#undef RING
#undef PEER
#undef VIDUR_NET
