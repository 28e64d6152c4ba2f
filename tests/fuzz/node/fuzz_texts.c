/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_texts.c - bytes as pieces of texts: five of head {thread, offset, length, total, what}, then the piece. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/stream/texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *arg, const char *mark)
{
	*(size_t *)arg += strlen(mark);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char of[4];
	struct texts *t;
	size_t heard = 0;

	if (texts_new(&t))
		abort();
	while (size > 5) {
		struct understand_text p = { .tid = data[0] % 3,
					     .type = data[4] % 8 ? AON_TEXT_OPENCL : 0,
					     .off = data[1],
					     .len = data[2],
					     .total = data[3] };
		char *exact;

		if (p.off >= p.total) /* as understand.c checks */
			p.off = p.total ? p.off % p.total : 0;
		p.total += !p.total;
		p.len = p.len ? p.len : 1;
		p.len = p.len < p.total - p.off ? p.len : p.total - p.off;
		p.len = p.len < size - 5 ? p.len : (uint32_t)(size - 5);
		exact = malloc(p.len);
		if (!exact)
			abort();
		memcpy(exact, data + 5, p.len);
		p.bytes = exact;
		texts_take(t, &of[data[0] / 3 % 4], &p, hear, &heard);
		if (data[4] == 255)
			texts_drop(t, &of[0]);
		free(exact);
		data += 5 + p.len;
		size -= 5 + p.len;
	}
	texts_tick(t);
	texts_free(t);
	return 0;
}
