/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_netday.c - any bytes as the file that says what was sent today: ship/spool/netday.h. */
#include <stdlib.h>
#include <string.h>

#include "ship/spool/netday.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct netday n = { .boot = { 0x0011223344556677, 0x8899aabbccddeeff },
			    .day = 3,
			    .limit = 1 << 20 };
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!netday_parse(&n, text) && n.bytes)
		abort();
	if (n.day != 3 || n.stopped)
		abort();
	free(text);
	return 0;
}
