/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - who holds a process's memory: a table of fixed size in its segment, which outlives the process.
 *
 * The process's probe writes it, aond reads it once a second and when the process ends. It is an entry of the segment's
 * heap (AON_HEAP_MEMORY); memory_off of the segment's head says where. Bytes are estimates: a block is
 * counted by chance, in proportion to its size, and then stands for others (docs/memory.md).
 *
 * Sums are added to by any thread, relaxed. Of a site, `key` is stored last, with release: who reads it, with acquire,
 * sees the name. A place comes later: `placed` is its release. What a step leaves behind is written by the thread
 * that ends the step.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AON_MEMORY_VERSION 1u
#define AON_MEMORY_SITES   96u
#define AON_MEMORY_FIXED \
	(AON_MEMORY_SPACES * AON_MEMORY_PARTS) /* sites without a name, by space and part */
#define AON_MEMORY_STEPS 64u
#define AON_MEMORY_NAME  56u
#define AON_MEMORY_PLACE 64u

/* What the program was doing. */
enum aon_memory_part {
	AON_MEMORY_START = 1,     /* before its first step */
	AON_MEMORY_FORWARD = 2,   /* in a module */
	AON_MEMORY_BACKWARD = 3,  /* gradients */
	AON_MEMORY_OPTIMIZER = 4, /* its state */
	AON_MEMORY_DATA = 5,      /* batches */
	AON_MEMORY_OTHER = 6,     /* the program's own code */
	AON_MEMORY_PARTS = 7,
};

enum aon_memory_space { AON_MEMORY_HOST, AON_MEMORY_GPU, AON_MEMORY_SPACES };

struct aon_memory_site {
	uint64_t key;        /* 0: none; of part, space, name */
	uint64_t live;       /* bytes held now, */
	uint64_t peak;       /* at most */
	uint64_t count;      /* of blocks that were counted */
	uint64_t kept;       /* live at the end of the last step */
	uint64_t since_step; /* the last step that it had not grown in, */
	uint64_t since;      /* and what it kept then */
	uint64_t most;       /* kept at most since then */
	uint16_t part;       /* enum aon_memory_part */
	uint16_t space;
	uint16_t placed; /* length of the place; 0: not known (yet) */
	uint16_t flat;   /* steps in a row without growth */
	char name[AON_MEMORY_NAME];
	char place[AON_MEMORY_PLACE]; /* "model.py:88" */
};

/* Steps, from the first on: when there are twice as many as rows, two become one. */
struct aon_memory_step {
	uint64_t step; /* the last of the row */
	uint64_t kept; /* at its end */
	uint64_t peak; /* of the row, */
	uint64_t low;  /* and the least */
	uint64_t batch;
};

struct aon_memory_total {
	uint64_t live, peak;
	uint64_t top;         /* at most, in the step under way, */
	uint64_t bottom;      /* and at least */
	uint64_t limit;       /* of the device, bytes; 0: not known */
	uint64_t fails;       /* allocations that were refused; of the last one */
	uint64_t fail_bytes;  /* what it asked for, */
	uint64_t fail_live;   /* what was held, */
	uint64_t fail_step;   /* the step under way, */
	uint64_t fail_site;   /* + 1; 0: not known */
	uint64_t index;       /* of the GPU */
	uint64_t rows, every; /* of step[], and of how many steps each is */
	struct aon_memory_step step[AON_MEMORY_STEPS];
};

struct aon_memory {
	uint32_t version;
	uint32_t bytes;    /* of this struct, as its writer knows it */
	uint64_t step;     /* under way */
	uint64_t batch;    /* of the step under way, or the last one's; 0: not known */
	uint64_t dropped;  /* blocks that found no room in the probe's table */
	uint64_t unnamed;  /* calls of sites that found none here: counted under another name */
	uint64_t ended;    /* 1: the process has ended by itself */
	uint64_t interval; /* a block of so many bytes or more is always counted */
	struct aon_memory_total total[AON_MEMORY_SPACES];
	struct aon_memory_site site[AON_MEMORY_SITES];
};

_Static_assert(sizeof(struct aon_memory_site) == 192, "layout is ABI");
_Static_assert(offsetof(struct aon_memory, total) == 56, "layout is ABI");
_Static_assert(sizeof(struct aon_memory) == 56 + 2 * (104 + 64 * 40) + 96 * 192, "layout is ABI");
