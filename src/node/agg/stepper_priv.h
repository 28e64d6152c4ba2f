/* SPDX-License-Identifier: Apache-2.0 */
/* stepper_priv.h - shared by the files of a stepper: keys, the sums of a step, collectives. */
#pragma once

#include "agg/stepper.h"
#include "model/keys.h"

/* with of a key: length << 8 | class or count << 4 | part */
enum stepper_part {
	PART_COMPUTE,
	PART_COMM,
	PART_COPY,
	PART_INPUT,
	PART_LAUNCH,
	PART_SYNC,
	PART_ALLOC,
	PART_GC,
	PART_CKPT,
	PART_FORWARD,
	PART_COMPILE,
	PART_ISSUE, /* its length: from the launch to the kernel that begins here */
	PART_COUNT, /* its length: a value */
	STEP_PARTS,
};

#define WITH_SHIFT 8u
#define WITH_MAX   (UINT64_MAX >> WITH_SHIFT)

/* Unions of intervals; each part is in some of them. */
enum step_union {
	UNION_COMPUTE,
	UNION_COMM,
	UNION_KERNEL, /* both */
	UNION_COPY,
	UNION_BUSY, /* all three */
	UNION_BUSY_OR_WAITS,
	UNION_INPUT,
	UNION_LAUNCH,
	UNION_SYNC,
	UNION_ALLOC,
	UNION_GC,
	UNION_CKPT,
	STEP_UNIONS,
};

struct step_track {
	uint32_t id; /* 0: free */
	bool device;
	uint32_t members; /* of a communicator; 0: none */
	uint32_t rank;    /* in it */
	uint64_t comm;
	uint64_t words; /* by which the last words of a hang name it */
};

/* A collective or transfer, or (of NCCL) its kernel, whose number another event has. */
struct step_coll {
	uint64_t start_ns, dur_ns, bytes, sequence;
	uint64_t comm;
	uint32_t members, track;
	uint16_t peer, from; /* ranks in the communicator, of a send or receive */
	uint8_t op;
	uint8_t state; /* enum coll_state */
	bool p2p;
};

enum coll_state { COLL_WHOLE, COLL_ISSUED, COLL_KERNEL, COLL_DONE };

/* Numbers of a communicator and kind, over all steps. */
struct step_comm {
	uint64_t comm; /* 0: free */
	uint64_t words;
	uint32_t members, issued, done, peer;
	uint8_t op;
};

struct stepper_span {
	uint64_t number, begin_ns, end_ns;
	bool unsampled;
};

struct step_launch {
	uint32_t corr;
	bool kernel; /* its start; else the end of the call */
	uint64_t ns;
};

#define LAUNCHES 4096u

struct stepper {
	const struct step_names *names; /* borrowed */
	struct sort_key *key; /* owned: STEPPER_KEYS and as many to sort with; NULL: no step yet */
	size_t first, keys;   /* from first to keys: earlier ones are recorded */
	size_t spans;         /* in the second half, once they are made: where kernels ran */
	uint64_t ran;         /* all of them */
	uint64_t last_key;    /* start of the last */
	bool unsorted;
	struct step_coll *coll; /* owned; NULL: none yet */
	size_t colls;
	struct step_launch *launch; /* owned; NULL: no call was seen */
	struct step_track track[STEPPER_TRACKS];
	uint32_t tracks, devices;
	struct step_comm comm[STEPPER_COMMS];
	struct stepper_span step[STEPPER_STEPS]; /* in order */
	uint32_t steps;
	uint32_t step_track;
	uint64_t made_ns; /* steps until here are recorded */
	uint64_t step_ns; /* of late ones */
	uint64_t forgot;  /* keys and operations that did not fit */
	uint64_t lost[STEP_LOSSES], told[STEP_LOSSES];
	struct track_of_kernels {
		uint32_t track;
		uint64_t comm;
	} bound[16]; /* streams on which one communicator's kernels run */
};

static inline const struct step_means *means_of(const struct stepper *s, uint32_t name)
{
	static const struct step_means none = { .kernel = STEP_CLASS_OTHER,
						.op = STEP_NO_OP,
						.peer = STEP_NO_PEER };

	return name < s->names->n ? &s->names->of[name] : &none;
}

static inline uint64_t key_with(uint64_t length, uint32_t class, enum stepper_part part)
{
	return (length < WITH_MAX ? length : WITH_MAX) << WITH_SHIFT | class << 4 | part;
}

struct step_track *stepper_track_get(struct stepper *s, uint32_t id);

/* --- step_sweep.c --- */

/* Fills times, classes, counts and flags of the step [from, to); keys are sorted, and stay. */
void step_sweep(const struct stepper *s, uint64_t from, uint64_t to, struct step_rec *r);
/* How long kernels that do not communicate ran in [from, to), by the spans made before. */
void step_spans(struct stepper *s, uint64_t to);
uint64_t step_ran(const struct stepper *s, uint64_t from, uint64_t to);
/* Forgets what ended before. */
void step_forget(struct stepper *s, uint64_t before);

/* --- step_comm.c --- */

void step_coll_event(struct stepper *s, const struct event *e, const struct step_means *m);
void step_coll_kernel(struct stepper *s, const struct event *e, const struct step_means *m);
/* Assigns the times of kernels to the numbers of operations, and numbers to those without. */
void step_coll_match(struct stepper *s, uint64_t before);
/* Fills the slots of the operations that began in [from, to), and drops these and all before. */
void step_coll_slots(struct stepper *s, uint64_t from, uint64_t to, struct step_rec *r);
/* In a step that does not end: how far each communicator has come. */
void step_coll_stand(struct stepper *s, const struct step_words *w, struct step_rec *r);
