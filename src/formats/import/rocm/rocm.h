/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocm.h - what rocprofv3 recorded, from either of its files:
 *
 *	rocprof.c   its JSON (--output-format json)
 *	rocpd.c     its SQLite file (rocpd, what it writes by default since ROCm 7)
 *	rocm.c      the events that rows of both become
 *
 * Work on a device has the internal correlation id of the call that began it. A grid is in
 * work-items there, not in blocks.
 */
#pragma once

#include "base/map.h"
#include "import/priv.h"

struct rocm_agent {
	uint64_t id;
	bool gpu;
	uint32_t index; /* among the GPUs */
	uint32_t name;
	uint32_t units;
};

struct rocm {
	const struct importing *im;
	struct trace *t;
	uint32_t process;
	struct rocm_agent *agent; /* owned */
	size_t agents, first_device;
	struct map held; /* address: bytes and track of the allocation, see rocm_memory() */
};

/* A row: 0 where the file says nothing. */
struct rocm_row {
	int64_t start, end;
	bool timed; /* start and end were there */
	uint64_t agent, from, stream, queue, thread, corr;
	uint32_t name;
	uint64_t bytes, address;
	struct geo geo; /* its grid in work-items */
};

int rocm_agent_add(struct rocm *r, const struct rocm_agent *a);
void rocm_fini(struct rocm *r);

/* Each adds one event: 1 an event, 0 none, -EBADMSG damaged, else -errno. */
int rocm_kernel(struct rocm *r, const struct rocm_row *row);
int rocm_copy(struct rocm *r, const struct rocm_row *row); /* from `from` to `agent` */
/* domain: "HIP_RUNTIME_API", "MARKER_CORE_API", ...; message: of a marker, 0: none. */
int rocm_call(struct rocm *r, const struct rocm_row *row, const char *domain, uint32_t message);
int rocm_memory(struct rocm *r, const struct rocm_row *row, bool frees);
