/* SPDX-License-Identifier: Apache-2.0 */
/* store_open.h - opens the store; a file in its place that cannot be used is moved aside. */
#pragma once

#include "daemon/core/param.h"
#include "store/store.h"

int daemon_store_open(struct store **out, const struct param *p, struct store_why *why);
