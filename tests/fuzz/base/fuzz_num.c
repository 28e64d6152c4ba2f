/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_num.c - any text as a number of base/num.h: within its limits, or *out is as before. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
	if (!ok)
		abort();
}

static void whole(const char *text)
{
	uint64_t u = 7, hex = 7;
	uint32_t small = 7;
	int64_t i = 7;
	int rc = num_u64(text, 5, 1000, &u);

	check(rc ? u == 7 : u >= 5 && u <= 1000);
	check(num_u32(text, 5, 1000, &small) == rc && small == u);
	rc = num_i64(text, -9, 1000, &i);
	check(rc ? i == 7 : i >= -9 && i <= 1000);
	check(!num_hex(text, &hex) || hex == 7);
}

static void real(const char *text)
{
	static const char *const unit[] = { "ms", "KiB", "%", "", "nothing" };
	double v = 7;
	int rc = num_real(text, -2, 1e6, &v);

	check(rc ? v == 7 : v >= -2 && v <= 1e6);
	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
		v = 7;
		rc = num_unit(text, unit[i], 0, 1e6, &v);
		check(rc ? v == 7 : v >= 0 && v <= 1e6);
	}
}

static void list(const char *text)
{
	const char *end = text + strlen(text), *was = text;
	uint64_t v = 7;

	while (num_next(&text, 1000, &v) == 1) {
		check(text > was && text <= end && v >= 1 && v <= 1000);
		was = text;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	whole(text);
	real(text);
	list(text);
	free(text);
	return 0;
}
