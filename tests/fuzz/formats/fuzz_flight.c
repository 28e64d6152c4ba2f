/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_flight.c - any bytes as what torch's worker server answers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/flight.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_group(void *arg, const struct flight_group *g)
{
	size_t *n = arg;

	*n += strlen(g->name) + strlen(g->what) + (g->open != 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1); /* of its exact size, so that ASan sees its end */
	const char *body;
	size_t len, n = 0;

	memcpy(copy, data, size);
	if (!flight_body(copy, size, &body, &len)) {
		if (body < copy || body + len != copy + size)
			abort();
		flight_each(body, len, on_group, &n);
	}
	flight_each(copy, size, on_group, &n);
	free(copy);
	return 0;
}
