/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_block.c - any bytes as the body of a block of telemetry, and as a series, behind a seal that is right. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok)
{
	if (!ok)
		abort();
}

/* What was understood can be packed, and is understood again. */
static void again(struct block_codec *c, const struct telemetry_block *b)
{
	struct change *copy = malloc((b->changes + 1) * sizeof(*copy));
	struct rows rows = { 0 };

	for (uint32_t i = 0; i < b->changes; i++) {
		must(b->change[i].tick < b->ticks && b->change[i].series);
		must(!i || b->change[i - 1].series <= b->change[i].series);
		copy[i] = b->change[i];
	}
	/* In order of ticks, as writers have them: one series at a time is. */
	for (uint32_t i = 0, n; i < b->changes; i += n) {
		struct telemetry_block one = *b, back;

		for (n = 1; i + n < b->changes && copy[i + n].series == copy[i].series; n++)
			;
		one.change = copy + i;
		one.changes = n;
		if (block_pack(c, &one, &rows) < 0)
			break;
		must(block_unpack(c, rows.data, rows.len, &back) == 0 && back.changes <= n);
	}
	rows_fini(&rows);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *row = malloc(sizeof(struct seal) + size);
	struct block_codec *c = NULL;
	struct telemetry_block b;
	struct series sr;
	struct seal s = { .type = SEAL_TELEMETRY, .owner = 1, .row = 1 };

	if (size < 12 || block_codec_new(&c) < 0)
		goto out;
	memcpy(&s.t1_ns, data, 4);
	s.t1_ns *= 1000000u;
	s.count = data[4] | (uint32_t)data[5] << 8;
	s.records = data[6] | (data[7] & 3u) << 8;
	s.len = (uint32_t)(size - 8);
	memcpy(row + sizeof(s), data + 8, s.len);
	seal_close(&s, row + sizeof(s));
	memcpy(row, &s, sizeof(s));
	if (block_unpack(c, row, sizeof(s) + s.len, &b) == 0)
		again(c, &b);
	if (row_get_series(&s, row + sizeof(s), &sr) == 0)
		must(series_labels_ok(sr.labels));
out:
	block_codec_free(c);
	free(row);
	return 0;
}
