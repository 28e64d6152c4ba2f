/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - the bytes of a file or a pipe, inflated when they are gzip (by content, not name).
 *
 * Several gzip members one after the other are one text. Damage (a cut file, a sum that does not
 * match, bytes that do not inflate) ends the text: what came before is given, then -EBADMSG, and
 * source_why() says where.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct source;

int source_open(struct source **out, const char *path); /* "-": standard input */
/* Bytes that are there already, borrowed until it is closed: for tests. */
int source_open_bytes(struct source **out, const void *bytes, size_t len);
void source_close(struct source *s); /* NULL is allowed */

/* Up to `len` bytes of text; fewer only at the end. 0: the end. */
ssize_t source_read(struct source *s, void *buf, size_t len);

/* Reads the whole source; the caller frees *bytes; -EFBIG over SOURCE_ALL_MAX. Damage ends it as if it were whole:
 * then source_why() says something. */
#define SOURCE_ALL_MAX (2ull << 30)
int source_all(struct source *s, char **bytes, size_t *len);

/* The first bytes of the text, which reading still gives. Up to 4096; fewer if it is short. */
ssize_t source_peek(struct source *s, const char **bytes);

/* How far into the file, and its size (0: a pipe). Both of the file, not of the inflated text. */
uint64_t source_at(const struct source *s);
uint64_t source_size(const struct source *s);
bool source_gzip(const struct source *s);
const char *source_why(const struct source *s); /* of the damage; "" if none was met */
