/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_rec.h - the record of one rank's step, in a thousand bytes at most. The cluster diagnosis reads
 * it, nodes ship it and the simulator writes it (docs/step-record.md).
 *
 * On the wire it is this struct, little endian, without the slots that are not used. A slot is one
 * communicator and kind of operation. Durations are nanoseconds in single precision: accurate to a
 * tenth of a microsecond in a second, and no step is too long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEP_MAGIC   0x53504e41u /* "ANPS" */
#define STEP_VERSION 1u
#define STEP_SLOTS   10u
#define STEP_MAX     1024u /* bytes of a record */
#define STEP_PROBES  2u
#define STEP_LOSSES  4u

enum step_flag {
	STEP_F_CKPT = 1,     /* a checkpoint was written */
	STEP_F_EVAL = 2,     /* no training: an evaluation */
	STEP_F_COMPILE = 4,  /* something was compiled */
	STEP_F_PARTIAL = 8,  /* the step has not ended: the state when the job hung */
	STEP_F_INFER = 16,   /* a batch of an inference */
	STEP_F_PREFILL = 32, /* prompts were read in it */
	STEP_F_GONE = 64,    /* of a partial one: the process is gone */
};

enum step_class {
#define CLASS(NAME, word, what) STEP_CLASS_##NAME,
#include "model/step_rec.tbl.h"
	STEP_CLASSES
};

enum step_op {
#define OP(NAME, word, synchronising) STEP_OP_##NAME,
#include "model/step_rec.tbl.h"
	STEP_OPS
};

/* Bits of `have`. */
enum step_counter {
#define COUNTER(type, name, NAME, what, who) STEP_HAVE_##NAME,
#include "model/step_rec.tbl.h"
	STEP_COUNTERS
};

struct step_times {
#define TIME(name, what, who) float name;
#include "model/step_rec.tbl.h"
};
#define STEP_TIMES (sizeof(struct step_times) / sizeof(float))

struct step_kernels {
	uint32_t count;
	float sum;
};

/*
 * One operation that all members of the communicator choose alike, without a message: the first and
 * the last of the step by sequence number.
 */
struct step_probe {
	float start; /* from the step's begin, on the rank's own clock */
	float dur;
};

enum step_slot_flag {
	STEP_SLOT_MERGED = 1, /* several communicators: no slot was left. `comm` is 0 */
	STEP_SLOT_FAR = 2,    /* members on several hosts, as far as is known */
};

struct step_slot {
	uint64_t comm;       /* hash of the communicator, the same for all members */
	uint32_t members;    /* of the communicator */
	uint32_t kib;        /* of the step's operations, rounded up */
	uint32_t count;      /* of operations */
	uint32_t issued;     /* number of the last that the host issued: low half */
	uint32_t done;       /* number of the last that ended */
	uint32_t what;       /* hash of kind and bytes of the oldest that did not end; 0: all did */
	float sum, min, max; /* durations, from the rank's arrival to its end */
	float exposed;       /* part of sum in which no kernel of the rank ran */
	struct step_probe probe[STEP_PROBES];
	uint8_t op, flags;
	uint16_t unused;
	uint32_t peer; /* STEP_OP_SEND, _RECV: rank of the other end; else UINT32_MAX */
};

struct step_rec {
	uint32_t magic;
	uint16_t version, size; /* of the whole record on the wire */
	uint32_t check;         /* of the whole record, this as 0 */
	uint16_t flags;
	uint8_t slots, unused;
	uint64_t job;
	uint64_t begin_ns; /* of the step, on the host's clock */
	uint32_t rank, world, step;
	uint32_t host;     /* which, the same for all of its ranks */
	uint32_t leaf;     /* which switch the host is on, from a file of the site; 0: not known */
	uint32_t regime;   /* hash of what the step consists of: a change begins a new history */
	uint16_t gpu, nic; /* of the host */
	int32_t clock_off_us;
	uint32_t clock_err_us;      /* UINT32_MAX: not known */
	uint16_t lost[STEP_LOSSES]; /* events of the step, by cause: client, aond, probe, sampled */
	uint32_t have;              /* bits of the counters that are known */
	/* Work: 0 if unknown. */
	uint32_t tokens, sequences, expert_tokens;
	uint16_t micro_batches, layers;
	float sum_len2; /* of the squares of the sequences' lengths */
	float context;  /* tokens of context in decoding */
	struct step_times t;
	struct step_kernels class[STEP_CLASSES];
#define COUNTER(type, name, NAME, what, who) type name;
#include "model/step_rec.tbl.h"
	struct step_slot slot[STEP_SLOTS];
};

_Static_assert(sizeof(struct step_slot) == 72, "a slot's layout is on the wire");
_Static_assert(offsetof(struct step_rec, t) == 104, "so is the record's");
_Static_assert(offsetof(struct step_rec, slot) == 280, "so is the record's");
_Static_assert(sizeof(struct step_rec) <= STEP_MAX, "a rank may say so much of a step");

extern const char *const step_op_word[STEP_OPS];
extern const bool step_op_syncs[STEP_OPS];

static inline float *step_time(struct step_rec *r, size_t i)
{
	return (float *)(void *)&r->t + i;
}

/* --- making one --- */

void step_rec_init(struct step_rec *r);
/* The slot of a communicator and kind; when none is left, the last one takes all others. */
struct step_slot *step_rec_slot(struct step_rec *r, uint64_t comm, enum step_op op);
/* Adds one operation that began `start` after the step and took `dur`. In order of sequence. */
void step_slot_add(struct step_slot *s, uint32_t sequence, uint64_t bytes, double start,
		   double dur);
/* Sets the regime, once all else is there. */
void step_rec_seal(struct step_rec *r);
/* The role of the rank in the job: ranks of one role can be compared with each other. */
uint32_t step_rec_role(const struct step_rec *r);
/* A hash for `comm`, `what` and `job`: never 0. */
uint64_t step_hash(const void *data, size_t len, uint64_t seed);

/* --- the wire --- */

static inline size_t step_rec_size(uint32_t slots)
{
	return offsetof(struct step_rec, slot) + slots * sizeof(struct step_slot);
}

/* Bytes written; -ENOSPC: more than `cap`; -EINVAL: more slots than there are. */
int step_rec_encode(void *buf, size_t cap, const struct step_rec *r);
/*
 * Bytes of the record at the head of `buf`; *out, whole, only then. -ENODATA: the bytes end within
 * it; -EPROTO: another version; -EBADMSG: no record, or a broken one.
 */
int step_rec_decode(struct step_rec *out, const void *buf, size_t len);
