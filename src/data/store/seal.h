/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.h - the head of everything that a store keeps.
 *
 * Each row's bytes are a seal and a body, so that a row can be found, checked and placed
 * without SQLite: by its magic, its two sums, its type and its number. Little endian.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SEAL_MAGIC    0x724e4f41u /* "AONr" */
#define SEAL_VERSION  1u
#define SEAL_BODY_MAX (16u << 20) /* bytes: what a reader will allocate for */

/* Numbers are in stores on disk: never reused. */
enum seal_type {
	SEAL_EVENTS = 1,
	SEAL_WINDOW = 2,
	SEAL_NAME = 3,
	SEAL_GEO = 4,
	SEAL_TRACK = 5,
	SEAL_PROCESS = 6,
	SEAL_JOURNAL = 7, /* a line as versions before 3 wrote it */
	SEAL_AGED = 8,    /* records of a process overwritten since, in t0_ns */
	SEAL_STEPS = 9,   /* records of steps, docs/step-record.md */
	SEAL_NODE = 10,   /* what the node is */
	SEAL_SERIES = 11,
	SEAL_TELEMETRY = 12, /* owner: source; count: changes; records: ticks */
	SEAL_ENTRY = 13,     /* typed, in the table of SEAL_JOURNAL: model/entry.h */
	SEAL_STACK = 14,     /* frames of a sampled thread: model/sample.h */
	SEAL_TYPES = 15,
};

struct seal {
	uint32_t magic;
	uint8_t type;    /* enum seal_type */
	uint8_t version; /* of the body */
	uint16_t reserved;
	uint32_t owner; /* process, or 0 */
	uint32_t len;   /* of the body */
	uint64_t row;   /* number of the row in its table */
	uint64_t t0_ns, t1_ns;
	uint32_t count;   /* events, rollups or steps */
	uint32_t records; /* of these events */
	uint64_t body_sum;
	uint64_t sum; /* of all above: the head can be believed where the body is damaged */
};

_Static_assert(sizeof(struct seal) == 64, "the seal is on disk");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little endian");

/* Fills what every seal has and both sums; the caller has set the rest. */
void seal_close(struct seal *s, const void *body);

/* Only the head's sum: after a change of owner or row. */
void seal_head(struct seal *s);

/*
 * Looks at `len` untrusted bytes. 0: whole, and *out (may be unaligned in `data`) is a copy.
 * -EBADMSG: not a seal or damaged. -EILSEQ: the head is good and in *out, the body is not.
 * -EPROTO: good, but newer than this code.
 */
int seal_check(struct seal *out, const void *data, size_t len);
