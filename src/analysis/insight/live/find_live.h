/* SPDX-License-Identifier: Apache-2.0 */
/* find_live.h - rules whose device is a thread: insight_device.host is set. */
#pragma once

#include "insight/find/finding.h"
#include "insight/live/account_host.h"

/* The thread of the n-th process of the trace, if findings are about it: of a process that has steps and
 * hardly uses a GPU; without steps anywhere, of the process of which most was seen. Else NULL. */
const struct insight_device *live_device(const struct insight *in, size_t n);
const struct rule *live_rule(enum family k); /* NULL: there is none */

/* find_live_ranks.c */
rule_cost_fn live_comm_cost, live_straggler_cost, live_imbalance_cost;
rule_fill_fn live_comm_fill, live_straggler_fill, live_imbalance_fill;
