/* SPDX-License-Identifier: Apache-2.0 */
/* cuts.h - cuts a store in time, into stretches of about as many events each. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct store;
struct store_filter;

/*
 * Times at which blobs of the part (NULL: of the store) begin, about `stretch` events apart. The
 * caller frees *cut.
 */
int read_cuts(struct store *st, const struct store_filter *part, size_t stretch, uint64_t **cut,
	      size_t *cuts);
