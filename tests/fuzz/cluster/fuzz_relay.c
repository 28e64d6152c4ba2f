/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_relay.c - any bytes as a batch that a node sends to a relay, and as what it tells of its jobs. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "relay/order.h"
#include "ship/spool/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const uint8_t *data, size_t size)
{
	struct arrival a;
	char why[160] = "";

	if (arrive(&a, data, size, "c1", 3, why) == 0) {
		if (a.shard >= 3 || a.len != size || !a.table)
			abort();
	} else if (!*why) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct seat s = { .lines = text };
	struct batch_head h;
	struct job_line l;

	memcpy(text, data, size);
	text[size] = '\0';
	seat_job(&s, "j1", &l);
	take((uint8_t *)text, size);
	if (size >= BATCH_HEAD) { /* with its sums made right */
		memcpy(&h, text, sizeof(h));
		h.stored = (uint32_t)(size - BATCH_HEAD);
		h.body_sum = XXH3_64bits(text + BATCH_HEAD, h.stored);
		h.sum = XXH3_64bits(&h, offsetof(struct batch_head, sum));
		memcpy(text, &h, sizeof(h));
		take((uint8_t *)text, size);
	}
	free(text);
	return 0;
}
