/* SPDX-License-Identifier: Apache-2.0 */
/* store_open.h - opens the store, whatever is in its place: what cannot be used is put aside. */
#ifndef AON_OPENING_H
#define AON_OPENING_H

#include "daemon/core/param.h"
#include "store/store.h"

int opening(struct store **out, const struct param *p, struct store_why *why);

#endif /* AON_OPENING_H */
