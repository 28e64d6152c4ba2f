/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h - the memory that one app process shares with aond.
 *
 *	+--------+--------------------+----------+------------------------------+
 *	| head   | state[] consumed[] | heap     | chunk 0 | chunk 1 | ...      |
 *	| 4 KiB  | u32 each           | interned | chunk_bytes each             |
 *	+--------+--------------------+----------+------------------------------+
 *
 * aond creates it (a sealed memfd, or a file of its own if a setting asks for crash
 * recovery), sizes it, touches every page, and hands it to the process. The head gives the
 * place of each part, so `aon recover` can read a segment of any version.
 *
 * A chunk is FREE, then OWNED by the thread that took it, then FULL, then FREE again.
 *
 *	producer                                   aond
 *	A  CAS   state FREE -> OWNED, acquire <--- F  store state FREE, release
 *	   fill a record                           D  load  state, acquire
 *	B  store n, release                   ---> C  load  n, acquire
 *	E  store state FULL, release          ---> D     copy the records out
 *
 *	B -> C  a reader that sees n sees the records below it.
 *	E -> D  a reader that sees FULL sees the last n.
 *	F -> A  a thread that takes a FREE chunk knows that it has been read and that n is 0.
 *
 * A hostile process can change everything here at any time: aond copies, checks its
 * copy, and never follows anything unchecked. State that must survive the death of aond
 * (taken, consumed[]) is kept here too; a process can only spoil its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"

#define AON_SEG_MAGIC   0x314c4f4f504e4f41ull /* "AONPOOL1" */
#define AON_SEG_VERSION 1u
#define AON_PAGE        4096u

#define AON_CHUNK_BYTES_MIN 1024u
#define AON_CHUNK_BYTES_MAX 16384u
#define AON_CHUNKS_MAX      16384u
#define AON_HEAP_BYTES      (512u << 10) /* libaon's heap; every segment has one this large */
#define AON_HEAP_BYTES_MAX  (4u << 20)
#define AON_SEG_BYTES_MAX   (64u << 20)

#define AON_LOSS_STRIPES 16u

enum aon_chunk_state { AON_CHUNK_FREE = 0, AON_CHUNK_OWNED = 1, AON_CHUNK_FULL = 2 };

#define AON_HEARTBEAT_STAMPS 8u

/* What was last begun: evidence of a hang that survives SIGKILL and needs no drain. */
struct aon_heartbeat {
	uint64_t step;     /* number of the last step begun */
	uint64_t step_tsc; /* when */
	uint64_t launch;   /* corr << 32 | name of the last launch */
	uint64_t
		launch_tsc; /* of the last one whose number is a multiple of AON_HEARTBEAT_STAMPS */
	uint64_t collective;      /* sequence of the last collective begun */
	uint64_t collective_comm; /* and its communicator */
	uint64_t collective_tsc;
	uint64_t launches; /* about how many */
};

struct aon_seg_head {
	/* Written by aond before the process sees it, then constant. */
	uint64_t magic;
	uint32_t version;
	uint32_t head_bytes;
	uint64_t pool_id[2]; /* random */
	uint64_t total_bytes;
	uint32_t chunk_bytes;
	uint32_t chunk_count;
	uint32_t state_off;
	uint32_t consumed_off;
	uint32_t heap_off;
	uint32_t heap_bytes;
	uint32_t chunk_off;
	uint32_t pid;       /* of the process, as aond sees it */
	uint64_t pid_start; /* its start time, clock ticks since boot */
	uint64_t boot_id[2];
	uint64_t tsc_base; /* a moment on both clocks, */
	uint64_t ns_base;  /* CLOCK_MONOTONIC, */
	uint64_t tsc_hz;   /* and the rate: good enough to recover times */
	uint8_t reserved0[136];

	/* Written by the process's threads. */
	uint32_t hint;      /* where to look for a free chunk */
	uint32_t used;      /* chunks that are not FREE: added by threads, taken off by aond */
	uint32_t doorbell;  /* 1: the doorbell rang since aond last drained */
	uint32_t heap_used; /* bytes, a multiple of AON_HEAP_ALIGN */
	uint8_t reserved1[48];

	/* Written by aond. */
	uint64_t taken; /* records copied out, ever */
	/* What aond is about to write to taken and consumed[]: the next aond can finish it. */
	uint64_t next_taken;
	uint32_t next_consumed;
	uint32_t next_chunk; /* + 1; written last, 0: nothing begun */
	uint8_t reserved2[40];

	struct aon_heartbeat heartbeat;

	/* Records lost, by reason; striped by thread so that counting does not contend. */
	uint64_t lost[AON_LOSS_STRIPES][AON_LOSS_APP_MAX];

	/* Residual overhead that probes estimate while nothing is recorded: total, and per launch in 1/16. */
	uint64_t residual_ns;
	uint64_t residual_launch;

	uint64_t memory_off; /* in the heap: struct aon_memory; 0: none */

	uint8_t reserved3[AON_PAGE - 448 - AON_LOSS_STRIPES * AON_LOSS_APP_MAX * 8 - 24];
};

_Static_assert(offsetof(struct aon_seg_head, hint) == 256, "segment layout is ABI");
_Static_assert(offsetof(struct aon_seg_head, taken) == 320, "segment layout is ABI");
_Static_assert(offsetof(struct aon_seg_head, heartbeat) == 384, "segment layout is ABI");
_Static_assert(offsetof(struct aon_seg_head, lost) == 448, "segment layout is ABI");
_Static_assert(sizeof(struct aon_seg_head) == AON_PAGE, "segment layout is ABI");

/* A chunk: this header, then (chunk_bytes / AON_UNIT - 1) units. */
struct aon_chunk_head {
	uint32_t tid;
	uint32_t seq;    /* of the thread's chunks */
	uint32_t n;      /* units committed: the only commit */
	uint32_t tsc_hi; /* high half of the TSC for every HOST record of this chunk */
	uint64_t reserved[2];
};

_Static_assert(sizeof(struct aon_chunk_head) == AON_UNIT, "chunk layout is ABI");

/*
 * The heap: interned entries of the process. Append only. An id is the entry's offset in
 * units of AON_HEAP_ALIGN, so it is never 0 (the first entry starts at one unit). `len` is
 * stored last, with release: 0 means that the entry does not exist (yet).
 */
#define AON_HEAP_ALIGN  8u
#define AON_TRACK_ALIGN 64u /* a track's id is offset / 64, so that it fits 16 bits */
#define AON_NAME_MAX    2047u

enum aon_heap_type {
	AON_HEAP_NAME = 1,
	AON_HEAP_GEO = 2,
	AON_HEAP_TRACK = 3,
	AON_HEAP_MEMORY = 4, /* abi/memory.h, behind 4 bytes that align it */
};

struct aon_heap_entry {
	uint16_t len; /* of the payload that follows; names carry no NUL */
	uint8_t type;
	uint8_t reserved;
	/* payload */
};

struct aon_geo { /* of a launch */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t regs;
	uint32_t smem_static;
	uint32_t smem_dynamic;
};

struct aon_track {       /* a stream of a device, or a thread of the host */
	uint32_t device; /* AON_TRACK_HOST: a thread */
	uint32_t context;
	uint64_t stream; /* or the thread's id */
	uint32_t name;   /* heap id, 0: none */
};

#define AON_TRACK_HOST 0xffffffffu

_Static_assert(sizeof(struct aon_heap_entry) == 4, "heap layout is ABI");
_Static_assert(sizeof(struct aon_geo) == 36, "heap layout is ABI");
