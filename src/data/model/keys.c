/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - a radix sort with as many passes as the values need; small inputs by insertion. */
#include "model/keys.h"

#include <string.h>

#define RADIX_BITS 11u
#define RADIX      (1u << RADIX_BITS)
#define FEW        48u

static void sort_few(struct sort_key *k, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct sort_key x = k[i];
		size_t j = i;

		for (; j > 0 && k[j - 1].value > x.value; j--)
			k[j] = k[j - 1];
		k[j] = x;
	}
}

void keys_sort(struct sort_key *k, struct sort_key *scratch, size_t n)
{
	uint64_t or = 0, min = UINT64_MAX;
	struct sort_key *from = k, *to = scratch;

	if (n <= FEW) {
		sort_few(k, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		min = k[i].value < min ? k[i].value : min;
	for (size_t i = 0; i < n; i++)
		or |= k[i].value - min;
	for (unsigned shift = 0; shift < 64 && or >> shift; shift += RADIX_BITS) {
		size_t count[RADIX] = { 0 }, at = 0;
		struct sort_key *was = from;

		for (size_t i = 0; i < n; i++)
			count[(from[i].value - min) >> shift & (RADIX - 1)]++;
		for (unsigned d = 0; d < RADIX; d++) {
			size_t c = count[d];

			count[d] = at;
			at += c;
		}
		for (size_t i = 0; i < n; i++)
			to[count[(from[i].value - min) >> shift & (RADIX - 1)]++] = from[i];
		from = to;
		to = was;
	}
	if (from != k)
		memcpy(k, from, n * sizeof(*k));
}
