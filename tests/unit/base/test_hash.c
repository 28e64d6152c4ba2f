/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a is the one that others compute; integers spread over both halves of a hash. */
#include "base/hash.h"

#include <stdbool.h>
#include <string.h>

#include "t.h"

#define BINS 1024u

static const struct {
	const char *text;
	uint64_t hash;
} fnv[] = {
	/* of the authors' test vectors */
	{ "", 0xcbf29ce484222325ull },
	{ "a", 0xaf63dc4c8601ec8cull },
	{ "foobar", 0x85944171f73967e8ull },
};

/* No bin has more than 8 times its share. */
static bool spreads(uint32_t shift, uint32_t from)
{
	uint32_t bin[BINS] = { 0 }, most = 0;

	for (uint64_t i = 0; i < 8 * BINS; i++) {
		uint32_t *b = &bin[hash_u64(i << shift) >> from & (BINS - 1)];

		most = ++*b > most ? *b : most;
	}
	return most <= 64;
}

int main(void)
{
	for (size_t i = 0; i < T_LEN(fnv); i++)
		T_OK(fnv_text(FNV_BASIS, fnv[i].text) == fnv[i].hash &&
			     fnv_bytes(FNV_BASIS, fnv[i].text, strlen(fnv[i].text)) == fnv[i].hash,
		     "FNV-1a of \"%s\"", fnv[i].text);
	T_OK(fnv_text(fnv_text(FNV_BASIS, "foo"), "bar") == fnv[2].hash, "parts hash as the whole");
	for (uint32_t shift = 0; shift <= 48; shift += 8)
		T_OK(spreads(shift, 0) && spreads(shift, 32),
		     "integers that differ from bit %u on spread", shift);
	T_OK(hash_mix(1, 2) != hash_mix(2, 1) && hash_mix(0, 0) != hash_mix(0, 1),
	     "the order of a key's parts counts");
	return t_done();
}
