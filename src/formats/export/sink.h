/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - an output stream: gzip if asked for, text and messages in small pieces.
 *
 * The first error is kept and later writes are dropped, so that a writer checks once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/pb.h"
#include "export/export.h"

#define SINK_BYTES (64u << 10)

struct sink {
	FILE *f; /* owned: writers write to it without checking for errors */
	export_write_fn *write;
	void *arg;
	struct sink_gz *gz; /* owned; NULL: plain */
	int err;
	char buf[SINK_BYTES];
};

int sink_new(struct sink **out, export_write_fn *fn, void *arg, bool gz);
int sink_end(struct sink *s); /* flushes and frees; the first failure, or 0 */

static inline void sink_byte(struct sink *s, char c)
{
	putc_unlocked(c, s->f);
}

static inline void sink_str(struct sink *s, const char *text)
{
	fputs_unlocked(text, s->f);
}

void sink_u64(struct sink *s, uint64_t v);
void sink_i64(struct sink *s, int64_t v);
/* The text of a real number with all its digits; not finite: 0. */
#define SINK_REAL 40u
const char *sink_real(char room[SINK_REAL], double v);

/* One field of the outermost message, which has no length. */
void sink_pb(struct sink *s, uint32_t field, const struct pb_out *m);
/* Text that a message has: valid UTF-8 and not too long. */
void sink_pb_text(struct pb_out *m, uint32_t field, const char *text);
