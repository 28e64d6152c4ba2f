/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_pairs.h - the loops of nvtx_pairs.c. */
#ifndef AON_NVTX_PAIRS_H
#define AON_NVTX_PAIRS_H

enum nvtx_pair { NVTX_PAIR_TEXT, NVTX_PAIR_REGISTERED, NVTX_PAIRS };

typedef void nvtx_pairs_fn(enum nvtx_pair how, unsigned n);

void nvtx_pairs(enum nvtx_pair how, unsigned n);

#endif /* AON_NVTX_PAIRS_H */
