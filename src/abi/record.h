/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - the 32-byte record that an app's thread writes and aond reads.
 *
 * Little endian. A record is `len` units of 32 bytes: the record itself, then its
 * extension. A thread's chunk shows a record only when it is complete (segment.h).
 *
 *	 0  HOST: t, low half of the TSC          ACT: dur, ns (AON_F_LONG: see the extension)
 *	 4  kind                                  (both)
 *	 6  len, in units of 32 bytes             (both)
 *	 7  flags                                 (both)
 *	 8  name: id in the heap (segment.h)      (both)
 *	12  x: the kind's, or a correlation id    ACT: arg: geometry id, bytes, graph id
 *	16  a                                     ACT: start, ns of CLOCK_MONOTONIC
 *	24  b                                     ACT: corr u32, track u16, reserved u16
 */
#pragma once

#include <stdint.h>

#define AON_UNIT 32u /* bytes */

enum aon_kind {
	AON_K_INVALID = 0,
#define KIND(num, NAME, word, form, want) AON_K_##NAME = num,
#include "abi/kind.tbl.h"
	AON_K_MAX = 64, /* numbers stay below */
};

enum aon_form { AON_FORM_NONE, AON_FORM_HOST, AON_FORM_ACT };

enum aon_loss {
#define LOSS(num, NAME, word, side, help) AON_LOSS_##NAME = num,
#include "abi/loss.tbl.h"
	AON_LOSS_APP_MAX = 8, /* reasons below are counted in the pool's head */
	AON_LOSS_MAX = 16,
};

/* Record flags. The low four bits of a COPY are its direction (AON_COPY_* of provider.h). */
#define AON_F_FLOAT 0x01u /* COUNTER: `a` holds the bits of a double */
#define AON_F_TRACK 0x02u /* MARK, COUNTER: of the track that is `a`, or `x`, in the heap */
#define AON_F_AT    0x04u /* COUNTER of a track: `b` is when it was read, ns of CLOCK_MONOTONIC */
#define AON_F_LONG  0x40u /* ACT: dur_ns and arg are in the extension */
#define AON_F_EXT   0x80u /* ACT: the second unit is a struct aon_ext */

/* TEXT: the bytes of a piece fill the units behind the record; the last piece may leave some over.
 * The pieces of a text come in order, from one thread. */
#define AON_TEXT_MAX 65536u /* bytes of a text */
enum aon_text { AON_TEXT_OPENCL = 1 /* the source of a program that was built */ };

struct aon_rec_host {
	uint32_t t;
	uint16_t kind;
	uint8_t len;
	uint8_t flags;
	uint32_t name;
	uint32_t x;
	uint64_t a;
	uint64_t b;
};

struct aon_rec_act {
	uint32_t dur;
	uint16_t kind;
	uint8_t len;
	uint8_t flags;
	uint32_t name;
	uint32_t arg;
	uint64_t start;
	uint32_t corr;
	uint16_t track;
	uint16_t reserved;
};

union aon_rec {
	struct aon_rec_host host;
	struct aon_rec_act act;
	uint64_t word[4];
	uint32_t half[8];
};

/* Second unit of an activity with AON_F_EXT. */
struct aon_ext {
	uint64_t dur_ns;
	uint64_t arg;      /* bytes, where they do not fit 32 bits */
	uint64_t group;    /* graph node, or communicator */
	uint64_t sequence; /* of the collective within its communicator */
};

_Static_assert(sizeof(struct aon_rec_host) == AON_UNIT, "record layout is ABI");
_Static_assert(sizeof(struct aon_rec_act) == AON_UNIT, "record layout is ABI");
_Static_assert(sizeof(union aon_rec) == AON_UNIT, "record layout is ABI");
_Static_assert(sizeof(struct aon_ext) == AON_UNIT, "record layout is ABI");
