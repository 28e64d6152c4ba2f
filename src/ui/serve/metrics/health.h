/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health.h - an end-to-end check. Canary records take the way of every program's records, through a
 * pool and aond into a store, and are looked for there.
 */
#pragma once

#include <stdbool.h>

#include "model/process.h"

#define CANARY_RUN "(canary)" /* its label; it is not listed as a run */

struct health;

int health_new(struct health **out);
void health_free(struct health *h); /* NULL is allowed */
bool health_is_canary(const struct process *p);
