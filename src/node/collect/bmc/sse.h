/* SPDX-License-Identifier: Apache-2.0 */
/* sse.h - parses server-sent events from a byte stream cut anywhere. Accepts any bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SSE_LARGEST (1u << 20) /* bytes of an event; a longer one is dropped whole */

struct sse {
	char *data; /* owned; JSON_PAD quotes follow when it is handed on */
	size_t n, cap;
	char line[8]; /* how the line under way begins */
	size_t at;    /* bytes so far, up to that many */
	bool is_data, dropping;
	unsigned long dropped;
};

typedef void sse_fn(void *arg, char *data, size_t n);

void sse_feed(struct sse *s, const char *bytes, size_t n, sse_fn *fn, void *arg);
void sse_fini(struct sse *s);
