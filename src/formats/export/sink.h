/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - bytes on their way out: a buffer, gzip if asked for, text and messages in small pieces.
 *
 * The first failure stays and the rest is dropped, so that a writer asks once, at the end.
 */
#ifndef AON_EXPORT_SINK_H
#define AON_EXPORT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/pb.h"
#include "export/export.h"

#define SINK_BYTES (64u << 10)

struct sink {
	export_write_fn *write;
	void *arg;
	struct sink_gz *gz; /* owned; NULL: plain */
	int err;
	size_t used;
	char buf[SINK_BYTES];
};

int sink_new(struct sink **out, export_write_fn *fn, void *arg, bool gz);
int sink_end(struct sink *s); /* flushes and frees; the first failure, or 0 */

void sink_flush(struct sink *s);
void sink_put(struct sink *s, const void *bytes, size_t n);

static inline void sink_byte(struct sink *s, char c)
{
	if (s->used == SINK_BYTES)
		sink_flush(s);
	s->buf[s->used++] = c;
}

static inline void sink_str(struct sink *s, const char *text)
{
	sink_put(s, text, strlen(text));
}

void sink_u64(struct sink *s, uint64_t v);
void sink_us(struct sink *s, uint64_t ns); /* microseconds with three decimals */
void sink_real(struct sink *s, double v);  /* not finite: 0 */
/* In quotes, escaped; bytes that are not UTF-8 become U+FFFD. */
void sink_json(struct sink *s, const char *text);

/* One field of the outermost message, which has no length. */
void sink_pb(struct sink *s, uint32_t field, const struct pb_out *m);
/* Text that a message has: valid UTF-8 and not too long. */
void sink_pb_text(struct pb_out *m, uint32_t field, const char *text);

#endif /* AON_EXPORT_SINK_H */
