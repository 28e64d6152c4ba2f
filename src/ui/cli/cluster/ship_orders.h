/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ship_orders.h - aon ship polls its relay for capture orders, on a thread of its own, and carries
 * them out as aon capture does. No port is opened on a node (docs/relay.md).
 */
#pragma once

#include "ship/shipper.h"

struct ship_orders;

/* NULL: it was not started: no relay, or no aond to ask. Borrows conf. */
struct ship_orders *ship_orders_start(const struct ship_conf *conf);
void ship_orders_stop(struct ship_orders *s); /* NULL is allowed */
