/* SPDX-License-Identifier: Apache-2.0 */
/* find_live.h - rules whose device is a thread: insight_device.host is set. */
#pragma once

#include "insight/find/finding.h"
#include "insight/live/account_host.h"

/* answer.c: the thread of the n-th process of the trace, if findings are about it: of a process that has steps and
 * hardly uses a GPU; without steps anywhere, of the process of which most was seen. Else NULL. */
const struct insight_device *live_device(const struct insight *in, size_t n);
const struct rule *live_rule(enum family k); /* NULL: there is none */
double live_least(enum family k);            /* the share of the base that fires */

/* How sure it is, by the error of these causes (bits), and what a fix brings. */
void live_judge(const struct host_account *a, struct finding *f, uint32_t causes);
/* The first line of every finding: its part of the step, beside the largest other parts. */
void live_say_parts(struct finding *f, const struct host_account *a, uint32_t causes);

/* The code that these causes blame most. False: it is not known. */
bool live_code(const struct insight *in, const struct host_account *a, uint32_t causes,
	       char out[FRAME_LABEL]);
/* A line with the code that these causes blame most. False: none is known. */
bool live_say_code(const struct insight *in, struct finding *f, uint32_t causes);

/* find_live_start.c: does it wait for its input because its loader starts workers again and again? */
bool live_starts_workers(const struct insight *in, const struct host_account *a);

/* find_live_whole.c: from the innermost function to blame for these causes (bits) to the one around it that holds
 * them with all that it calls: how much of them that is, and what it costs besides. False: none is known. */
bool live_whole(const struct insight *in, const struct host_account *a, uint32_t causes,
		struct sample_blame *b, struct share *share, uint64_t *with_ns);

/* find_live_when.c: whether these causes (bits), in the function of the frame unless that is NULL, grow from
 * step to step or come in few steps: a line of what was seen. */
void live_say_when(const struct insight *in, struct finding *f, uint32_t causes,
		   const struct stack_frame *frame);

/* find_gap.c: of a device whose idle time samples explain; NULL: as of other devices */
const struct rule *gap_rule(enum family k);

/* Are these causes (bits) of the first quarter of the steps only, and of one in a hundred? */
bool live_is_once(const struct host_account *a, uint32_t causes);

/* find_live_compile.c */
rule_cost_fn live_again_cost, live_compiling_cost;
rule_fill_fn live_again_fill;
/* Are these causes (bits) in part calls of JAX's operations, outside of compiled functions? */
bool live_unjitted(const struct insight *in, const struct host_account *a, uint32_t causes);

/* find_live_ranks.c */
rule_cost_fn live_comm_cost, live_straggler_cost, live_imbalance_cost;
rule_cost_fn live_layer_cost; /* find_live_layer.c */
rule_fill_fn live_layer_fill;
rule_cost_fn live_small_cost; /* find_live_small.c */
rule_fill_fn live_small_fill;
rule_fill_fn live_comm_fill, live_straggler_fill, live_imbalance_fill;
