/* SPDX-License-Identifier: Apache-2.0 */
/* big.h - the large store of the benchmarks that read one. */
#ifndef AON_BENCH_BIG_H
#define AON_BENCH_BIG_H

#include <stdint.h>

#include "store/store.h"

#define BIG_EVENTS  10000000u
#define BIG_DEVICES 8u

/* Kernels on this many streams, 1 to 3, of each device; ends with a commit. */
void big_fill(struct store *st, uint32_t streams);

#endif /* AON_BENCH_BIG_H */
