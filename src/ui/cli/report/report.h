/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - a report as text or as JSON. */
#pragma once

#include "cli/core/out.h"
#include "cli/report/ranks.h"
#include "read/gather.h"
#include "read/json.h"
#include "read/procs.h"

#define REPORT_STEPS_MIN 20u /* fewer do not tell why */

/* "4 threads, 2 GPUs 2,318 steps in 12m03s": the input. */
void report_seen(const struct gather *g, const struct out *out, char *buf, size_t cap);

/* One sentence, then tables of at most `fold` rows, then where the records went. */
/* answered: the answer stands above it, and no other sentence is to compete with it. */
void report_text(const struct gather *g, const struct out *out, size_t fold, bool answered);

/* The rank that others wait for, and a row for each rank. */
void report_ranks(const struct ranks *rs, const struct out *out);
/* The same as keys of the open object. */
void report_ranks_json(struct json *j, const struct ranks *rs);

/* What torch.compile did, if it did. */
void report_compile(const struct gather *g, const struct out *out);

/* How long `p`, one of `ps`, waits for batches, and who makes them. */
void report_data(struct store *st, const struct procs *ps, const struct process *p,
		 const struct gather *g, const struct out *out);
int report_data_json(struct json *j, struct store *st, const struct procs *ps);

/* The cost of recording, if there are steps to measure it. */
/* A fidelity level, for people. */
const char *report_level(uint32_t fidelity);
void report_overhead(const struct overhead *o, const struct out *out);
/* Where the records went, and a sentence if some were lost. */
void report_account(const struct account *a, const struct out *out);

#define REPORT_GPU GATHER_GPU
/*
 * Graph launches that are one event. Their kernels are among REPORT_GPU, by template: kept apart,
 * so that they do not count twice.
 */
#define REPORT_GRAPH  (1u << EVENT_GRAPH)
#define REPORT_CALLS  (1u << EVENT_API | 1u << EVENT_SYNC)
#define REPORT_RANGE  (1u << EVENT_RANGE)
#define REPORT_OP     (1u << EVENT_OP)
#define REPORT_MODULE (1u << EVENT_MODULE)
#define REPORT_SPAN   (1u << GATHER_SPAN)
#define REPORT_OTHER  (1u << EVENT_MARK | 1u << EVENT_COUNTER | 1u << EVENT_FLOW | 1u << EVENT_ALLOC)
