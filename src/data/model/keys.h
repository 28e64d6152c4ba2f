/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - sort keys of sixteen bytes, sorted in place of the larger items they stand for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sort_key {
	uint64_t value;
	uint64_t with; /* the caller's */
};

/* By value, stable; `scratch` holds as many. */
void keys_sort(struct sort_key *k, struct sort_key *scratch, size_t n);
