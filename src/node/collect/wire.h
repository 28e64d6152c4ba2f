/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the protocol between a collector and aond: frames, one after the other, little endian.
 *
 *	frame    magic u32 "AONt", type u8, version u8, count u16, length u32 of the body
 *	HELLO    interval_ms u32, collector's name (the rest)
 *	SERIES   count x { metric u32, device's length u16, labels' length u16, both texts }
 *	         numbered in the order in which they come, from 0
 *	SAMPLES  t_ns u64, then count x { number u32, value f64 }; NAN: it is not there any more
 *	EVENT    t_ns u64, length of the word u16, word, line
 *	END      a poll is complete
 *
 * Only changes are sent. aond trusts nothing: wire_check() checks a whole frame before it is used.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/telemetry.h"

#define WIRE_MAGIC   0x744e4f41u /* "AONt" */
#define WIRE_VERSION 1u
#define WIRE_BODY    16384u /* bytes: the longest */
#define WIRE_CHUNK   16384u /* bytes: the longest message of the socket, whatever frames it cuts */
#define WIRE_SERIES  16384u /* of one collector */
#define WIRE_NAME    15u    /* bytes of a collector's name */
#define WIRE_WHAT    23u
#define WIRE_TEXT    255u

enum wire_type { WIRE_HELLO = 1, WIRE_SERIES_OF, WIRE_SAMPLES, WIRE_EVENT, WIRE_END, WIRE_TYPES };

struct wire_head {
	uint32_t magic;
	uint8_t type, version;
	uint16_t count;
	uint32_t len; /* of the body */
};
_Static_assert(sizeof(struct wire_head) == 12, "the head is on the wire");

#define WIRE_FRAME (sizeof(struct wire_head) + WIRE_BODY)

/* Called for the contents of frames; any may be NULL. A result other than 0 ends reading. */
struct wire_fns {
	int (*hello)(void *arg, const char *name, uint32_t interval_ms);
	int (*series)(void *arg, uint32_t number, const struct series *s);
	int (*tick)(void *arg, uint64_t t_ns); /* before the samples of that time */
	int (*sample)(void *arg, uint64_t t_ns, uint32_t number, double value);
	int (*event)(void *arg, uint64_t t_ns, const char *what, const char *text);
	int (*end)(void *arg);
};

/* The state of one stream. */
struct wire_in {
	uint32_t series; /* declared */
	uint64_t t_ns;   /* of the last samples */
	bool hello;
	size_t n;
	uint8_t buf[WIRE_FRAME + WIRE_CHUNK];
};

/* Where to read to, and how much: a message always fits. */
static inline void *wire_room(struct wire_in *in, size_t *room)
{
	*room = sizeof(in->buf) - in->n;
	return in->buf + in->n;
}

/* `n` more bytes are in the buffer: all complete frames are checked and passed on. 0, -EBADMSG:
 * invalid, or what a function returned. After an error the stream must not be used again. */
int wire_got(struct wire_in *in, size_t n, const struct wire_fns *fns, void *arg);
