/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - reports, findings and comparisons as JSON, for aon and its pages: each writes members of
 * the open object. Times of day are relative to `t0`.
 */
#pragma once

#include "base/json.h"
#include "insight/find/finding.h"
#include "read/gather.h"

struct diff;
struct replay;

void json_rank(struct json *j, const char *key, int32_t rank); /* null: none */
/* clang-format off */
#define J_RANK(rank)    J_I64_IF("rank", (rank) != TRACE_NO_RANK, rank)
#define J_KNOWN(key, v) { key, (v) > 0 ? JSON_REAL : JSON_NULL, { .d = v } } /* 0: not known */
/* clang-format on */

/* insight_json.c */
void insight_json(struct json *j, const struct insight *in); /* all of the following */
/* A swept insight has no idle, launch, host and copy. */
void insight_devices_json(struct json *j, const struct insight *in);
void insight_host_json(struct json *j, const char *key, const struct insight *in,
		       enum insight_host_by by);
void insight_work_json(struct json *j, const struct insight *in);
/* Up to `most` steps, starting at step `from` <= in->steps. */
void insight_steps_json(struct json *j, const struct insight *in, uint64_t t0, size_t from,
			size_t most);
void insight_memory_json(struct json *j, const struct insight *in, uint64_t t0);
void insight_account_json(struct json *j, const struct trace *t);

/*
 * roof_json.c: what limits kernels; the same of one row; the roofline bounds of a device (NULL: not
 * known) for the types in use (NULL: all), tensor cores first
 */
void insight_roofs_json(struct json *j, const struct insight *in);
/* traffic_json.c: copies and collectives, in the same object */
void insight_traffic_json(struct json *j, const struct insight *in);
void roof_verdict_json(struct json *j, const struct roof_row *r);
void roof_peaks_json(struct json *j, const struct gpu *g, const bool used[2 * GPU_TYPES]);

/* finding_json.c; r: NULL allowed */
void findings_json(struct json *j, const struct trace *t, const struct findings *fs, uint64_t t0);
/* Where the time of each GPU goes: the parts sum to the base. */
void accounts_json(struct json *j, const struct insight *in);
/* Only the costliest ones. */
void findings_some_json(struct json *j, const struct trace *t, const struct findings *fs,
			uint64_t t0, size_t most);
/* Duration of a step of the window with a finding's change applied; 0: not replayed. */
uint64_t replay_step_ns(const struct finding *f);

/* samples_json.c: where threads spent their time; up to `most` rows and stacks of each kind */
void samples_json(struct json *j, const struct insight *in, const struct samples_want *w,
		  size_t most);

/* diff_json.c: a and b are the names of the two sides; NULL: parts of one run */
void diff_json(struct json *j, const struct diff *d, const char *a, const char *b);
void diff_findings_json(struct json *j, const struct findings *a, const struct findings *b);

/* account_json.c */
void account_json(struct json *j, const char *key, const struct account *a);
/* Members of one process, without its account. */
struct node_ident;
struct ident;
/* The fields that are known. */
void ident_json(struct json *j, const char *key, const struct ident *i);
void node_json(struct json *j, const char *key, const struct node_ident *n);
void process_json(struct json *j, const struct process *p, uint64_t t0);

/*
 * Writes the rows of one process (NULL: of all processes) and of the kinds in `kinds` into the open
 * array.
 */
void gather_rows_json(struct json *j, const struct gather *g, const struct process *p,
		      uint32_t kinds);
