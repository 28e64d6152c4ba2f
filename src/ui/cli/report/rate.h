/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - a process's events per second in the last seconds that are stored. */
#pragma once

#include <stdint.h>

#include "store/store.h"

int rate_of(struct store *st, const struct process *p, uint64_t now_ns, double *per_s);
