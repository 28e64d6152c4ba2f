/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health.h - whether what programs hand over arrives: a canary of our own is sent the same way,
 * through a pool and aond into the store, and looked for there.
 */
#pragma once

#include <stdbool.h>

#include "model/process.h"

#define CANARY_RUN "(canary)" /* its label; it is no run of anybody's */

struct health;

int health_new(struct health **out);
void health_free(struct health *h); /* NULL is allowed */
bool health_is_canary(const struct process *p);
